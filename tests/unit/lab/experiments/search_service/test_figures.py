"""What is measured in a phase, from the gate's record and from counters."""

import pytest

from plimsoll_lab.experiments.database import ResponseProbe
from plimsoll_lab.experiments.histogram import CountedBuckets
from plimsoll_lab.experiments.search_service.database import TupleCounters
from plimsoll_lab.experiments.search_service.figures import PhaseWatch, figures_of
from plimsoll_lab.experiments.search_service.system import ServiceCounters
from plimsoll_lab.gate.record import truth_of
from unit.gate.gate_lines import held, lines


def counted(read: float, lag: float) -> ServiceCounters:
    return ServiceCounters(read=read, lag=lag, freshness=CountedBuckets())


def tuples(updated: int, deleted: int) -> TupleCounters:
    return TupleCounters(updated=updated, toast_deleted=deleted, toast_live=95_000)


def watched(service, database, responses_s=()) -> PhaseWatch:
    """A phase with these readings."""
    probe = ResponseProbe("", "", tuple)
    probe.times_s = [9.0]
    readings, counters = iter(service), iter(database)
    watch = PhaseWatch(lambda: next(readings), lambda: next(counters), probe)
    for _ in service[1:]:
        watch.look()
    probe.times_s += responses_s
    return watch


def test_a_phase_is_measured():
    """Rates are means over its time, latency is one of operations, counters are differences times the scale."""
    watch = watched([counted(100, 3), counted(160, 40)], [tuples(10, 50), tuples(30, 150)], [0.01, 0.03, 0.02])
    record = lines(20, latency_s=0.02, binding=held(0.5))
    found = figures_of(record, truth_of(record), watch, clock=60.0, scale=20.0)

    assert 20 == found.minutes
    assert (80e6, 6e6) == (found.read_bytes_per_s, found.write_bytes_per_s)
    assert pytest.approx(0.02) == found.read_latency_s
    assert 10 == found.throttled_minutes
    assert 60 == found.applied_per_s
    assert (3, 40) == (found.lag_start, found.lag_end)
    # The probe's time of before the phase is not one of its own.
    assert 0.02 == found.response_s_p50
    assert 6 == found.dead_tuples_per_update
    # A hundred rows died in twenty minutes, and a vacuum is due at 1,000 of 95,000 and 50.
    assert 200 == found.vacuum_due_minutes


def test_what_was_not_counted_is_unknown():
    """An indexer that never answered, a table without an update, a probe without an answer."""
    record = lines(3)
    watch = watched([None, None], [tuples(10, 50), tuples(10, 50)])
    found = figures_of(record, truth_of(record), watch, clock=60.0, scale=20.0)
    unknown = (
        found.applied_per_s,
        found.lag_start,
        found.lag_end,
        found.response_s_p50,
        found.freshness_s_p99,
        found.dead_tuples_per_update,
        found.vacuum_due_minutes,
    )

    assert (None,) * len(unknown) == unknown
