"""
When to try again: when the storage's credits are back.

`next_retry` works in every Airflow. The policy needs the retry policies of Airflow 3.3.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowNotFoundException

from airflow_provider_plimsoll.hooks.plimsoll import PlimsollHook

try:
    from airflow.sdk.definitions.retry_policy import RetryDecision, RetryPolicy
except ImportError:  # before Airflow 3.3
    RetryDecision = RetryPolicy = None

# What others took before the task began is in this window, if the task ran for less than two hours.
_LAST = "3h"
# Forecasts further ahead than this say little; the task then looks again.
_LONGEST = timedelta(hours=2)
_SHORTEST = timedelta(minutes=1)


def time_until_credits(
    plimsoll_conn_id: str = PlimsollHook.default_conn_name,
    *,
    target: str | None = None,
    balance_ratio: float = 0.2,
    began: datetime | None = None,
) -> tuple[timedelta | None, str]:
    """
    Return how long it takes until every bucket holds so many credits, and a clause that says why.

    Args:
        plimsoll_conn_id: id of the connection.
        target: in place of the connection's.
        balance_ratio: credits to wait for, 0–1.
        began: when the task began; what was taken before is expected of others again. None takes the last 3 hours.

    Returns:
        None if it is not known, or more than a day.

    Raises:
        plimsoll.PlimsollError: the target cannot be read.
    """
    import plimsoll

    spec = PlimsollHook(plimsoll_conn_id, target).get_conn()
    snapshot = spec.read(last=_LAST if spec.is_live else None)
    found = plimsoll.reserve_forecast(
        snapshot,
        balance_ratio,
        now_s=time.time() if spec.is_live else None,
        others_until_s=began.timestamp() if began is not None else None,
    )
    ready = None if found.ready_in_s is None else timedelta(seconds=found.ready_in_s)
    return ready, found.text


def next_retry(
    plimsoll_conn_id: str = PlimsollHook.default_conn_name,
    *,
    target: str | None = None,
    balance_ratio: float = 0.2,
    began: datetime | None = None,
    longest: timedelta = _LONGEST,
) -> datetime:
    """Return when to try again: when credits are back, and not later than `longest` from now."""
    ready, _ = time_until_credits(plimsoll_conn_id, target=target, balance_ratio=balance_ratio, began=began)
    return datetime.now(UTC) + (longest if ready is None else min(ready, longest))


if RetryPolicy is not None:

    class CreditsBackRetryPolicy(RetryPolicy):
        """
        Try again when the storage's credits are back (Airflow 3.3 and later).

        :param plimsoll_conn_id: id of the connection.
        :param target: in place of the connection's.
        :param balance_ratio: credits to wait for, 0 to 1.
        :param longest: upper bound of the delay; also if the forecast is not known.
        """

        def __init__(
            self,
            plimsoll_conn_id: str = PlimsollHook.default_conn_name,
            *,
            target: str | None = None,
            balance_ratio: float = 0.2,
            longest: timedelta = _LONGEST,
        ) -> None:
            """Keep what to wait for."""
            self.plimsoll_conn_id, self.target = plimsoll_conn_id, target
            self.balance_ratio, self.longest = balance_ratio, longest

        def evaluate(self, exception: BaseException, try_number: int, max_tries: int, context: Any = None) -> Any:
            """Return the delay, in the process of the task; if nothing can be read, the task's own delay."""
            import plimsoll

            began = context["ti"].start_date if context else None
            try:
                ready, text = time_until_credits(
                    self.plimsoll_conn_id, target=self.target, balance_ratio=self.balance_ratio, began=began
                )
            except (plimsoll.PlimsollError, ValueError, AirflowNotFoundException):
                return RetryDecision.default()
            if ready is None or ready > self.longest:
                return RetryDecision.retry(delay=self.longest, reason=text)
            if not ready:
                return RetryDecision.default()
            return RetryDecision.retry(delay=max(ready, _SHORTEST), reason=text)

        def serialize(self) -> dict[str, Any]:
            """Return the arguments, for JSON."""
            return {
                "plimsoll_conn_id": self.plimsoll_conn_id,
                "target": self.target,
                "balance_ratio": self.balance_ratio,
                "longest_s": self.longest.total_seconds(),
            }

        @classmethod
        def deserialize(cls, data: dict[str, Any]) -> "CreditsBackRetryPolicy":
            """Return the policy of such arguments."""
            given = dict(data)
            return cls(longest=timedelta(seconds=given.pop("longest_s")), **given)
