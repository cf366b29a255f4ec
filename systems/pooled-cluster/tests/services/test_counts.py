"""Counts are sums: they can be added, and one state can be taken from a later one."""

from pooled_cluster.services import Counts, Latency, Now
from pooled_cluster.services.counts import total_of

EARLY = Counts(
    arrivals=10, done=8, failed={"refused": 2}, queries=260,
    latency=Latency(bounds_s=(0.1, 1.0), counts=(6, 8), total=8, sum_s=2.0), now=Now(active=3),
)  # fmt: skip
LATE = Counts(
    arrivals=30, done=26, failed={"refused": 2, "connection": 2}, queries=900,
    latency=Latency(bounds_s=(0.1, 1.0), counts=(6, 20), total=26, sum_s=50.0), now=Now(active=7),
)  # fmt: skip


def test_a_difference_is_what_came_between():
    """Counters are subtracted; what is so now is that of the later state."""
    found = LATE - EARLY

    assert (found.arrivals, found.done, found.queries) == (20, 18, 640)
    assert {"connection": 2} == found.failed
    assert found.refused == 0
    assert Now(active=7) == found.now
    assert Latency(bounds_s=(0.1, 1.0), counts=(0, 12), total=18, sum_s=48.0) == found.latency


def test_a_total_has_all_services():
    """What is so now is added too."""
    found = total_of([EARLY, LATE])

    assert found.arrivals == 40
    assert {"refused": 4, "connection": 2} == found.failed
    assert found.refused == 4
    assert found.now.active == 10
    assert (12, 28) == found.latency.counts


def test_a_percentile_is_the_bound_of_its_step():
    """A percentile above the last bound is infinite, and none is known of nothing."""
    assert LATE.latency.percentile_s(0.2) == 0.1
    assert LATE.latency.percentile_s(0.5) == 1.0
    assert LATE.latency.percentile_s(0.99) == float("inf")
    assert Counts().latency.percentile_s(0.5) is None
