"""The trigger of IoBudgetSensor: waits in the triggerer until a batch may go."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, cast

from airflow.providers.common.compat.sdk import AirflowNotFoundException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_plimsoll.need import BudgetNeed
from airflow_provider_plimsoll.polls import Reading, in_thread, shared_poll
from airflow_provider_plimsoll.target import PlimsollTarget

# Connections are asked once for all triggers that start together. A changed one counts after this time.
_CONNECTION_S = 60.0
_targets: dict[tuple[int, str, str | None], tuple[float, "asyncio.Task[PlimsollTarget]"]] = {}


class IoBudgetTrigger(BaseTrigger):
    """
    Wait until a batch may go, or until a deadline.

    All triggers of one process that wait for the same target share one reading an interval.

    :param plimsoll_conn_id: id of the connection; its secrets stay out of the trigger.
    :param target: in place of the connection's.
    :param need: fields of BudgetNeed.
    :param interval_s: seconds between two readings.
    :param until_s: deadline, epoch seconds; it is the same after a restart.
    """

    def __init__(
        self,
        *,
        plimsoll_conn_id: str,
        need: dict[str, Any],
        interval_s: float,
        until_s: float,
        target: str | None = None,
    ) -> None:
        """Keep what to wait for."""
        super().__init__()
        self.plimsoll_conn_id, self.target = plimsoll_conn_id, target
        self.need = need
        self.interval_s, self.until_s = interval_s, until_s
        self._last = "no metrics were read yet"

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "plimsoll_conn_id": self.plimsoll_conn_id,
                "target": self.target,
                "need": self.need,
                "interval_s": self.interval_s,
                "until_s": self.until_s,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event: `go`, `timeout` or `error`, with a sentence."""
        yield TriggerEvent(await self._event())

    async def _event(self) -> dict[str, Any]:
        from plimsoll import PlimsollError

        try:
            # Like every sensor: it looks once, however late it is, and only then at the clock.
            async with asyncio.timeout(None) as limit:
                return await self._wait(limit)
        except TimeoutError:
            return {"status": "timeout", "text": self._last}
        except PlimsollError as error:
            return {"status": "error", "text": f"{error.message}. {error.hint}".rstrip(". ")}
        except (ValueError, AirflowNotFoundException) as error:
            return {"status": "error", "text": str(error)}

    async def _wait(self, limit: asyncio.Timeout) -> dict[str, Any]:
        need = BudgetNeed(**self.need)
        target = await self._resolved()
        seen: Reading | None = None
        async with shared_poll(target, self.interval_s) as poll:
            while True:
                seen = await poll.after(seen)
                async with poll.turns:
                    answer = await seen.answer(need)
                    if answer.may_go:
                        return {"status": "go", **answer.to_dict()}
                    if answer.text != self._last:
                        self.log.info("Waiting: %s", answer.text)
                    self._last = answer.text
                left_s = max(self.until_s - time.time(), 0)
                limit.reschedule(asyncio.get_running_loop().time() + left_s)

    async def _resolved(self) -> PlimsollTarget:
        key = (id(asyncio.get_running_loop()), self.plimsoll_conn_id, self.target)
        asked_s, task = _targets.get(key, (float("-inf"), None))
        if task is None or time.monotonic() - asked_s > _CONNECTION_S:
            task = asyncio.create_task(_asked(self.plimsoll_conn_id, self.target))
            _targets[key] = (time.monotonic(), task)
        return await asyncio.shield(task)


async def _asked(plimsoll_conn_id: str, target: str | None) -> PlimsollTarget:
    # Imports block like everything else, so they are made in a thread.
    hook_class = await in_thread(_imported)
    return cast("PlimsollTarget", await hook_class(plimsoll_conn_id, target).aget_target())


def _imported() -> Any:
    import plimsoll.app.budget
    import plimsoll.app.read  # noqa: F401 - made here, so that the first reading finds it
    from airflow_provider_plimsoll.hooks.plimsoll import PlimsollHook

    return PlimsollHook
