"""
Judge what Plimsoll says about each phase of an experiment.

Each phase is read back from the account over HTTP, as `rds:NAME`, and then diagnosed by the function that the command
uses. What else is asked of a phase, each experiment adds.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.plan import plan_snapshot
from plimsoll.app.read import read_target
from plimsoll.app.targets import RDS
from plimsoll.catalog.load import Catalog
from plimsoll.errors import PlimsollError
from plimsoll.kernel import Stage
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.plan import Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.diagnosis.headline import headline
from plimsoll.reports.files.snapshot import write_snapshot
from plimsoll.units import format_bytes, format_time
from plimsoll_lab.experiments.account import KEYS, ExperimentAccount
from plimsoll_lab.experiments.phases import PhaseRun
from plimsoll_lab.gate.config import stages_of
from plimsoll_lab.gate.record import MINUTE_S, storage_of
from plimsoll_lab.judges import checks
from plimsoll_lab.model.experiment import Check, ExperimentReport, MinuteRates, PhaseReport
from plimsoll_lab.sessions.ground import compare_with_truth, of_storage

# Fewer throttled minutes than this share of a phase say nothing about clients that wait for a processor.
_THROTTLED_SHARE = 0.25
# At its baseline a bucket gains and spends single credits all the time; so small a balance is none.
_SPENT_RATIO = 0.001


class ReadPhase(Struct, frozen=True, kw_only=True):
    """One phase as it was read back, and what Plimsoll found."""

    run: PhaseRun
    snapshot: Snapshot
    diagnosis: Diagnosis


class ExperimentJudge(ABC):
    """Judges one phase after the other."""

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    """The published post."""

    def __init__(
        self, facts: Catalog, print_line: Callable[[str], None], keep: Path | None, *, scale: float, clock: float
    ) -> None:
        """
        Begin without phases.

        Args:
            facts: the documented limits.
            print_line: called with the verdict on each phase.
            keep: folder for a snapshot of each phase; None for none.
            scale: limits and load were divided by this number.
            clock: emulated seconds in a real one.
        """
        self._facts, self._print_line, self._keep = facts, print_line, keep
        self._scale, self._clock = scale, clock
        self.read: dict[str, ReadPhase] = {}
        self.phases: list[PhaseReport] = []
        self._minutes: list[MinuteRates] = []

    @abstractmethod
    def checks_of(self, found: ReadPhase) -> Iterator[Check]:
        """Yield what is expected of a phase besides its limit."""

    @abstractmethod
    def notes(self) -> Iterator[str]:
        """Yield remarks about this experiment for the reader."""

    def add(self, run: PhaseRun, account: ExperimentAccount) -> None:
        """Read a phase back, and judge what Plimsoll says about it."""
        with _environment_of(account):
            snapshot = _read_back(run, account.region)
        if self._keep is not None:
            write_snapshot(self._keep / f"{run.phase.name}.json", snapshot)
        found = ReadPhase(run=run, snapshot=snapshot, diagnosis=of_storage(diagnose_snapshot(snapshot)))
        self.read[run.phase.name] = found
        self._minutes += self._minutes_of(run)
        report = self._judged(found)
        self.phases.append(report)
        self._print_line(f"  diagnose: {report.headline}")
        for check in report.checks:
            if not check.is_right:
                self._print_line(f"  NOT RIGHT, {check.command}: {check.found}; true: {check.expected}")

    def report(self, versions: str, *, is_interrupted: bool) -> ExperimentReport:
        """Return the whole experiment."""
        runs = [one.run for one in self.read.values()]
        return ExperimentReport(
            name=self.name,
            title=self.title,
            source=self.source,
            scale=self._scale,
            clock=self._clock,
            machine=machine_of(versions),
            phases=tuple(self.phases),
            minutes=tuple(self._minutes),
            is_void=any(_void_reason(run) for run in runs),
            notes=tuple(self._all_notes(runs)),
            is_interrupted=is_interrupted,
        )

    def chain_of(self, run: PhaseRun) -> tuple[Stage, ...]:
        """Return the limits that were enforced in a phase, of the whole load."""
        return stages_of(run.setup, self._facts)

    def _all_notes(self, runs: list[PhaseRun]) -> Iterator[str]:
        yield (
            f"Scale 1:{self._scale:g}. Limits, credits and load are a {self._scale:g}th; rates and queue depth are "
            f"multiplied by {self._scale:g}. Latencies, responses and events that wait are as measured."
        )
        yield (
            f"Credit clock {self._clock:g}: one emulated minute takes {MINUTE_S / self._clock:g} s. Hours between "
            "phases are skipped: nothing is throttled then, and nothing is recorded."
        )
        yield from self.notes()
        for run in runs:
            if reason := _void_reason(run):
                yield f"{run.phase.title} is void: {reason}"

    def _judged(self, found: ReadPhase) -> PhaseReport:
        run, diagnosis = found.run, found.diagnosis
        chain = self.chain_of(run)
        truth = compare_with_truth(diagnosis, run.truth, chain, clock=self._clock)
        is_known = run.phase.binds in ("legacy baseline", "baseline")
        limit = chain[0].baseline if is_known else None
        return PhaseReport(
            name=run.phase.name,
            title=run.phase.title,
            action=run.phase.action,
            instance=f"{run.setup.instance.db_class}, {storage_of(run.setup.instance)}",
            window_s=run.window_s,
            figures=run.figures,
            published=run.phase.published,
            headline=headline(diagnosis),
            truth=truth,
            checks=(checks.binding_check(diagnosis, truth, binds=run.phase.binds, limit=limit), *self.checks_of(found)),
        )

    def _minutes_of(self, run: PhaseRun) -> Iterator[MinuteRates]:
        """Yield a phase's minutes, with the throughput that the instance allowed in each."""
        throughput = self.chain_of(run)[0]
        for number, line in enumerate(run.lines):
            left = line.balance.get(throughput.name)
            has_credits = left is not None and left > _SPENT_RATIO
            yield MinuteRates(
                time_s=run.window_s[0] + number * MINUTE_S,
                read_bytes_per_s=line.read_bytes / line.dt,
                write_bytes_per_s=line.write_bytes / line.dt,
                ceiling_bytes_per_s=throughput.burst if has_credits else throughput.baseline,
            )


def played(judge: ExperimentJudge, play: Callable[[], str]) -> ExperimentReport:
    """
    Play an experiment, and return its report; after Ctrl-C, that of the phases before.

    Args:
        judge: gets each phase.
        play: plays all phases, and returns the servers in words.

    Raises:
        PlimsollError: as the experiment.
        KeyboardInterrupt: it was interrupted before the first phase was over.
    """
    try:
        return judge.report(play(), is_interrupted=False)
    except KeyboardInterrupt:
        if not judge.phases:
            raise
        return judge.report("", is_interrupted=True)


def plan_of(found: ReadPhase, constraints: PlanConstraints | None = None) -> Plan | None:
    """Return the plan of a phase; its window is shorter than the day that the command asks for."""
    try:
        return plan_snapshot(found.diagnosis, found.snapshot, constraints or PlanConstraints())
    except PlimsollError:
        return None


def _read_back(run: PhaseRun, region: str) -> Snapshot:
    """Read a phase's window from the account, as `diagnose rds:NAME --since --until` does."""
    since, until = (format_time(moment) for moment in run.window_s)
    return read_target(
        f"{RDS}{run.setup.instance.identifier}", InstanceOptions(), ReadOptions(since=since, until=until, region=region)
    )


def _void_reason(run: PhaseRun) -> str:
    """Return why a phase proves nothing; empty if this machine kept up."""
    if not run.truth.is_void:
        return ""
    throttled = run.figures.throttled_minutes / max(run.figures.minutes, 1e-9)
    if throttled < _THROTTLED_SHARE and not run.truth.is_late:
        return ""
    return run.truth.sentence


@contextmanager
def _environment_of(account: ExperimentAccount) -> Iterator[None]:
    """Let boto3 find the double, as a user's shell would."""
    ours = {**KEYS, "AWS_ENDPOINT_URL": account.url, "AWS_REGION": account.region}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def machine_of(versions: str) -> str:
    """Return this machine and the servers on it in words."""
    count = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = "1 processor" if count == 1 else f"{count} processors"
    servers = f"; {versions}" if versions else ""
    return f"{cores}, {format_bytes(memory)}{servers}"
