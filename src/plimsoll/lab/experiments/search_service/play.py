"""
Play the incident, one phase after the other, on the servers of `ground.py`.

Rule 1: nothing here judges. Each phase gives what a user could read, and the gate's own record as the truth.
Rule 2: between two phases hours are skipped: the load goes on, nothing is throttled, and nothing is recorded.
"""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.errors import SourceError
from plimsoll.gate.config import GateSetup
from plimsoll.gate.control import GateStatus
from plimsoll.gate.place import check_machine
from plimsoll.gate.record import MINUTE_S, RecordLine, Truth, snapshot_of, truth_of
from plimsoll.gate.scale import whole_lines, whole_status
from plimsoll.lab.experiments.account import ExperimentAccount
from plimsoll.lab.experiments.figures import PhaseWatch, figures_of
from plimsoll.lab.experiments.search_service import story
from plimsoll.lab.experiments.search_service.database import (
    STATEMENT,
    ResponseProbe,
    ServiceDatabase,
)
from plimsoll.lab.experiments.search_service.ground import Ground, SearchPlan, prepare
from plimsoll.lab.experiments.search_service.story import Segment, StoryPhase, Vacuum
from plimsoll.lab.experiments.timeline import moved
from plimsoll.lab.sessions.session import PrintLine, lines_within, progress_of
from plimsoll.model.ceiling import Family
from plimsoll.model.database import Observation
from plimsoll.model.experiment import ExperimentProgress, PhaseFigures
from plimsoll.model.explain import CaptureFile
from plimsoll.model.snapshot import CreditClock, Snapshot

# The gate records a line each second.
_STEP_S = 1.0
# A forecast from one second alone would jump with every checkpoint (see sessions/session.py).
_RATE_STEPS = 3
# Changes that stand for the hours before a vacuum is due: more than the hundredth at which it is.
_DUE_RATIO = 0.015
# An indexer loads its libraries in this time, and takes a whole processor for it.
_WARM_S = 3.0
# Less than what arrives in a second.
_LAG_SETTLED = 20.0
_CATCH_UP_S = 60.0
_LOOK_S = 0.2
# The emulated phases end before now, as everything in an account does.
_BEFORE_NOW_MINUTES = 5
# Each product that is sold no more has a thousand assets; each phase looks at another one's.
_PRODUCT = "p-gone-{}"
_PRODUCT_ASSETS = 1000


class PhaseRun(Struct, frozen=True, kw_only=True):
    """What one phase left."""

    phase: StoryPhase
    setup: GateSetup
    window_s: tuple[int, int]
    """In emulated time, epoch seconds; as the metrics in the account."""
    snapshot: Snapshot
    """What was written to the account."""
    lines: tuple[RecordLine, ...]
    """The gate's record, of the whole load."""
    truth: Truth
    figures: PhaseFigures
    credit_clock: CreditClock
    observation: Observation | None
    captures: CaptureFile | None


class ExperimentEdges(Struct, frozen=True, kw_only=True):
    """What the experiment is handed: reading the database, and telling people."""

    watch: Callable[[str], Callable[[], Observation | None]]
    """Start observing the database of a DSN; the returned function ends that."""
    explain: Callable[[str, str, str], CaptureFile]
    """Record the plan of a statement with one value, on a DSN."""
    report_progress: Callable[[ExperimentProgress], None]
    print_line: PrintLine
    end_phase: Callable[[PhaseRun, ExperimentAccount], None]
    """Called after each phase, while the load goes on."""


def play(plan: SearchPlan, facts: Catalog, edges: ExperimentEdges) -> str:
    """
    Play all phases, and return the servers in words.

    Args:
        plan: how.
        facts: the documented limits.
        edges: what is handed in; `end_phase` gets each phase.

    Raises:
        UsageError: FUSE, Java, Maven, make or the service is missing, or there is too little space.
        SourceError: a server or a program of the service did not start, or ended.
    """
    check_machine()
    with ExitStack() as stack:
        ground = prepare(plan, facts, edges.print_line, stack)
        _Play(plan, ground, edges, stack).run()
        return ground.versions


class _Play:
    def __init__(
        self, plan: SearchPlan, ground: Ground, edges: ExperimentEdges, stack: ExitStack
    ) -> None:
        self._plan, self._ground, self._edges = plan, ground, edges
        self._setup = ground.setup
        dsn = ground.server.dsn
        self._database = stack.enter_context(ServiceDatabase(dsn))
        self._probe = stack.enter_context(ResponseProbe(dsn, plan.assets, seed=1))
        self._pool = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        self._is_dirty_tracking: bool | None = None
        minutes = _BEFORE_NOW_MINUTES + sum(phase.minutes for phase in plan.phases)
        self._next_s = (int(time.time() // MINUTE_S) - minutes) * MINUTE_S

    def run(self) -> None:
        """Play phase after phase."""
        self._ground.service.start_load(*self._plan.catalog)
        for number, phase in enumerate(self._plan.phases, 1):
            self._begin(number, phase)
            run = self._recorded(number, phase)
            self._ground.account.put(run.snapshot)
            self._edges.end_phase(run, self._ground.account)

    def _begin(self, number: int, phase: StoryPhase) -> None:
        """Make what changes at the beginning of a phase, and skip the hours before it."""
        ground = self._ground
        count = len(self._plan.phases)
        self._edges.print_line(f"phase {number} of {count}, {phase.title}: {phase.action}")
        before = self._setup.instance
        if phase.instance != before or phase.is_restart:
            ground.gate.change(phase.instance, is_restart=phase.is_restart)
            ground.account.describe(story.with_version(phase.instance, ground.server.version))
            is_today = phase.is_restart or phase.instance.db_class != before.db_class
            legacy = False if is_today else self._setup.legacy
            self._setup = replace(self._setup, instance=phase.instance, legacy=legacy)
        ground.gate.set_limited(is_limited=False)
        self._database.set_vacuum(Vacuum.OFF)
        if phase.is_dirty_tracking is not self._is_dirty_tracking:
            ground.service.start_indexer(is_dirty_tracking=phase.is_dirty_tracking)
            self._is_dirty_tracking = phase.is_dirty_tracking
            time.sleep(_WARM_S)
        self._set_rate(phase.segments[0])
        self._catch_up()
        if phase.is_vacuum_due:
            self._database.tidy()
            ground.service.order(kind="asset text", count=int(self._plan.assets * _DUE_RATIO))
            time.sleep(_STEP_S)
            self._catch_up()
        ground.gate.set_limited(is_limited=True)

    def _set_rate(self, segment: Segment) -> None:
        rate = segment.share_of_rate * self._plan.events_per_s / self._plan.scale
        self._ground.service.order(rate=rate)

    def _catch_up(self) -> None:
        """Wait until events are applied as they come, for a while at most."""
        end = time.monotonic() + _CATCH_UP_S
        while time.monotonic() < end:
            self._ground.service.check()
            counters = self._ground.service.counters()
            if counters is not None and counters.lag < _LAG_SETTLED:
                return
            time.sleep(_LOOK_S)

    def _recorded(self, number: int, phase: StoryPhase) -> PhaseRun:
        """Let a phase pass, and return what it left."""
        plan, ground = self._plan, self._ground
        end_watch = self._edges.watch(ground.server.dsn)
        watch = PhaseWatch(ground.service.counters, self._database.counters, self._probe)
        began_s = time.time()
        captured: list[Future[CaptureFile]] = []
        try:
            for segment in phase.segments:
                self._database.set_vacuum(segment.vacuum)
                self._set_rate(segment)
                self._set_credits(segment)
                self._pass(number, phase, segment, watch, captured)
        finally:
            observation = end_watch()
        ended_s = time.time()
        watch.look()
        lines = whole_lines(lines_within(ground.gate.lines(), began_s, ended_s), plan.scale)
        truth = truth_of(lines)
        snapshot, clock = moved(snapshot_of(lines, self._setup), self._next_s)
        window_s = (self._next_s, self._next_s + phase.minutes * MINUTE_S)
        self._next_s = window_s[1]
        captures = None
        with suppress(SourceError):
            captures = captured[-1].result() if captured else None
        return PhaseRun(
            phase=phase,
            setup=self._setup,
            window_s=window_s,
            snapshot=snapshot,
            lines=tuple(lines),
            truth=truth,
            figures=figures_of(lines, truth, watch, plan.clock, plan.scale),
            credit_clock=clock,
            observation=observation,
            captures=captures,
        )

    def _set_credits(self, segment: Segment) -> None:
        if segment.credits is not None:
            family = Family.INSTANCE_EBS_THROUGHPUT
            self._ground.gate.set_balance(family, segment.credits)

    def _pass(
        self,
        number: int,
        phase: StoryPhase,
        segment: Segment,
        watch: PhaseWatch,
        captured: list[Future[CaptureFile]],
    ) -> None:
        """Let a segment pass; in the middle of it the plan of a statement is recorded."""
        plan, ground = self._plan, self._ground
        length_s = segment.minutes * MINUTE_S / plan.clock
        began, recent = time.monotonic(), deque[GateStatus](maxlen=_RATE_STEPS)
        done_s = watch.looks * _STEP_S
        product = _PRODUCT.format(plan.products // _PRODUCT_ASSETS + number % 5)
        is_captured = False
        # Autovacuum notices within some seconds that a vacuum is due; credits that came in them are spent again.
        is_begun = segment.vacuum is Vacuum.OFF
        for step in range(1, round(length_s / _STEP_S) + 1):
            time.sleep(max(0.0, began + step * _STEP_S - time.monotonic()))
            ground.service.check()
            watch.look()
            if not is_begun and self._database.is_vacuuming():
                self._set_credits(segment)
                is_begun = True
            if not is_captured and 2 * step * _STEP_S > length_s:
                dsn = ground.server.dsn
                captured.append(self._pool.submit(self._edges.explain, dsn, STATEMENT, product))
                is_captured = True
            status = whole_status(ground.gate.status(), plan.scale)
            recent.append(status)
            self._edges.report_progress(
                ExperimentProgress(
                    title=phase.title,
                    number=number,
                    count=len(plan.phases),
                    scale=plan.scale,
                    storage=progress_of(
                        status,
                        recent=recent,
                        elapsed_s=done_s + step * _STEP_S,
                        duration_s=phase.minutes * MINUTE_S / plan.clock,
                        transactions_per_s=None,
                    ),
                    lag=watch.lag,
                    response_s=self._probe.times_s[-1] if self._probe.times_s else None,
                )
            )
