"""What services did between two moments."""

from plimsoll_lab.experiments.failover.services import Looked, fleet_of, fleet_words, services_view
from plimsoll_lab.experiments.pooled_cluster.system import ServiceCounts


def test_only_what_happened_between_counts():
    first = ServiceCounts(arrivals=10, done=8, failed={"connection": 1, "conflict": 1}, retries=2)
    last = ServiceCounts(arrivals=30, done=20, failed={"connection": 5, "conflict": 1}, retries=9)
    found = services_view(Looked(at_s=100.0, counts=first), Looked(at_s=120.0, counts=last), [101.0, 113.5, 119.0])

    assert (20, 12, 7) == (found.arrivals, found.done, found.retries)
    assert {"connection": 4} == found.failed
    assert 12.5 == found.gap_s


def test_services_that_do_nothing_have_one_long_gap():
    nothing = ServiceCounts()
    found = services_view(Looked(at_s=1.0, counts=nothing), Looked(at_s=9.0, counts=nothing), [])

    assert (8.0, {}, 0) == (found.gap_s, found.failed, found.done)


def test_the_fleet_is_said_with_its_numbers():
    assert "2 Java services with a HikariCP pool of 3 connections" in fleet_words(fleet_of(2))
