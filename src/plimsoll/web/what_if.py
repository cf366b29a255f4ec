"""
What if: the plan for the hours in memory, with more demand or another class.

Rule: one at a time, each within a time, and an answer is kept; so readers cannot load the machine of the watch.
"""

import re
import threading
from collections import OrderedDict
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError

from msgspec import Struct

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.plan import plan_snapshot
from plimsoll.errors import DataError, PlimsollError, UsageError
from plimsoll.model.plan import Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot

GROWTH_MIN, GROWTH_MAX = 0.1, 100.0
_CLASS = re.compile(r"[A-Za-z0-9.*?\[\]-]{1,40}")
_SMALLER = ("smaller-cpu", "smaller-memory", "smaller-connections", "smaller-network")
# A judgement: the questions of an hour; each answer takes some hundred kilobytes.
_KEPT = 32
# A judgement: a plan of some hours takes about a second; who waits longer than this thinks it is broken.
_PATIENCE_S = 20.0


class WhatIf(Struct, frozen=True, kw_only=True):
    """A question."""

    growth: float = 1.0
    """Factor of the demand."""
    db_class: str = ""
    """Class or pattern of classes that may be proposed; empty for any."""
    keeps_storage: bool = False


def question_of(growth: str, db_class: str, *, keeps_storage: bool) -> WhatIf:
    """
    Return the question that a form asks.

    Raises:
        UsageError: a number that is none or out of bounds, or no name of a class.
    """
    try:
        factor = float(growth.strip() or 1)
    except ValueError:
        factor = float("nan")
    if not GROWTH_MIN <= factor <= GROWTH_MAX:
        raise UsageError(
            f"demand cannot be multiplied by '{growth[:20]}'",
            f"Give a number from {GROWTH_MIN:g} to {GROWTH_MAX:g}, for example 1.5.",
        )
    name = db_class.strip()
    if name and not _CLASS.fullmatch(name):
        raise UsageError(f"'{name[:60]}' is no class", "Give one, for example db.r6g.4xlarge.")
    return WhatIf(growth=factor, db_class=name, keeps_storage=keeps_storage)


class BusyError(Exception):
    """Another question is being answered, or this one takes too long."""


class Planner:
    """Answers questions, one at a time."""

    def __init__(self, patience_s: float = _PATIENCE_S) -> None:
        """Answer none yet."""
        self._patience_s = patience_s
        self._turn = threading.Lock()
        self._answers: OrderedDict[tuple[str, int, WhatIf], Plan | PlimsollError] = OrderedDict()

    def answer(self, key: str, revision: int, snapshot: Snapshot | None, question: WhatIf) -> Plan:
        """
        Return the plan for a snapshot.

        Args:
            key: of the instance.
            revision: of what was found of it; an answer is kept for as long as that stays.
            snapshot: the hours in memory; None if there are none.
            question: what is asked.

        Raises:
            PlimsollError: no plan can be made of it.
            BusyError: the answer is not there in time.
        """
        if snapshot is None:
            raise DataError("no hours of this instance are in memory yet", "Wait for its next reading.")
        name = (key, revision, question)
        found = self._answers.get(name)
        if found is None:
            found = self._computed(name, snapshot, question)
        if isinstance(found, PlimsollError):
            raise found
        return found

    def _computed(self, name: tuple[str, int, WhatIf], snapshot: Snapshot, question: WhatIf) -> Plan | PlimsollError:
        if not self._turn.acquire(timeout=self._patience_s):
            raise BusyError("another question is being answered; try again in a minute")
        future: Future[Plan | PlimsollError] = Future()

        def work() -> None:
            try:
                found = _planned(snapshot, question)
                self._answers[name] = found
                while len(self._answers) > _KEPT:
                    self._answers.popitem(last=False)
                future.set_result(found)
            except BaseException as error:  # noqa: BLE001  whoever waits for the answer raises it
                future.set_exception(error)
            finally:
                self._turn.release()

        # A plan cannot be stopped; it ends by itself, and the next question waits for it.
        threading.Thread(target=work, name="watch-what-if", daemon=True).start()
        try:
            return future.result(self._patience_s)
        except LateError as error:
            raise BusyError(f"the answer takes more than {self._patience_s:.0f} s; try again in a minute") from error


def _planned(snapshot: Snapshot, question: WhatIf) -> Plan | PlimsollError:
    try:
        return plan_snapshot(diagnose_snapshot(snapshot), snapshot, _constraints(question))
    except PlimsollError as error:
        return error


def _constraints(question: WhatIf) -> PlanConstraints:
    return PlanConstraints(
        growth=question.growth,
        keep_storage=question.keeps_storage,
        # Somebody who names a class wants to know what it would do, also where it is smaller.
        allow=(question.db_class, *_SMALLER) if question.db_class else (),
    )
