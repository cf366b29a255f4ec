"""
Judge one reading of one instance: from a snapshot, or from its absence, to what is stored.

Rule 1: the newest minute is left out while it may still grow.
Rule 2: whatever is computed beside the states, advice and picture, may fail; the message goes out without it. So do
        those after the first few of a round: a whole account at its limits must not wait for pictures.
"""

from collections.abc import Mapping
from math import ceil

from msgspec.structs import replace

from plimsoll.errors import PlimsollError
from plimsoll.model.contained import InternalError, collecting, guarded
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll.watch.delivery import Log
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.days import DAY_S, DaySummary, summarise
from plimsoll.watch.law.evaluation import Evaluation, departed, evaluate
from plimsoll.watch.law.machine import Standing, Transition
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.reading import numbers_of
from plimsoll.watch.law.rulebook import UNKNOWN, RuleTables, conditions_of
from plimsoll.watch.law.rules.unknown import condition_of_departure, condition_of_silence
from plimsoll.watch.law.schedule import far_since
from plimsoll.watch.law.situation import FRESH_S, Situation, situation_of
from plimsoll.watch.law.wording import Surroundings, message_of
from plimsoll.watch.ledger import InstanceOutcome, RememberedInstance
from plimsoll.watch.targets import Computations

# CloudWatch completes a minute's sample within the next one; the newest may still grow.
COMPLETE_AFTER_S = 60
# Each takes a second or two, and a round of 1,000 instances has a minute. The first messages are those that are read.
_ADVISED_MAX = 12
_RATES = (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)


def data_end_of(snapshot: Snapshot, complete_s: float) -> int | None:
    """
    Return the end of the last minute of which all storage rates are complete; None without any sample.

    Args:
        snapshot: as it was read.
        complete_s: epoch seconds; a sample that ends later may still grow.
    """
    ends = []
    for metric in _RATES if any(m in snapshot.series for m in _RATES) else snapshot.series:
        series = snapshot.series.get(metric)
        if series is None:
            continue
        done = series.time_s[series.time_s + series.step_s <= complete_s]
        if done.size:
            ends.append(int(done[-1]) + series.step_s)
    # A metric that stopped long before the others is missing; the others still tell the time.
    newest = max(ends, default=None)
    return None if newest is None else min(e for e in ends if e >= newest - FRESH_S)


class Judge:
    """Judges readings with one configuration."""

    def __init__(
        self, tables: RuleTables, computations: Computations, *, runbook_base: str, page_base: str = "", log: Log
    ) -> None:
        """Use these rules, and these computations for what a message says beside its transition."""
        self._tables, self._computations = tables, computations
        self._runbook_base, self._page_base, self._log = runbook_base, page_base, log
        self._advised = 0
        self._said: set[tuple[str, InternalError]] = set()

    def begin_round(self) -> None:
        """Let the first messages have advice and pictures again."""
        self._advised = 0

    def of_data(
        self,
        snapshot: Snapshot,
        record: RememberedInstance,
        remembered: list[Standing],
        days: tuple[DaySummary, ...],
        *,
        at_s: int,
        window_s: int,
    ) -> InstanceOutcome:
        """
        Return what follows from new data.

        Args:
            snapshot: what was read.
            record: of the instance, with the end of the data before these.
            remembered: its standings.
            days: its last days.
            at_s: end of the new data, later than before.
            window_s: length of the window to diagnose.
        """
        with collecting() as failed:
            outcome = guarded(
                "the new data",
                lambda: self._of_data(snapshot, record, remembered, days, at_s=at_s, window_s=window_s),
                None,
            )
        self._say(record.instance.name, failed)
        if outcome is not None:
            return outcome
        # As with missing data: what was remembered stays, and is not known when it is old.
        end_s = record.data_end_s or at_s
        reason = f"it could not be judged: internal error {failed[0].error}"
        silent = replace(record, data_end_s=end_s, silent_s=float(at_s - end_s), reason=reason)
        return self.of_silence(silent, remembered, is_stale=at_s - end_s > FRESH_S)

    def _of_data(
        self,
        snapshot: Snapshot,
        record: RememberedInstance,
        remembered: list[Standing],
        days: tuple[DaySummary, ...],
        *,
        at_s: int,
        window_s: int,
    ) -> InstanceOutcome:
        window = (at_s - window_s, at_s)
        judged = replace(cut(snapshot, window), asked_s=window)
        diagnosis = self._computations.diagnose(judged)
        load = self._computations.load(record.target, record.instance.name, diagnosis)
        situation = situation_of(judged, diagnosis, at_s=at_s, days=days, load=load)
        found: dict[str, tuple[Condition, ...]] = conditions_of(situation, self._tables)
        if self._tables.unknown.is_on:
            found[UNKNOWN] = (condition_of_silence(data_end_s=at_s, silent_s=0, reason=""),)
        evaluation = evaluate(record.instance, found, remembered, self._tables, at_s=at_s)
        later = replace(
            record,
            data_end_s=at_s,
            silent_s=0.0,
            unlisted_s=0.0,
            reason="",
            far_since_s=far_since(situation, record.far_since_s),
        )
        outcome = self._outcome(
            later,
            evaluation,
            days=_new_days(situation, (max(record.data_end_s, window[0]), at_s)),
            diagnosis=diagnosis,
            snapshot=judged,
        )
        numbers = numbers_of(situation, judged, self._tables.bound)
        return replace(outcome, numbers=numbers, snapshot=judged)

    def _say(self, instance: str, failed: list[InternalError]) -> None:
        """Log each internal error once, not every minute."""
        for one in failed:
            if (instance, one) not in self._said:
                self._said.add((instance, one))
                self._log(
                    f"{one.part} could not be evaluated; please report it",
                    instance=instance,
                    error=f"internal error {one.error}",
                )

    def of_silence(self, record: RememberedInstance, remembered: list[Standing], *, is_stale: bool) -> InstanceOutcome:
        """
        Return what follows from a poll that brought nothing new.

        Args:
            record: of the instance, with the time for which it has been silent.
            remembered: its standings.
            is_stale: whether that is so long that no rule knows anything any more.
        """
        at_s = record.data_end_s + ceil(record.silent_s)
        found: dict[str, tuple[Condition, ...]] = {}
        if self._tables.unknown.is_on:
            found[UNKNOWN] = (
                condition_of_silence(
                    data_end_s=record.data_end_s, silent_s=ceil(record.silent_s), reason=record.reason
                ),
            )
        if is_stale:
            found |= _nothing_known(remembered, at_s)
        evaluation = evaluate(record.instance, found, remembered, self._tables, at_s=at_s)
        return self._outcome(replace(record, far_since_s=0) if is_stale else record, evaluation)

    def of_departure(
        self, record: RememberedInstance, remembered: list[Standing], *, is_configured: bool
    ) -> InstanceOutcome:
        """
        Return the end of every open episode of an instance that is forgotten.

        Args:
            record: of the instance, with the time for which it was not listed.
            remembered: its standings.
            is_configured: whether its target is still in the configuration.
        """
        condition = condition_of_departure(
            at_s=record.data_end_s + ceil(record.silent_s), missed_s=record.unlisted_s, is_configured=is_configured
        )
        return self._outcome(record, departed(remembered, condition))

    def _outcome(
        self,
        record: RememberedInstance,
        evaluation: Evaluation,
        *,
        days: tuple[DaySummary, ...] = (),
        diagnosis: Diagnosis | None = None,
        snapshot: Snapshot | None = None,
    ) -> InstanceOutcome:
        announced = {(t.key, t.number) for t in evaluation.announced}
        messages = []
        for transition in evaluation.transitions:
            is_sent = (transition.key, transition.number) in announced
            surroundings = self._surroundings(transition, diagnosis if is_sent else None, snapshot if is_sent else None)
            messages.append(message_of(transition, surroundings))
        return InstanceOutcome(
            record=record,
            standings=evaluation.standings,
            days=days,
            messages=tuple(messages),
            announced=frozenset(announced),
        )

    def _surroundings(
        self, transition: Transition, diagnosis: Diagnosis | None, snapshot: Snapshot | None
    ) -> Surroundings:
        advice: tuple[str, ...] = ()
        picture = b""
        is_open = transition.state in (WatchState.NEARING, WatchState.BOUND)
        if diagnosis is not None and snapshot is not None and is_open:
            self._advised += 1
            if self._advised > _ADVISED_MAX:
                return self._around(diagnosis, transition.condition.advice)
            try:
                advice = transition.condition.advice or guarded(
                    "advice", lambda: self._computations.advise(diagnosis, snapshot), ()
                )
                picture = guarded("a picture", lambda: self._computations.draw(diagnosis, snapshot), b"")
            except PlimsollError as error:
                self._log(
                    "message is without advice or picture", instance=transition.subject.instance, error=error.message
                )
        return self._around(diagnosis, advice, picture)

    def _around(self, diagnosis: Diagnosis | None, advice: tuple[str, ...], picture: bytes = b"") -> Surroundings:
        return Surroundings(
            advice=advice,
            is_simulated=diagnosis is not None and diagnosis.is_simulated,
            page_base=self._page_base,
            runbook_base=self._runbook_base,
            picture_png=picture,
        )


def _nothing_known(remembered: list[Standing], at_s: int) -> Mapping[str, tuple[Condition, ...]]:
    found: dict[str, tuple[Condition, ...]] = {}
    for standing in remembered:
        rule = standing.subject.rule
        if rule != UNKNOWN:
            blind = Condition(ceiling=standing.subject.ceiling, at_s=at_s, is_known=False, text="is not known")
            found[rule] = (*found.get(rule, ()), blind)
    return found


def _new_days(situation: Situation, window_s: tuple[int, int]) -> tuple[DaySummary, ...]:
    """Return what the samples of a window add to days."""
    found: list[DaySummary] = []
    for family, use in situation.uses.items():
        if use.used is None or use.sustained is None or use.sustained.value <= 0:
            continue
        found += summarise(
            family, use.used.time_s, use.used.value / use.sustained.value, step_s=use.used.step_s, window_s=window_s
        )
    return tuple(found)


def first_day(tables: RuleTables, at_s: int) -> int:
    """Return the first day, counted from 1970-01-01, that any rule looks at."""
    return at_s // DAY_S - max(tables.headroom.of_days, 14)
