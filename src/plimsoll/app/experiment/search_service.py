"""
Play the incident of the search service, and judge what Plimsoll says about each phase.

Each phase is read back from the account over HTTP, as `rds:search-service`, and then diagnosed, inspected, planned and
compared by the functions that the commands use.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from plimsoll.app.compare import compare_snapshots
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.experiment import checks
from plimsoll.app.explain import StatementChoice, record_server
from plimsoll.app.inspect import inspect_for_diagnosis
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.plan import plan_snapshot
from plimsoll.app.read import read_target
from plimsoll.app.targets import RDS
from plimsoll.app.watching import Watching
from plimsoll.catalog.load import Catalog, catalog
from plimsoll.errors import PlimsollError
from plimsoll.gate.config import stages_of
from plimsoll.gate.record import MINUTE_S, storage_of
from plimsoll.lab.experiments.account import KEYS, ExperimentAccount
from plimsoll.lab.experiments.search_service import story
from plimsoll.lab.experiments.search_service.ground import SearchPlan
from plimsoll.lab.experiments.search_service.play import ExperimentEdges, PhaseRun, play
from plimsoll.lab.sessions.ground import compare_with_truth
from plimsoll.model.cause import Inspection
from plimsoll.model.comparison import Comparison
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.experiment import (
    ExperimentCheck,
    ExperimentProgress,
    ExperimentReport,
    MinuteRates,
    PhaseReport,
)
from plimsoll.model.explain import CaptureFile
from plimsoll.model.plan import Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.diagnosis.headline import headline
from plimsoll.reports.files.snapshot import write_snapshot
from plimsoll.units import format_bytes, format_time

# At a ceiling a statement takes seconds; longer than this, it would outlast the phase.
_EXPLAIN_TIMEOUT_S = 30
_REMEDY_CLASS = "db.r5.4xlarge"
# Fewer throttled minutes than this share of a phase say nothing about clients that wait for a processor.
_THROTTLED_SHARE = 0.25


class ReadPhase(Struct, frozen=True, kw_only=True):
    """One phase as it was read back, and what Plimsoll found."""

    run: PhaseRun
    snapshot: Snapshot
    diagnosis: Diagnosis
    inspection: Inspection | None


def play_search_service(
    plan: SearchPlan,
    *,
    report_progress: Callable[[ExperimentProgress], None],
    print_line: Callable[[str], None],
    keep: Path | None = None,
) -> ExperimentReport:
    """
    Play all phases, and return the report; after Ctrl-C, that of the phases before.

    Args:
        plan: how the experiment is played.
        report_progress: called about once a second within a phase.
        print_line: called with a sentence before each step, and with the verdict on each phase.
        keep: folder for a snapshot of each phase, as it was read back; it exists. None for none.

    Raises:
        UsageError: FUSE, Java, Maven, make or the service is missing, or there is too little space.
        SourceError: a server or a program of the service did not start, or ended.
        KeyboardInterrupt: it was interrupted before the first phase was over.
    """
    facts = catalog()
    judge = _Judge(plan, facts, print_line, keep)
    edges = ExperimentEdges(
        watch=lambda dsn: Watching(dsn, print_line).end,
        explain=_explained,
        report_progress=report_progress,
        print_line=print_line,
        end_phase=judge.add,
    )
    versions, is_interrupted = "", False
    try:
        versions = play(plan, facts, edges)
    except KeyboardInterrupt:
        if not judge.phases:
            raise
        is_interrupted = True
    return judge.report(versions, is_interrupted=is_interrupted)


class _Judge:
    """Judges one phase after the other."""

    def __init__(
        self,
        plan: SearchPlan,
        facts: Catalog,
        print_line: Callable[[str], None],
        keep: Path | None,
    ) -> None:
        self._plan, self._facts, self._print_line = plan, facts, print_line
        self._keep = keep
        self._read: dict[str, ReadPhase] = {}
        self.phases: list[PhaseReport] = []
        self._minutes: list[MinuteRates] = []

    def add(self, run: PhaseRun, account: ExperimentAccount) -> None:
        """Read a phase back, and judge what Plimsoll says about it."""
        with _environment_of(account):
            snapshot = _read_back(run, account.region)
        if self._keep is not None:
            write_snapshot(self._keep / f"{run.phase.name}.json", snapshot)
        diagnosis = diagnose_snapshot(snapshot)
        found = ReadPhase(
            run=run,
            snapshot=snapshot,
            diagnosis=diagnosis,
            inspection=self._inspected(run, diagnosis),
        )
        self._read[run.phase.name] = found
        self._minutes += _minutes_of(run)
        report = self._judged(found)
        self.phases.append(report)
        wrong = [check for check in report.checks if not check.is_right]
        self._print_line(f"  diagnose: {report.headline}")
        for check in wrong:
            self._print_line(f"  NOT RIGHT, {check.command}: {check.found}; true: {check.expected}")

    def report(self, versions: str, *, is_interrupted: bool) -> ExperimentReport:
        """Return the whole experiment."""
        runs = [one.run for one in self._read.values()]
        return ExperimentReport(
            name=story.NAME,
            title=story.TITLE,
            source=story.SOURCE,
            scale=self._plan.scale,
            clock=self._plan.clock,
            machine=_machine(versions),
            phases=tuple(self.phases),
            minutes=tuple(self._minutes),
            is_void=any(_void_reason(run) for run in runs),
            notes=tuple(self._notes(runs)),
            is_interrupted=is_interrupted,
        )

    def _notes(self, runs: list[PhaseRun]) -> Iterator[str]:
        plan = self._plan
        yield (
            f"Scale 1:{plan.scale:g}. Limits, credits and load are a {plan.scale:g}th; rates and queue depth are "
            f"multiplied by {plan.scale:g}. Latencies, responses and events that wait are as measured."
        )
        yield (
            f"Credit clock {plan.clock:g}: one emulated minute takes {MINUTE_S / plan.clock:g} s. Hours between "
            "phases are skipped: nothing is throttled then, and nothing is recorded."
        )
        yield (
            f"{plan.assets:,} documents of 9 kB, {format_bytes(plan.memory_bytes)} of memory. The post had a few hundred "
            "million rows of TOAST."
        )
        for run in runs:
            if reason := _void_reason(run):
                yield f"{run.phase.title} is void: {reason}"

    def _inspected(self, run: PhaseRun, diagnosis: Diagnosis) -> Inspection | None:
        if run.observation is None:
            return None
        # The database runs one part of the load, so its bytes are compared with one part of the ceiling.
        return inspect_for_diagnosis(
            diagnosis, run.observation, run.credit_clock, parts=self._plan.scale
        )

    def _judged(self, found: ReadPhase) -> PhaseReport:
        run, diagnosis = found.run, found.diagnosis
        chain = stages_of(run.setup, self._facts)
        truth = compare_with_truth(diagnosis, run.truth, chain, clock=self._plan.clock)
        limit = chain[0].baseline if run.phase.binds != "none" else None
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
            checks=(
                checks.binding_check(diagnosis, truth, binds=run.phase.binds, limit=limit),
                *self._checks(found),
            ),
        )

    def _checks(self, found: ReadPhase) -> Iterator[ExperimentCheck]:
        """Yield what is expected of a phase besides its limit."""
        name, inspection = found.run.phase.name, found.inspection
        if found.run.phase.binds != "none":
            yield checks.not_iops_check(found.diagnosis)
        if name in ("whole-documents", "more-iops", "vacuum-cancelled"):
            yield checks.cause_check(inspection, rewrites=True)
        if name == "whole-documents":
            captures = [self._captures(one) for one in ("healthy", name)]
            yield checks.plans_check(*captures)
            yield checks.plan_check(_planned(found), names=(_REMEDY_CLASS,))
        if name == "more-iops":
            compared = self._compared("whole-documents", found)
            yield checks.comparison_check(compared, was_enough=False)
        if name == "vacuum-cancelled":
            first, second, _ = (segment.minutes for segment in found.run.phase.segments)
            window_s = found.run.window_s
            yield checks.relief_check(found.diagnosis, window_s, (first, first + second))
        if name == "dirty-tracking":
            yield checks.cause_check(inspection, rewrites=False)
        if name == "larger-class":
            compared = self._compared("restarted", found)
            yield checks.comparison_check(compared, was_enough=True)

    def _captures(self, name: str) -> CaptureFile | None:
        read = self._read.get(name)
        return None if read is None else read.run.captures

    def _compared(self, before: str, after: ReadPhase) -> Comparison | None:
        read = self._read.get(before)
        return None if read is None else compare_snapshots(read.snapshot, after.snapshot)


def _read_back(run: PhaseRun, region: str) -> Snapshot:
    """Read a phase's window from the account, as `diagnose rds:NAME --since --until` does."""
    since, until = (format_time(moment) for moment in run.window_s)
    return read_target(
        f"{RDS}{run.setup.instance.identifier}",
        InstanceOptions(),
        ReadOptions(since=since, until=until, region=region),
    )


def _planned(found: ReadPhase) -> Plan | None:
    """Return the plan of a phase; its window is shorter than the day that the command asks for."""
    try:
        return plan_snapshot(found.diagnosis, found.snapshot, PlanConstraints())
    except PlimsollError:
        return None


def _explained(dsn: str, statement: str, value: str) -> CaptureFile:
    choice = StatementChoice(
        statements=(statement,),
        file=None,
        top=None,
        watched_s=None,
        parameters=(value,),
        parameter_file=None,
        is_generic=False,
        timeout_s=_EXPLAIN_TIMEOUT_S,
        runs=1,
        allows_writes=False,
    )
    return record_server(dsn, choice, sleep=time.sleep, now_s=time.time())


def _minutes_of(run: PhaseRun) -> Iterator[MinuteRates]:
    """Yield a phase's minutes, with the throughput that the instance allowed in each."""
    stages = {stage.name: stage for stage in stages_of(run.setup, catalog())}
    throughput = stages["instance_ebs_throughput"]
    for number, line in enumerate(run.lines):
        left = line.balance.get(throughput.name)
        has_credits = left is not None and left > _SPENT_RATIO
        yield MinuteRates(
            time_s=run.window_s[0] + number * MINUTE_S,
            read_bytes_per_s=line.read_bytes / line.dt,
            write_bytes_per_s=line.write_bytes / line.dt,
            ceiling_bytes_per_s=throughput.burst if has_credits else throughput.baseline,
        )


# At its baseline a bucket gains and spends single credits all the time; so small a balance is none.
_SPENT_RATIO = 0.001


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


def _machine(versions: str) -> str:
    count = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = "1 processor" if count == 1 else f"{count} processors"
    servers = f"; {versions}" if versions else ""
    return f"{cores}, {format_bytes(memory)}{servers}"


def default_system() -> Path:
    """Return the folder of the search service in a clone of the repository."""
    return Path(__file__).parents[4] / "systems" / story.NAME
