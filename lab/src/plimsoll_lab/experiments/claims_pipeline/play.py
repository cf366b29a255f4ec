"""
Play the incident, one phase after the other, on the servers of `ground.py`.

Rule 1: nothing here judges. Each phase gives what a user could read, and the gate's own record as the truth.
Rule 2: between two phases time is skipped: tables are emptied, nothing is throttled, and nothing is recorded.
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack

from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.errors import SourceError
from plimsoll.model.ceiling import Family
from plimsoll_lab.experiments.claims_pipeline import story
from plimsoll_lab.experiments.claims_pipeline.claims import member_count
from plimsoll_lab.experiments.claims_pipeline.database import RESPONSE, ClaimsDatabase
from plimsoll_lab.experiments.claims_pipeline.ground import ClaimsGround, ClaimsPlan, history_bytes, prepare
from plimsoll_lab.experiments.claims_pipeline.jobs import Batch, BatchPace, Jobs, JobTimes, WorkerDisk
from plimsoll_lab.experiments.claims_pipeline.story import ClaimsPhase, LoadPath
from plimsoll_lab.experiments.database import ResponseProbe
from plimsoll_lab.experiments.figures import storage_figures
from plimsoll_lab.experiments.phases import ExperimentEdges, PhaseRun, PhaseStage, RecordedPhase
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.place import check_machine
from plimsoll_lab.gate.record import MINUTE_S
from plimsoll_lab.model.experiment import ExperimentFigures


class ClaimsEdges(ExperimentEdges, frozen=True, kw_only=True):
    """What the experiment is handed besides: a pace for its jobs."""

    pace: Callable[[Gate, GateSetup, str], AbstractContextManager[BatchPace]]
    """Start the pace of a batch, by a gate, its setup and the DSN of the database."""


def play(plan: ClaimsPlan, facts: Catalog, edges: ClaimsEdges) -> str:
    """
    Play all phases, and return the servers in words.

    Args:
        plan: how.
        facts: the documented limits.
        edges: what is handed in; `end_phase` gets each phase.

    Raises:
        UsageError: FUSE or a server is missing, or there is too little memory or space.
        SourceError: a server did not start or ended, or the jobs took too long.
    """
    check_machine()
    with ExitStack() as stack:
        ground = prepare(plan, facts, edges.print_line, stack)
        _ClaimsPlay(plan, ground, edges, stack).run()
        return ground.versions


class _ClaimsPlay:
    def __init__(self, plan: ClaimsPlan, ground: ClaimsGround, edges: ClaimsEdges, stack: ExitStack) -> None:
        self._plan, self._ground, self._edges = plan, ground, edges
        dsn = ground.server.dsn
        self._database = stack.enter_context(ClaimsDatabase(dsn))
        chance = random.Random(1)  # noqa: S311 - choices of an experiment
        members = member_count(history_bytes())
        self._probe = stack.enter_context(
            ResponseProbe(
                dsn, RESPONSE, lambda: (1 + chance.randrange(story.ORGANISATIONS), 1 + chance.randrange(members))
            )
        )
        minutes = sum(phase.most_minutes for phase in plan.phases)
        self._stage = PhaseStage(ground.gate, ground.account, ground.setup, ground.server.version, minutes)

    def run(self) -> None:
        """Play phase after phase."""
        for number, phase in enumerate(self._plan.phases, 1):
            count = len(self._plan.phases)
            self._edges.print_line(f"phase {number} of {count}, {phase.title}: {phase.action}")
            self._stage.change(phase)
            self._stage.set_limited(is_limited=False)
            self._database.empty()
            self._stage.set_limited(is_limited=True)
            run = self._recorded(number, phase)
            self._ground.account.put(run.snapshot)
            self._edges.end_phase(run, self._ground.account)

    def _recorded(self, number: int, phase: ClaimsPhase) -> PhaseRun:
        """Let the jobs of a phase run, and return what it left."""
        plan, ground = self._plan, self._ground
        with ExitStack() as stack:
            pace = None
            if phase.path is LoadPath.PACED:
                self._stage.set_credits(phase.credits)
                pace = stack.enter_context(self._edges.pace(ground.gate, self._stage.setup, ground.server.dsn))
            responses = len(self._probe.times_s)
            self._stage.set_credits(phase.credits)
            began_s = time.time()
            jobs = stack.enter_context(Jobs(self._batch(phase, pace)))
            minutes = self._wait(number, phase, jobs)
            ended_s = time.time()
            times = jobs.times()
        recorded = self._stage.recorded(began_s, ended_s, minutes)
        figures = storage_figures(recorded.lines, recorded.truth, self._probe.times_s[responses:], plan.clock)
        return PhaseRun(
            phase=phase,
            setup=self._stage.setup,
            window_s=recorded.window_s,
            snapshot=recorded.snapshot,
            lines=recorded.lines,
            truth=recorded.truth,
            figures=_with_jobs(figures, recorded, times, phase, plan.clock),
            credit_clock=recorded.credit_clock,
        )

    def _batch(self, phase: ClaimsPhase, pace: BatchPace | None) -> Batch:
        ground = self._ground
        return Batch(
            dsn=ground.server.dsn,
            files=ground.files[: phase.organisations],
            path=phase.path,
            are_views_refreshed=phase.are_views_refreshed,
            worker=WorkerDisk(story.WORKER_BYTES_PER_S / self._plan.scale),
            worker_folder=ground.worker_folder,
            pace=pace,
        )

    def _wait(self, number: int, phase: ClaimsPhase, jobs: Jobs) -> int:
        """Wait for the jobs, second by second, and return the emulated minutes that passed."""
        began, minutes = time.monotonic(), 0
        minute_s = MINUTE_S / self._plan.clock
        progress = self._stage.progress(phase.most_minutes * minute_s)
        while not (jobs.are_done and minutes >= phase.least_minutes):
            if minutes >= phase.most_minutes:
                raise SourceError(
                    f"the jobs were not done after {phase.most_minutes} emulated minutes",
                    "This machine is too slow or too busy; end other programs, or use a larger N in --scale 1:N.",
                )
            minutes += 1
            time.sleep(max(0.0, began + minutes * minute_s - time.monotonic()))
            jobs.check()
            self._edges.report_progress(
                progress.look(
                    minutes * minute_s,
                    title=phase.title,
                    number=number,
                    count=len(self._plan.phases),
                    response_s=self._probe.times_s[-1] if self._probe.times_s else None,
                    work=jobs.words,
                )
            )
        # The steps are late on a busy machine, and the last of them may be over by more than a minute.
        return max(minutes, int((time.monotonic() - began) / minute_s))


def _with_jobs(
    figures: ExperimentFigures, recorded: RecordedPhase, times: Sequence[JobTimes], phase: ClaimsPhase, clock: float
) -> ExperimentFigures:
    """Return the figures with those of the jobs, in emulated minutes, and of the credits."""
    minute_s = MINUTE_S / clock
    balances = recorded.balances_of(Family.INSTANCE_EBS_THROUGHPUT.value)
    loading = max((one.loaded_s / minute_s for one in times), default=None)
    refresh = max(((one.done_s - one.loaded_s) / minute_s for one in times), default=None)
    return replace(
        figures,
        loading_minutes=loading,
        refresh_minutes=refresh if phase.are_views_refreshed else None,
        jobs_minutes=max((one.done_s / minute_s for one in times), default=None),
        byte_balance_start=phase.credits,
        byte_balance_min=min(balances, default=None),
    )
