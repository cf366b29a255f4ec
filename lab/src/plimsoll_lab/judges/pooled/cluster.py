"""
Play the incident of the pooled cluster, and judge what Plimsoll says about each phase.

Each phase is inspected as `plimsoll inspect DSN --pooler pgpool://…` does, by the functions that the command uses.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.inspect import NO_CEILING, inspect_observation
from plimsoll.app.observing import Observing
from plimsoll.catalog.load import catalog
from plimsoll.causes.budget import budget_of
from plimsoll.causes.connections.sessions import taken_ratio
from plimsoll.causes.connections.work import curve_of
from plimsoll.model.cause import Inspection
from plimsoll.model.pool_size import PoolSizing, ScalabilityCurve, ServerCapacity, Service
from plimsoll.pools.pool_size import size_pools
from plimsoll.reports.diagnosis.headline import headline
from plimsoll.units import format_ratio
from plimsoll_lab.experiments.pooled_cluster import story
from plimsoll_lab.experiments.pooled_cluster.ground import PooledPlan
from plimsoll_lab.experiments.pooled_cluster.play import PooledEdges, PooledRun, play
from plimsoll_lab.experiments.pooled_cluster.processors import OTHERS
from plimsoll_lab.experiments.pooled_cluster.story import Expected
from plimsoll_lab.experiments.pooled_cluster.system import Fleet
from plimsoll_lab.experiments.pooled_cluster.twin import TwinRun, play_twin
from plimsoll_lab.gate.config import stages_of
from plimsoll_lab.gate.record import storage_of
from plimsoll_lab.judges.judge import machine_of
from plimsoll_lab.judges.pooled.checks import checks_of, disk_check
from plimsoll_lab.judges.pooled.outcome import outcome_of
from plimsoll_lab.model.experiment import Check
from plimsoll_lab.model.lab import GroundTruth
from plimsoll_lab.model.pooled import PooledPhaseReport, PooledProgress, PooledReport, PooledSample
from plimsoll_lab.sessions.ground import compare_with_truth, of_storage

_ROOT = Path(__file__).parents[5]
_LOUD = ("critical", "warning")
# A judgement: in a calm time nearly all is done; a few business transactions are under way at both ends of the phase.
_CALM_DONE = 0.8
# A judgement: with less than half of the processors the servers' figures are mostly those of others.
_DISTURBED = 0.5
_COMPARED = (Expected.STORM, Expected.PILE_UP, Expected.SIZED, Expected.OTHER_POOLER)


def play_pooled_cluster(
    plan: PooledPlan, *, report_progress: Callable[[PooledProgress], None], print_line: Callable[[str], None]
) -> PooledReport:
    """
    Play all phases, and return the report; after Ctrl-C, that of the phases before. A void phase is the last one.

    Args:
        plan: how the experiment is played.
        report_progress: called about once a second within a phase.
        print_line: called with a sentence before each step, and with the verdict on each phase.

    Raises:
        UsageError: Java, make, the system or a build of the pooler is missing, or there is too little memory.
        SourceError: a server or the services did not start, or ended.
        KeyboardInterrupt: it was interrupted before the first phase was over.
    """
    judge = PooledJudge(plan, print_line)
    edges = _edges_of(judge, report_progress, print_line)
    try:
        return judge.report(play(plan, edges))
    except KeyboardInterrupt:
        if not judge.phases:
            raise
        return judge.report("")


def play_disk_twin(
    plan: PooledPlan, *, report_progress: Callable[[PooledProgress], None], print_line: Callable[[str], None]
) -> PooledReport:
    """
    Play the twin of the storm, in which the disk binds, and return the report.

    Args:
        plan: of which the first phase is the twin's.
        report_progress: called about once a second.
        print_line: called with a sentence before each step, and with the verdict.

    Raises:
        UsageError: FUSE, Java, make or the system is missing, or there is too little memory or space.
        SourceError: a server or the services did not start, or ended.
    """
    facts = catalog()
    judge = PooledJudge(plan, print_line)
    edges = _edges_of(judge, report_progress, print_line)
    left, versions = play_twin(plan, facts, edges)
    diagnosis = of_storage(diagnose_snapshot(left.snapshot))
    chain = stages_of(left.setup, facts)
    truth = compare_with_truth(diagnosis, left.truth, chain, clock=left.setup.clock)
    print_line(f"  diagnose: {headline(diagnosis)}")
    judge.add(left.run, disk_check(diagnosis, truth))
    return replace(judge.report(versions), notes=tuple(_twin_notes(left, truth)))


def _edges_of(
    judge: "PooledJudge", report_progress: Callable[[PooledProgress], None], print_line: Callable[[str], None]
) -> PooledEdges:
    return PooledEdges(
        report_progress=report_progress,
        print_line=print_line,
        watch=lambda dsn, pooler: Observing(dsn, print_line, (pooler,)).end,
        size=judge.size,
        end_phase=judge.add,
    )


def _twin_notes(left: TwinRun, truth: GroundTruth) -> Iterator[str]:
    instance = left.setup.instance
    scale = left.setup.scale
    yield (
        f"The disk is that of {instance.db_class}, {storage_of(instance)}, emulated. Its limits are divided by {scale:g}, "
        f"and what was measured is multiplied by {scale:g}; connections and queries are as they are."
    )
    yield (f"Credit clock {left.setup.clock:g}: a second is a minute of the diagnosis. All orders are simulated.")
    yield truth.kept_up


class PooledJudge:
    """Judges one phase after the other."""

    def __init__(self, plan: PooledPlan, print_line: Callable[[str], None]) -> None:
        """Begin without phases."""
        self._plan, self._print_line = plan, print_line
        self.phases: list[PooledPhaseReport] = []
        self._runs: list[PooledRun] = []
        self._curve: ScalabilityCurve | None = None
        self._taken_ratio: float | None = None

    def size(self, fleet: Fleet) -> PoolSizing:
        """Size the pools of services as `pool-size` does, by the curve that the phases before have shown."""
        return sizing_of(
            fleet, self._curve, connection_max=story.children_of(self._plan.scale), taken_ratio=self._taken_ratio
        )

    def add(self, run: PooledRun, *more: Check) -> bool:
        """
        Judge what Plimsoll says about a phase; further checks are shown with it.

        Returns:
            Whether the phase proves something; if not, neither would the next ones.
        """
        found: Inspection | None = None
        if run.observation is not None:
            found = inspect_observation(run.observation, NO_CEILING)
            self._curve = curve_of(run.observation, budget_of(run.observation)) or self._curve
            if run.phase.expected is Expected.CALM:
                # In a storm a transaction waits between its statements for processors, too.
                self._taken_ratio = taken_ratio(run.observation.glances)
        storm = next((r for r in self._runs if r.phase.expected is Expected.STORM), None)
        report = PooledPhaseReport(
            name=run.phase.name,
            title=run.phase.title,
            action=run.phase.action,
            began_s=run.samples[0].time_s if run.samples else 0.0,
            pooler=pooler_words(run),
            figures=run.figures,
            published=run.phase.published,
            named=() if found is None else tuple(c.title for c in found.causes if c.severity in _LOUD),
            checks=(*more, *checks_of(run, found, storm)),
        )
        self._runs.append(run)
        self.phases.append(report)
        for title in report.named:
            self._print_line(f"  inspect: {title}")
        for check in report.checks:
            if not check.is_right:
                self._print_line(f"  NOT RIGHT, {check.command}: {check.found}; true: {check.expected}")
        reason = void_reason(run)
        if reason:
            self._print_line(f"  {reason}")
        return not reason

    def report(self, versions: str) -> PooledReport:
        """Return the whole experiment."""
        samples: list[PooledSample] = [one for run in self._runs for one in run.samples]
        return PooledReport(
            name=story.NAME,
            title=story.TITLE,
            source=story.SOURCE,
            scale=self._plan.scale,
            machine=machine_of(versions),
            phases=tuple(self.phases),
            samples=tuple(samples),
            notes=tuple(self._notes()),
            phase_count=len(self._plan.phases),
            outcome=outcome_of(self._runs),
            is_void=any(void_reason(run) for run in self._runs),
        )

    def _notes(self) -> Iterator[str]:
        yield from filter(None, map(void_reason, self._runs))
        scale, fleet = self._plan.scale, self._plan.fleet
        yield (
            f"Scale 1:{scale:g}. Connections are a {scale:g}th of the published ones; rates, queries and latencies "
            "are as measured."
        )
        yield (
            f"{fleet.services} services × {fleet.instances} instances × pools of {fleet.pool} = "
            f"{fleet.connections:,} connections at most; the pooler has {story.children_of(scale):,} children. The "
            "post does not give the number of services."
        )
        yield (
            f"Life times and idle limits of the pooler are a {story.TIME_RATIO:g}th of the published ones. All "
            "orders are simulated."
        )
        yield (
            "The services, the pooler and all nodes share the processors of this machine, so queries per second are "
            "those of all of them together."
        )


def void_reason(run: PooledRun) -> str:
    """Return why a phase proves nothing; empty if this machine carried it."""
    if is_disturbed(run):
        return (
            f"{run.phase.title} is void: other programs took {format_ratio(others_of(run))} of this machine's "
            "processors, so its figures are not those of the servers."
        )
    if is_too_slow(run):
        return (
            f"{run.phase.title} is void: {run.figures.done_per_s:.1f} of {run.figures.arrivals_per_s:.1f} business "
            "transactions per second were done, although few arrived. This machine is too slow."
        )
    return ""


def is_too_slow(run: PooledRun) -> bool:
    """Return whether this machine did not even carry the calm phase: then connections pile up in it, too."""
    figures = run.figures
    is_calm = run.phase.expected is Expected.CALM
    return is_calm and figures.done_per_s < _CALM_DONE * figures.arrivals_per_s


def others_of(run: PooledRun) -> float:
    """Return the share of the processors that programs took which are not of the experiment, 0–1."""
    return run.figures.processors.get(OTHERS, 0.0)


def is_disturbed(run: PooledRun) -> bool:
    """Return whether other programs took most of the processors in a phase whose work is compared."""
    return run.phase.expected in _COMPARED and others_of(run) >= _DISTURBED


def sizing_of(
    fleet: Fleet, curve: ScalabilityCurve | None, *, connection_max: int, taken_ratio: float | None = None
) -> PoolSizing:
    """
    Size the pools of services as `pool-size` does.

    Args:
        fleet: the services with their present pools.
        curve: measured throughput by busy sessions; None for the rule of thumb.
        connection_max: the most clients of the pooler.
        taken_ratio: connections that transactions hold for each session at work; None where it is not known.
    """
    services = tuple(
        Service(name=f"service {n}", containers=fleet.instances, pool=fleet.pool) for n in range(1, fleet.services + 1)
    )
    room = ServerCapacity(
        connection_max=connection_max, reserved=1, vcpu_count=os.cpu_count(), curve=curve, taken_ratio=taken_ratio
    )
    return size_pools(services, room)


def pooler_words(run: PooledRun) -> str:
    """Return the pooler and the pools of a phase in words."""
    fleet, phase = run.fleet, run.phase
    build = "without the fix of 2020" if phase.build is story.Build.UNMENDED else "with the fix"
    life_s = phase.life_s / story.TIME_RATIO
    words = f"Pgpool-II {build}, connection_life_time {life_s:g} s"
    if phase.build is story.Build.PGBOUNCER:
        words = f"PgBouncer in transaction mode, {fleet.connections} server connections at most"
    words += f"; {fleet.pool_count} pools of {fleet.pool}"
    if run.sizing is not None:
        words += f", by pool-size ({run.sizing.basis}, target {run.sizing.target})"
    return words


def default_system() -> Path:
    """Return the folder of the pooled cluster in a clone of the repository."""
    return _ROOT / "systems" / story.NAME


def default_unmended() -> Path:
    """Return the program of a Pgpool-II without the fix, which `unmended_script` builds in a clone."""
    return _ROOT / "build" / "pgpool-unmended" / "pgpool"


def unmended_script() -> Path:
    """Return the script of a clone that builds a Pgpool-II without the fix."""
    return _ROOT / ".ci" / "pgpool-unmended"
