"""
Play the incident, one phase after the other, on the servers of `ground.py`.

Rule: nothing here judges. Each phase gives what a user could read, and what was counted.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from msgspec import Struct

from plimsoll.model.database import Observation
from plimsoll.model.pool_size import PoolSizing
from plimsoll_lab.experiments.pooled_cluster.database import ROLE, SessionProbe
from plimsoll_lab.experiments.pooled_cluster.figures import TOO_MANY, figures_of, grown, held_s, sample_of
from plimsoll_lab.experiments.pooled_cluster.ground import PooledGround, PooledPlan, prepare
from plimsoll_lab.experiments.pooled_cluster.processors import read_processors, shares_of
from plimsoll_lab.experiments.pooled_cluster.story import PooledPhase, WaitsFor, children_of
from plimsoll_lab.experiments.pooled_cluster.system import Fleet, RunningServices, ServiceCounts
from plimsoll_lab.model.pooled import PooledFigures, PooledProgress, PooledSample
from plimsoll_lab.sessions.session import PrintLine

# The services write their counts once a second.
_STEP_S = 1.0
# Code of the services is compiled, and caches are filled.
_WARM_S = 4.0
# A burst that fills pools, before a phase in which the clients leave again.
_BURST_S = 5.0
# Of the pooler's children: the last ones come slowly, and an inspection warns from nine of ten on.
_FULL = 0.97
# On two processors that others share, each connection takes a tenth of a second to open.
_SETTLE_S = 240.0
# A few business transactions take some more connections than the pools keep.
_QUIET = 1.25
# The third second of a phase: two glances come before.
_CHANGE_STEP = 3


class PooledRun(Struct, frozen=True, kw_only=True):
    """What one phase left."""

    phase: PooledPhase
    fleet: Fleet
    """The services, with the pools of this phase."""
    figures: PooledFigures
    samples: tuple[PooledSample, ...]
    observation: Observation | None
    sizing: PoolSizing | None
    """By which the pools of this phase were sized."""


class PooledEdges(Struct, frozen=True, kw_only=True):
    """What the experiment is handed: telling people, reading the database, sizing pools, judging."""

    report_progress: Callable[[PooledProgress], None]
    print_line: PrintLine
    watch: Callable[[str, str], Callable[[], Observation | None]]
    """Start observing the database of a DSN and the pooler of an address; the returned function ends that."""
    size: Callable[[Fleet], PoolSizing]
    """Size the pools of services for the server of this machine."""
    end_phase: Callable[[PooledRun], bool]
    """Judge a phase; return whether the rest can still prove something."""


def play(plan: PooledPlan, edges: PooledEdges) -> str:
    """
    Play all phases, or those up to one after which nothing can be proved; return the servers in words.

    Args:
        plan: how.
        edges: what is handed in; `end_phase` gets each phase.

    Raises:
        UsageError: Java, make, the system or a build of the pooler is missing, or there is too little memory.
        SourceError: a server or the services did not start, or ended.
    """
    with ExitStack() as stack:
        ground = prepare(plan, edges.print_line, stack)
        stack.callback(ground.end_services)
        probe = stack.enter_context(SessionProbe(ground.dsn, ROLE))
        _StormPlay(plan, ground, edges, probe).run()
        return ground.versions


class _StormPlay:
    def __init__(self, plan: PooledPlan, ground: PooledGround, edges: PooledEdges, probe: SessionProbe) -> None:
        self._plan, self._ground, self._edges, self._probe = plan, ground, edges, probe
        self._fleet = plan.fleet
        self._began_s = time.monotonic()
        self._sizing: PoolSizing | None = None

    def run(self) -> None:
        """Play phase after phase."""
        for number, phase in enumerate(self._plan.phases, 1):
            self._edges.print_line(f"phase {number} of {len(self._plan.phases)}, {phase.title}: {phase.action}")
            sizing = self._sized() if phase.is_sized else None
            self._begin(phase, sizing)
            run = self._played(number, phase, sizing)
            if not self._edges.end_phase(run):
                left = len(self._plan.phases) - number
                if left:
                    self._edges.print_line(f"  phases left out, because they would prove nothing: {left}")
                return

    def _sized(self) -> PoolSizing:
        """Return the sizes of the pools; the same for every phase, so that these can be compared."""
        if self._sizing is None:
            self._sizing = self._edges.size(self._plan.fleet)
        return self._sizing

    def _begin(self, phase: PooledPhase, sizing: PoolSizing | None) -> None:
        """Make what changes at the beginning of a phase."""
        ground = self._ground
        before = self._fleet
        if sizing is not None:
            self._fleet = sized_fleet(self._plan.fleet, sizing)
        # As many connections to the server as through the other pooler.
        is_new = ground.set_pooler(phase.build, phase.life_s, self._fleet.connections)
        services = ground.services
        if is_new or services is None or self._fleet != before:
            services = ground.start_services(self._fleet)
            time.sleep(_WARM_S)
            # A pool that fills looks like a leak, and takes processors that the phase needs.
            self._await(WaitsFor.FILLED)
            if phase.burst_rate:
                services.order(rate=phase.burst_rate, **phase.changes)
                time.sleep(_BURST_S)
        if phase.waits_for is not None:
            services.order(rate=phase.rate, **phase.changes)
            self._await(phase.waits_for)

    def _await(self, state: WaitsFor) -> None:
        """Wait until the connections are as a phase needs them, for a while at most."""
        services = self._ground.services
        assert services is not None
        self._edges.print_line(f"  waiting until {state}")
        until = time.monotonic() + _SETTLE_S
        while time.monotonic() < until:
            time.sleep(_STEP_S)
            services.check()
            seen = sum(self._probe.states)
            if state is WaitsFor.FULL and seen >= _FULL * children_of(self._plan.scale):
                return
            if state is WaitsFor.FILLED and services.counts.now.idle >= kept_of(self._fleet):
                return
            if state is WaitsFor.QUIET and is_quiet(services.counts, self._fleet):
                return

    def _played(self, number: int, phase: PooledPhase, sizing: PoolSizing | None) -> PooledRun:
        ground = self._ground
        assert ground.services is not None
        place = PhasePlace(
            services=ground.services,
            fleet=self._fleet,
            probe=self._probe,
            dsn=ground.dsn,
            pooler_url=ground.pooler_url,
            began_s=self._began_s,
            scale=self._plan.scale,
            number=number,
            count=len(self._plan.phases),
            sizing=sizing,
        )
        return watched(phase, place, self._edges)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePlace:
    """Where a phase passes, and which one it is."""

    services: RunningServices
    fleet: Fleet
    probe: SessionProbe
    dsn: str
    """Of the server that takes writes."""
    pooler_url: str
    began_s: float
    """When the experiment began, on the monotonic clock."""
    scale: float
    number: int = 1
    count: int = 1
    sizing: PoolSizing | None = None


def watched(phase: PooledPhase, place: PhasePlace, edges: PooledEdges) -> PooledRun:
    """
    Let a phase pass, and return what it left.

    Raises:
        SourceError: the services ended.
    """
    services = place.services
    end_watch = edges.watch(place.dsn, place.pooler_url)
    samples: list[PooledSample] = []
    pooled: list[int] = []
    first = before = services.counts
    spent = read_processors()
    began = counted = last_s = time.monotonic()
    try:
        for step in range(1, round(phase.seconds / _STEP_S) + 1):
            # What is watched begins before the change, which would otherwise not be seen.
            if step == _CHANGE_STEP:
                services.order(rate=phase.rate, **phase.changes)
                # Rates are those of the phase, and not of the moment before it.
                counted = time.monotonic()
                first, spent = services.counts, read_processors()
                # In a pile-up an order takes long to arrive; the phase lasts as long after it nevertheless.
                began = counted - (step - 1) * _STEP_S
            time.sleep(max(0.0, began + step * _STEP_S - time.monotonic()))
            services.check()
            now, now_s = services.counts, time.monotonic()
            moment = now_s - place.began_s
            samples.append(sample_of(moment, place.probe.states, now, before, now_s - last_s))
            pooled.append(now.now.connections)
            before, last_s = now, now_s
            edges.report_progress(_progress(phase, place, samples[-1], (first, now), pooled))
        seconds = last_s - counted
        processors = shares_of(spent, read_processors(), seconds)
    finally:
        observation = end_watch()
    return PooledRun(
        phase=phase,
        fleet=place.fleet,
        figures=figures_of(samples, first, before, sum(pooled) / len(pooled), seconds, processors),
        samples=tuple(samples),
        observation=observation,
        sizing=place.sizing,
    )


def _progress(
    phase: PooledPhase,
    place: PhasePlace,
    sample: PooledSample,
    counts: tuple[ServiceCounts, ServiceCounts],
    pooled: list[int],
) -> PooledProgress:
    first, now = counts
    elapsed_s = len(pooled) * _STEP_S
    opened = now.connections_opened - first.connections_opened
    return PooledProgress(
        title=phase.title,
        number=place.number,
        count=place.count,
        scale=place.scale,
        elapsed_s=elapsed_s,
        duration_s=phase.seconds,
        sample=sample,
        waiting=now.now.waiting,
        pooled=now.now.connections,
        refused=grown(now.connections_failed, first.connections_failed).get(TOO_MANY, 0),
        given_up=sum(grown(now.failed, first.failed).values()),
        latency_s_p95=now.latency.since(first.latency).quantile_s(0.95),
        held_s=held_s(sum(pooled) / len(pooled), opened, elapsed_s),
    )


def is_quiet(counts: ServiceCounts, fleet: Fleet) -> bool:
    """Return whether the pools have closed what they do not need, and nothing waits."""
    now = counts.now
    return now.connections <= _QUIET * kept_of(fleet) and not now.waiting and not now.queued


def kept_of(fleet: Fleet) -> int:
    """Return how many idle connections all pools keep."""
    return fleet.pool_count * int(str(fleet.settings["min_idle"]))


def sized_fleet(fleet: Fleet, sizing: PoolSizing) -> Fleet:
    """Return the services with the pools that were recommended; the smallest of them where they differ."""
    pools = [one.pool for one in sizing.recommended]
    pool = min(pools, default=fleet.pool)
    settings = {**fleet.settings, "min_idle": min(pool, int(str(fleet.settings["min_idle"])))}
    return Fleet(services=fleet.services, instances=fleet.instances, pool=pool, settings=settings)
