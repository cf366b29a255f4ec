"""What was counted in a phase, from two readings of the services and the samples between."""

import pytest
from msgspec.structs import replace

from plimsoll.model.pool_size import ServerCapacity, Service
from plimsoll.pools.pool_size import size_pools
from plimsoll_lab.experiments.pooled_cluster.figures import carried_per_s, figures_of, grown, held_s, sample_of
from plimsoll_lab.experiments.pooled_cluster.play import is_quiet, sized_fleet
from plimsoll_lab.experiments.pooled_cluster.story import fleet_of
from plimsoll_lab.experiments.pooled_cluster.system import ServiceCounts, ServiceLatency, ServiceNow

FIRST = ServiceCounts(
    arrivals=100,
    done=90,
    failed={"no_answer": 2},
    queries=3000,
    queries_useful=2900,
    connections_opened=50,
    connections_failed={"too_many_clients": 1},
    latency=ServiceLatency(bounds_s=(0.1, 1.0), counts=(90, 90), total=90),
)
LAST = replace(
    FIRST,
    arrivals=300,
    done=110,
    failed={"no_answer": 52, "refused": 3},
    queries=4000,
    queries_useful=3540,
    connections_opened=150,
    connections_failed={"too_many_clients": 21, "connection": 4},
    latency=ServiceLatency(bounds_s=(0.1, 1.0), counts=(95, 110), total=110),
)


def test_a_sample_has_rates_between_two_readings():
    """Counts since the reading before, by the seconds between; sessions as they are."""
    sample = sample_of(7.0, (1, 2, 3, 4), LAST, FIRST, 2.0)

    assert (100.0, 10.0, 500.0) == (sample.arrivals_per_s, sample.done_per_s, sample.queries_per_s)
    assert 10 == sample.connections


def test_figures_are_of_the_phase_alone():
    """What was counted before it does not count; the most of each state may be at different moments."""
    samples = [sample_of(1.0, (9, 1, 0, 0), FIRST, FIRST, 1.0), sample_of(2.0, (1, 8, 6, 0), LAST, FIRST, 1.0)]
    found = figures_of(samples, FIRST, LAST, pooled_mean=20.0, seconds=10.0, processors={})

    assert (15, 15, 9, 8, 6) == (
        found.connections_max,
        found.connections_end,
        found.active_max,
        found.idle_max,
        found.in_transaction_max,
    )
    assert (20.0, 2.0, 100.0, 64.0) == (found.arrivals_per_s, found.done_per_s, found.queries_per_s, found.useful_per_s)
    assert {"no_answer": 50, "refused": 3} == found.given_up
    assert (20, 100) == (found.refused, found.opened)
    assert (1.0, 1.0) == (found.latency_s_p50, found.latency_s_p95)


def test_a_connection_is_held_by_littles_law():
    """20 on average, 10 opened each second: 2 s each. Longer than was watched, or without arrivals, it is not known."""
    assert pytest.approx(2.0) == held_s(20.0, 100, 10.0)
    assert held_s(200.0, 10, 10.0) is None
    assert held_s(200.0, 0, 10.0) is None


def test_a_machine_carries_what_its_processors_can_pay_for():
    """15 per second take three tenths of them, and others a tenth: nine tenths are three times as much."""
    figures = figures_of(
        [sample_of(1.0, (1, 0, 0, 0), LAST, FIRST, 1.0)],
        FIRST,
        LAST,
        pooled_mean=1.0,
        seconds=1.0,
        processors={"PostgreSQL": 0.2, "Pgpool-II": 0.1, "Plimsoll": 0.06, "other programs": 0.04},
    )

    assert pytest.approx(60.0) == carried_per_s(replace(figures, done_per_s=20.0))
    assert carried_per_s(replace(figures, done_per_s=0.0)) is None
    assert carried_per_s(replace(figures, processors={"Plimsoll": 0.5})) is None


def test_only_what_has_grown_is_given():
    """A reason that came in this phase, and none that was before."""
    assert {"b": 2, "c": 1} == grown({"a": 4, "b": 3, "c": 1}, {"a": 4, "b": 1})


def test_services_get_the_recommended_pool():
    """28 pools on a machine that runs 84 sessions get 3 each, and keep no more idle ones."""
    fleet = fleet_of(10.0)
    asked = tuple(Service(name=str(n), containers=fleet.instances, pool=fleet.pool) for n in range(fleet.services))
    found = sized_fleet(fleet, size_pools(asked, ServerCapacity(vcpu_count=42)))
    one = sized_fleet(fleet, size_pools(asked, ServerCapacity(vcpu_count=1)))

    assert (3, 2) == (found.pool, found.settings["min_idle"])
    assert (1, 1) == (one.pool, one.settings["min_idle"])


@pytest.mark.parametrize(
    ("connections", "waiting", "queued", "is_so"),
    [(56, 0, 0, True), (70, 0, 0, True), (71, 0, 0, False), (56, 1, 0, False), (56, 0, 1, False)],
)
def test_services_are_quiet_with_few_connections_and_nobody_who_waits(connections, waiting, queued, is_so):
    """28 pools keep two idle connections each; a quarter more may be at work."""
    now = ServiceNow(connections=connections, waiting=waiting, queued=queued)

    assert is_so is is_quiet(ServiceCounts(now=now), fleet_of(10.0))
