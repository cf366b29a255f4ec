"""
Play the incident, one phase after the other, on the servers of `ground.py`.

Rule 1: nothing here judges. Each phase gives what a user could read, and the gate's own record as the truth.
Rule 2: between two phases hours are skipped: the load goes on, nothing is throttled, and nothing is recorded.
"""

import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress

from plimsoll.catalog.load import Catalog
from plimsoll.errors import SourceError
from plimsoll.model.database import Observation
from plimsoll.model.explain import CaptureFile
from plimsoll_lab.experiments.database import ResponseProbe
from plimsoll_lab.experiments.phases import STEP_S, ExperimentEdges, PhaseRun, PhaseStage
from plimsoll_lab.experiments.search_service.database import RESPONSE, STATEMENT, ServiceDatabase
from plimsoll_lab.experiments.search_service.figures import PhaseWatch, figures_of
from plimsoll_lab.experiments.search_service.ground import SearchGround, SearchPlan, prepare
from plimsoll_lab.experiments.search_service.story import Segment, StoryPhase, Vacuum
from plimsoll_lab.gate.place import check_machine
from plimsoll_lab.gate.record import MINUTE_S

# Changes that stand for the hours before a vacuum is due: more than the hundredth at which it is.
_DUE_RATIO = 0.015
# An indexer loads its libraries in this time, and takes a whole processor for it.
_WARM_S = 3.0
# Less than what arrives in a second.
_LAG_SETTLED = 20.0
_CATCH_UP_S = 60.0
_LOOK_S = 0.2
# Each product that is sold no more has a thousand assets; each phase looks at another one's.
_PRODUCT = "p-gone-{}"
_PRODUCT_ASSETS = 1000


class SearchEdges(ExperimentEdges, frozen=True, kw_only=True):
    """What the experiment is handed besides: reading the database."""

    watch: Callable[[str], Callable[[], Observation | None]]
    """Start observing the database of a DSN; the returned function ends that."""
    explain: Callable[[str, str, str], CaptureFile]
    """Record the plan of a statement with one value, on a DSN."""


def play(plan: SearchPlan, facts: Catalog, edges: SearchEdges) -> str:
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
    def __init__(self, plan: SearchPlan, ground: SearchGround, edges: SearchEdges, stack: ExitStack) -> None:
        self._plan, self._ground, self._edges = plan, ground, edges
        dsn = ground.server.dsn
        self._database = stack.enter_context(ServiceDatabase(dsn))
        choice = random.Random(1)  # noqa: S311 - choices of an experiment
        self._probe = stack.enter_context(ResponseProbe(dsn, RESPONSE, lambda: (f"a-{choice.randrange(plan.assets)}",)))
        self._pool = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        self._is_dirty_tracking: bool | None = None
        minutes = sum(phase.minutes for phase in plan.phases)
        self._stage = PhaseStage(ground.gate, ground.account, ground.setup, ground.server.version, minutes)

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
        self._stage.change(phase)
        self._stage.set_limited(is_limited=False)
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
            time.sleep(STEP_S)
            self._catch_up()
        self._stage.set_limited(is_limited=True)

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
                self._stage.set_credits(segment.credits)
                self._pass(number, phase, segment, watch, captured)
        finally:
            observation = end_watch()
        ended_s = time.time()
        watch.look()
        recorded = self._stage.recorded(began_s, ended_s, phase.minutes)
        captures = None
        with suppress(SourceError):
            captures = captured[-1].result() if captured else None
        return PhaseRun(
            phase=phase,
            setup=self._stage.setup,
            window_s=recorded.window_s,
            snapshot=recorded.snapshot,
            lines=recorded.lines,
            truth=recorded.truth,
            figures=figures_of(recorded.lines, recorded.truth, watch, plan.clock, plan.scale),
            credit_clock=recorded.credit_clock,
            observation=observation,
            captures=captures,
        )

    def _pass(
        self, number: int, phase: StoryPhase, segment: Segment, watch: PhaseWatch, captured: list[Future[CaptureFile]]
    ) -> None:
        """Let a segment pass; in the middle of it the plan of a statement is recorded."""
        plan, ground = self._plan, self._ground
        length_s = segment.minutes * MINUTE_S / plan.clock
        began = time.monotonic()
        progress = self._stage.progress(phase.minutes * MINUTE_S / plan.clock)
        done_s = watch.looks * STEP_S
        product = _PRODUCT.format(plan.products // _PRODUCT_ASSETS + number % 5)
        is_captured = False
        # Autovacuum notices within some seconds that a vacuum is due; credits that came in them are spent again.
        is_begun = segment.vacuum is Vacuum.OFF
        for step in range(1, round(length_s / STEP_S) + 1):
            time.sleep(max(0.0, began + step * STEP_S - time.monotonic()))
            ground.service.check()
            watch.look()
            if not is_begun and self._database.is_vacuuming():
                self._stage.set_credits(segment.credits)
                is_begun = True
            if not is_captured and 2 * step * STEP_S > length_s:
                dsn = ground.server.dsn
                captured.append(self._pool.submit(self._edges.explain, dsn, STATEMENT, product))
                is_captured = True
            self._edges.report_progress(
                progress.look(
                    done_s + step * STEP_S,
                    title=phase.title,
                    number=number,
                    count=len(plan.phases),
                    response_s=self._probe.times_s[-1] if self._probe.times_s else None,
                    lag=watch.lag,
                )
            )
