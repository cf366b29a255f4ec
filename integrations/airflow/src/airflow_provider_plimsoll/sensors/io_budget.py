"""A sensor that waits until a database has I/O budget left for a batch."""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowSensorTimeout,
    AirflowSkipException,
    BaseSensorOperator,
)

from airflow_provider_plimsoll.need import BudgetNeed
from airflow_provider_plimsoll.triggers.io_budget import IoBudgetTrigger

# Airflow itself ends a deferral so long after the sensor's own deadline: only if no triggerer runs.
_GRACE_S = 300.0


class IoBudgetSensor(BaseSensorOperator):
    """
    Wait until a batch may go. All conditions that are given must hold.

    Missing or old metrics are never a yes: the sensor goes on waiting and logs what is missing.

    :param plimsoll_conn_id: id of a connection of type `plimsoll`.
    :param target: in place of the connection's, for example `rds:orders`.
    :param rate_bytes_per_s: input per second that a batch may load.
    :param balance_ratio: credits in every bucket, 0 to 1.
    :param batch_gib: size of the input, together with `within`.
    :param within: time in which all of it should be loaded.
    :param reserve_ratio: credits that the batch is to leave, 0 to 1.
    :param deferrable: wait in the triggerer and not on a worker.
    """

    template_fields: Sequence[str] = ("plimsoll_conn_id", "target")

    def __init__(
        self,
        *,
        plimsoll_conn_id: str = "plimsoll_default",
        target: str | None = None,
        rate_bytes_per_s: float | None = None,
        balance_ratio: float | None = None,
        batch_gib: float | None = None,
        within: timedelta | None = None,
        reserve_ratio: float = 0.2,
        deferrable: bool = True,
        **kwargs: Any,
    ) -> None:
        """
        Check the conditions; nothing is asked yet.

        Raises:
            ValueError: the conditions cannot be judged.
        """
        super().__init__(**kwargs)
        self.plimsoll_conn_id, self.target = plimsoll_conn_id, target
        self.need = BudgetNeed(
            rate_bytes_per_s=rate_bytes_per_s,
            balance_ratio=balance_ratio,
            batch_gib=batch_gib,
            within_s=within.total_seconds() if within is not None else None,
            reserve_ratio=reserve_ratio,
        ).to_dict()
        self.deferrable = deferrable
        self._last = ""

    def execute(self, context: Any) -> Any:
        """Defer at once, so that the triggerer's shared reading is the only one; or poke."""
        if self.deferrable:
            self.defer(
                trigger=IoBudgetTrigger(
                    plimsoll_conn_id=self.plimsoll_conn_id,
                    target=self.target,
                    need=self.need,
                    interval_s=self.poke_interval,
                    until_s=time.time() + self.timeout,
                ),
                method_name="execute_complete",
                timeout=timedelta(seconds=self.timeout + _GRACE_S),
            )
        try:
            return super().execute(context)
        except AirflowSensorTimeout:
            raise AirflowSensorTimeout(self._too_late(self._last)) from None

    def execute_complete(self, context: Any, event: dict[str, Any]) -> dict[str, Any]:
        """Return the answer as XCom, or fail with one sentence."""
        status, text = event["status"], event["text"]
        if status == "go":
            self.log.info("Go: %s", text)
            return {key: value for key, value in event.items() if key != "status"}
        message = self._too_late(text) if status == "timeout" else text
        if self.soft_fail:
            raise AirflowSkipException(message)
        raise (AirflowSensorTimeout if status == "timeout" else AirflowException)(message)

    def poke(self, context: Any) -> Any:
        """Read once, on the worker."""
        from airflow.providers.common.compat.sdk import PokeReturnValue

        from airflow_provider_plimsoll.hooks.plimsoll import PlimsollHook
        from airflow_provider_plimsoll.need import judge
        from airflow_provider_plimsoll.polls import read_now

        reading = read_now(PlimsollHook(self.plimsoll_conn_id, self.target).get_conn())
        if reading.failure:
            self._last = f"the metrics cannot be read: {reading.failure}"
        else:
            answer = judge(reading.snapshot, BudgetNeed(**self.need), reading.now_s)
            self._last = answer.text
            if answer.may_go:
                self.log.info("Go: %s", answer.text)
                return PokeReturnValue(is_done=True, xcom_value=answer.to_dict())
        self.log.info("Waiting: %s", self._last)
        return False

    def _too_late(self, text: str) -> str:
        return f"there was no I/O budget within {self.timeout:,.0f} s: {text}"
