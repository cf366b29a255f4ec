"""
The loop: take the lease, read what is due, judge it, store it, and let it be sent.

Rule 1: this file and its caller alone look at a clock. States follow the time of the data; the wall clock sets
        the window that is read, and the lease.
Rule 2: without the lease nothing is read and nothing is sent.
Rule 3: a failure is said once and tried again at the next poll, never sooner.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from plimsoll.errors import NothingMatches, PlimsollError, SourceError
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.config import WatchSettings
from plimsoll.watch.delivery import Log
from plimsoll.watch.found import Board, Found
from plimsoll.watch.judge import COMPLETE_AFTER_S, Judge, data_end_of, first_day
from plimsoll.watch.law.days import DAY_S
from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.metrics import LEDGER_ERRORS, POLL_ERRORS, POLLS, REQUESTED, ROUNDS, OwnerStatus, target_label
from plimsoll.watch.law.rules.bound import RESOURCES
from plimsoll.watch.law.schedule import PollDemand, PollPlan, urgency_of
from plimsoll.watch.law.situation import FRESH_S
from plimsoll.watch.ledger import InstanceOutcome, LeaseLostError, Ledger, LedgerError, RememberedInstance
from plimsoll.watch.memory import Memory
from plimsoll.watch.spending import Spending
from plimsoll.watch.tally import EventTally
from plimsoll.watch.targets import Computations, WatchClock, WatchTarget
from plimsoll.watch.timetable import Timetable, name_of

# A third of the lease, so that one late turn does not lose it.
RENEW_S = 20.0
# Steps of the clock up to this are made up for. More are an installation gone wrong.
_CLOCK_STEP_S = 2 * 3600

# A judgement: an instance that is renamed, or hidden by a wrong role, is back within a day.
_GONE_S = DAY_S

# Old transitions are forgotten a few times a day.
_PRUNE_S = 6 * 3600.0


class Watch:
    """Watches the targets of one configuration with one ledger."""

    def __init__(
        self,
        settings: WatchSettings,
        targets: Sequence[WatchTarget],
        ledger: Ledger,
        computations: Computations,
        *,
        clock: WatchClock,
        log: Log,
        usd_per_metric: float | None = None,
        is_single: bool = False,
        tally: EventTally | None = None,
        board: Board | None = None,
    ) -> None:
        """
        Read nothing yet.

        Args:
            settings: the configuration.
            targets: its targets, opened.
            ledger: where states and messages are kept.
            computations: what is computed of snapshots.
            clock: of this process.
            log: takes events.
            usd_per_metric: price; None if it is not known.
            is_single: whether the process ends after one round; then silence is measured by the wall clock.
            tally: counts events; None for a count of its own.
            board: where readers see what is found; None for no reader.
        """
        self._settings, self._targets, self._ledger = settings, targets, ledger
        self._clock, self._log, self._tally = clock, log, tally or EventTally()
        self._judge = Judge(
            settings.rules,
            computations,
            runbook_base=settings.runbook_base,
            page_base=settings.web.external_url,
            log=log,
        )
        self._memory, self._is_single = Memory(ledger), is_single
        self._spending = Spending(
            ledger, budget_usd=settings.budget_usd_per_month, usd_per_metric=usd_per_metric, now_s=clock.now_s
        )
        self._timetable = Timetable(settings.poll, usd_per_metric=usd_per_metric, steady_s=clock.steady_s)
        self._found = Found(settings, self._memory, self._timetable, board)
        labels = [target_label(target.name) for target in targets]
        self._tally.begin([ROUNDS.name, LEDGER_ERRORS.name], [""])
        self._tally.begin([POLLS.name, POLL_ERRORS.name, REQUESTED.name], labels)
        self._said: dict[str, str] = {}
        self._pruned_s = self._missed_s = clock.steady_s()
        self._is_tidy = self._has_read = False
        self.is_owner = False
        """Whether this process has the lease."""
        self.ledger_error: LedgerError | None = None
        """Why the last round could not be stored; None if it could."""
        self.round_count = 0
        """Rounds that were finished as the owner or as a spare."""
        self.shown: OwnerStatus | None = None
        """What the last round found, for readers in other threads; None as a spare."""

    @property
    def plan(self) -> PollPlan | None:
        """The intervals of the last round; None before the first."""
        return self._timetable.plan

    def round(self, on_progress: Callable[[], None] = lambda: None) -> float:
        """
        Do what is due, and return the seconds until something is due again.

        Args:
            on_progress: called after each instance: the loop is alive.
        """
        try:
            was_owner, self.is_owner = self.is_owner, self._ledger.take_lease(self._clock.now_s())
            if self.is_owner is not was_owner or not self.round_count:
                self._log("lease", owner=self.is_owner)
                # Another process may have written, or may write from now on.
                self._memory.drop()
            if self.is_owner:
                self._drop_messages()
                self._judge.begin_round()
                for target in self._targets:
                    self._poll(target, on_progress)
                self._miss_unconfigured()
                self._prune()
                self._note_first_reading()
            self.shown = self._status()
            self.ledger_error = None
        except LedgerError as error:
            # Nothing was stored, so the same transitions are found again at the next poll.
            self.ledger_error = error
            self._say("ledger", error)
            if isinstance(error, LeaseLostError):
                self.is_owner, self.shown = False, None
                self._memory.drop()
            else:
                self._tally.add(LEDGER_ERRORS.name)
        self.round_count += 1
        self._tally.add(ROUNDS.name)
        return self._rest_s()

    def status(self) -> int:
        """Return 1 if anything is bound, else 2 if anything is unknown or nothing was read, else 0."""
        records = self._configured()
        standings = [s for r in records for s in self._memory.standings(r.instance)]
        if any(s.state is WatchState.BOUND for s in standings):
            return 1
        is_unknown = any(
            s.state is WatchState.UNKNOWN
            or (s.unknown_since_s and s.subject.rule == "bound" and s.subject.ceiling not in RESOURCES)
            for s in standings
        )
        return 2 if is_unknown or not records or any(r.reason for r in records) else 0

    def _configured(self) -> list[RememberedInstance]:
        names = {target.name for target in self._targets}
        return [r for r in self._memory.records().values() if r.target in names]

    def _drop_messages(self) -> None:
        """Take messages out of the queue for which there is no receiver any more."""
        if self._is_tidy:
            return
        for receiver, count in self._ledger.drop_receivers(self._receiver_names).items():
            self._log("messages dropped", receiver=receiver, count=count, reason="the receiver is no longer configured")
        self._is_tidy = True

    def _note_first_reading(self) -> None:
        """Log how many instances there are, once: otherwise a calm account shows nothing at all."""
        if self._has_read:
            return
        self._has_read = True
        records = self._configured()
        states = Counter(s.state for r in records for s in self._memory.standings(r.instance))
        self._log(
            "first reading",
            instances=len(records),
            unread=sum(1 for r in records if r.reason),
            bound=states[WatchState.BOUND],
            nearing=states[WatchState.NEARING],
        )

    # --- one target -------------------------------------------------------------------------------

    def _poll(self, target: WatchTarget, on_progress: Callable[[], None]) -> None:
        records = self._memory.of_target(target.name)
        itself = WatchedInstance(account=target.account, region="", name=target.name)
        due = self._timetable.due(records)
        if not due and not self._timetable.is_listing(target.name):
            return
        self._timetable.begin(target.name, due)
        self._tally.add(POLLS.name, target_label(target.name))
        known = {i.name for i in records}
        due_names = {i.name for i in due}
        seen: set[WatchedInstance] = set()
        trouble: PlimsollError | None = None
        window = self._window(target, records)
        try:
            chosen = target.read(window, lambda n: n in due_names or n not in known)
            for item in chosen:
                seen.add(self._read(target, item, records, window))
                on_progress()
            self._said.pop(target.name, None)
        except LedgerError:
            raise
        except PlimsollError as error:
            trouble = error
            self._tally.add(POLL_ERRORS.name, target_label(target.name))
            self._say(target.name, error, target=target.name)
        finally:
            spent = target.spent()
            self._tally.add(REQUESTED.name, target_label(target.name), by=spent)
            self._spending.add(spent)
        silent = due - seen - {itself}
        if trouble is not None and (not records or itself in records):
            records.setdefault(itself, _first(target, itself, int(self._clock.now_s())))
            silent |= {itself}
        elif itself in records:
            self._answers_again(records, itself)
        reason = trouble.message if trouble is not None else "it is no longer listed"
        is_unlisted = trouble is None or isinstance(trouble, NothingMatches)
        for instance in sorted(silent):
            record = replace(records[instance], reason=reason)
            self._silent(target, record, records, is_unlisted=is_unlisted and instance != itself)
        self._reschedule(seen | due | silent, records)

    def _window(self, target: WatchTarget, records: Mapping[WatchedInstance, RememberedInstance]) -> tuple[int, int]:
        """Return the window to read: a whole one up to now, although the wall clock may have been set."""
        now_s = self._clock.now_s()
        ends = [now_s]
        if target.is_live:
            ends += [
                r.data_end_s
                + r.silent_s
                + self._timetable.silent_s(i)
                # So much later the minute that begins after the data is complete.
                + COMPLETE_AFTER_S
                for i, r in records.items()
            ]
        end_s = int(max(ends))
        start_s = max(int(min(ends)), end_s - _CLOCK_STEP_S) - self._window_s - COMPLETE_AFTER_S
        return start_s, end_s

    @property
    def _window_s(self) -> int:
        return 3600 * self._settings.poll.window_hours

    def _read(
        self,
        target: WatchTarget,
        item: Snapshot | UnreadInstance,
        records: dict[WatchedInstance, RememberedInstance],
        window_s: tuple[int, int],
    ) -> WatchedInstance:
        """Judge and store one item of a stream; return the instance."""
        now_s = self._clock.now_s()
        if isinstance(item, UnreadInstance):
            self._tally.add(POLL_ERRORS.name, target_label(target.name))
            instance = self._named(target, item.identifier, records)
            record = records.get(instance) or _first(target, instance, int(now_s))
            record = replace(record, reason=item.reason, unlisted_s=0.0)
            self._silent(target, record, records)
            return instance
        instance = WatchedInstance(
            account=target.account, region=item.instance.region or "", name=item.instance.identifier
        )
        complete_s = window_s[1] - COMPLETE_AFTER_S
        at_s = data_end_of(item, complete_s if target.is_live else float("inf"))
        record = records.get(instance) or _first(target, instance, 0)
        record = replace(record, unlisted_s=0.0)
        if at_s is None or at_s <= record.data_end_s:
            record = record if record.data_end_s else _first(target, instance, int(now_s))
            # A sample that is late is no failure, as long as there are any.
            record = replace(record, reason="it has no sample" if at_s is None else "")
            self._silent(target, record, records)
            return instance
        is_old = target.is_live and not record.data_end_s and at_s < now_s - FRESH_S
        if is_old:
            first = replace(record, data_end_s=at_s, silent_s=now_s - at_s, reason="no new sample")
            self._silent(target, first, records)
            return instance
        outcome = self._judge.of_data(
            item,
            record,
            self._memory.standings(instance),
            self._ledger.days(instance, first_day(self._settings.rules, at_s)),
            at_s=at_s,
            window_s=self._window_s,
        )
        self._store(outcome, records)
        self._timetable.count(instance)
        return instance

    def _named(
        self, target: WatchTarget, name: str, records: Mapping[WatchedInstance, RememberedInstance]
    ) -> WatchedInstance:
        """Return the instance of a name, of which a failed reading says nothing else."""
        known = next((i for i in records if i.name == name), None)
        return known or WatchedInstance(account=target.account, region="", name=name)

    # --- silence ----------------------------------------------------------------------------------

    def _answers_again(self, records: dict[WatchedInstance, RememberedInstance], itself: WatchedInstance) -> None:
        """Note that a target answers that did not even name its instances before."""
        record = replace(records[itself], data_end_s=int(self._clock.now_s()), silent_s=0.0, reason="")
        standings = self._memory.standings(itself)
        self._store(self._judge.of_silence(record, standings, is_stale=False), records)
        self._timetable.count(itself)

    def _silent(
        self,
        target: WatchTarget,
        record: RememberedInstance,
        records: dict[WatchedInstance, RememberedInstance],
        *,
        is_unlisted: bool = False,
    ) -> None:
        waited_s = self._waited_s(record) if target.is_live else 0.0
        later = _missed(record, waited_s, is_unlisted=is_unlisted)
        if later.unlisted_s >= _GONE_S:
            self._forget(later, records, is_configured=True)
            return
        outcome = self._judge.of_silence(
            later, self._memory.standings(record.instance), is_stale=later.silent_s > FRESH_S
        )
        self._store(outcome, records)
        # Only now: what could not be stored is counted again.
        self._timetable.count(record.instance)

    def _waited_s(self, record: RememberedInstance) -> float:
        """Return the time since the silence of an instance was counted last."""
        if self._is_single:
            return max(0.0, self._clock.now_s() - record.data_end_s - record.silent_s)
        return self._timetable.silent_s(record.instance)

    def _miss_unconfigured(self) -> None:
        """Count the time for which targets have not been configured, and forget their instances after a day of it."""
        steady_s = self._clock.steady_s()
        waited_s = steady_s - self._missed_s
        if waited_s < self._settings.poll.interval_s:
            return
        self._missed_s = steady_s
        names = {target.name for target in self._targets}
        for record in [r for r in self._memory.records().values() if r.target not in names]:
            later = _missed(record, waited_s, is_unlisted=True)
            if later.unlisted_s >= _GONE_S:
                self._forget(later, {}, is_configured=False)
            else:
                self._store(InstanceOutcome(record=later, standings=()), {})

    def _forget(
        self, record: RememberedInstance, records: dict[WatchedInstance, RememberedInstance], *, is_configured: bool
    ) -> None:
        """End the alerts of an instance that is not listed any more, and forget it."""
        standings = self._memory.standings(record.instance)
        outcome = self._judge.of_departure(record, standings, is_configured=is_configured)
        self._memory.remove(outcome, self._receiver_names, now_s=self._clock.now_s())
        records.pop(record.instance, None)
        self._timetable.forget(record.instance)
        self._found.forget(record.instance)
        self._log_transitions(outcome)
        self._log("forgotten", instance=record.instance.name, target=record.target)

    def _store(self, outcome: InstanceOutcome, records: dict[WatchedInstance, RememberedInstance]) -> None:
        self._memory.store(outcome, self._receiver_names, now_s=self._clock.now_s())
        self._said.pop("ledger", None)
        records[outcome.record.instance] = outcome.record
        self._found.note(outcome)
        self._log_transitions(outcome)

    def _log_transitions(self, outcome: InstanceOutcome) -> None:
        has_receivers = bool(self._settings.receivers)
        for message in outcome.messages:
            self._log(
                "transition",
                instance=message.instance,
                rule=message.rule,
                ceiling=message.ceiling,
                state=message.state.value,
                key=message.key,
                number=message.number,
                title=message.title,
                is_queued=has_receivers and (message.key, message.number) in outcome.announced,
            )

    # --- when again -------------------------------------------------------------------------------

    def _reschedule(self, polled: set[WatchedInstance], records: Mapping[WatchedInstance, RememberedInstance]) -> None:
        """Set the next poll of the instances that were polled, within the budget of all."""
        costs = {target.name: target.metric_count for target in self._targets}
        demands = [
            PollDemand(
                name=name_of(record.instance),
                urgency=urgency_of(
                    self._memory.standings(record.instance), at_s=record.data_end_s, far_since_s=record.far_since_s
                ),
                metric_count=costs.get(record.target, 0),
            )
            for record in self._configured()
        ]
        usd_left, left_s = self._spending.left()
        seen = polled & records.keys()
        plan = self._timetable.replan(seen, demands, usd_left=usd_left, left_s=left_s)
        if plan.is_blind:
            spent = SourceError("the budget of this month is nearly spent, so polls are rare")
            self._say("budget", spent, usd_per_month=self._settings.budget_usd_per_month)
        else:
            self._said.pop("budget", None)

    def _status(self) -> OwnerStatus | None:
        if not self.is_owner:
            self._found.hide()
            return None
        return self._found.status(
            self._configured(), month_usd=self._spending.month_usd(), waiting=self._ledger.waiting_counts()
        )

    def _rest_s(self) -> float:
        return min(self._timetable.rest_s(), RENEW_S) if self.is_owner else RENEW_S

    def _prune(self) -> None:
        if self._clock.steady_s() - self._pruned_s >= _PRUNE_S:
            self._pruned_s = self._clock.steady_s()
            self._ledger.prune(self._clock.now_s())

    @property
    def _receiver_names(self) -> list[str]:
        return [receiver.name for receiver in self._settings.receivers]

    def _say(self, about: str, error: PlimsollError, **fields: object) -> None:
        """Log an error once for as long as it lasts."""
        if self._said.get(about) != error.message:
            self._said[about] = error.message
            self._log("trouble", error=error.message, hint=error.hint, **fields)


def _first(target: WatchTarget, instance: WatchedInstance, data_end_s: int) -> RememberedInstance:
    return RememberedInstance(instance=instance, target=target.name, data_end_s=data_end_s)


def _missed(record: RememberedInstance, waited_s: float, *, is_unlisted: bool) -> RememberedInstance:
    """Return the record after a poll that brought nothing of an instance."""
    return replace(
        record, silent_s=record.silent_s + waited_s, unlisted_s=record.unlisted_s + (waited_s if is_unlisted else 0.0)
    )
