"""The I/O of one's own events: exact sums of the measured samples, divided between nobody."""

import numpy as np
import pytest
from msgspec.structs import replace

import builders
from plimsoll.diagnosis.own_events import own_events_io
from plimsoll.model.metric import Metric
from plimsoll.model.own_event import OwnEvent, OwnEventFile
from plimsoll.model.snapshot import Snapshot
from unit.reports.fixture_diagnosis import CASES

READ, WRITE, OPS = 10e6, 20e6, 500.0
MINUTES = 60
START_S = 1_676_332_800  # 2023-02-14T00:00:00Z
END_S = START_S + 60 * MINUTES


def snapshot(*, gap: slice | None = None) -> Snapshot:
    """An hour of minutes with one rate; `gap` was not measured."""
    time_s = START_S + 60 * np.arange(MINUTES)
    kept = np.ones(MINUTES, dtype=bool)
    if gap is not None:
        kept[gap] = False
    rates = {
        Metric.READ_BYTES_PER_S: READ,
        Metric.WRITE_BYTES_PER_S: WRITE,
        Metric.READ_OPS_PER_S: OPS,
        Metric.WRITE_OPS_PER_S: OPS,
    }
    series = (builders.timed(m, time_s[kept], np.full(int(kept.sum()), v), step_s=60) for m, v in rates.items())
    return builders.snapshot(*series, instance=CASES["pressed"]()[0].instance)


def diagnosis(*bound: tuple[int, int]):
    """At a ceiling in these minutes."""
    made = CASES["pressed"]()[0]
    one = made.intervals[0]
    return replace(
        made,
        window_s=(START_S, END_S),
        intervals=tuple(replace(one, start_s=START_S + 60 * a, end_s=START_S + 60 * b) for a, b in bound),
    )


def event(name: str, start: float, end: float | None, **fields) -> OwnEvent:
    """An event in minutes of the window."""
    end_s = None if end is None else int(START_S + 60 * end)
    return OwnEvent(name=name, start_s=int(START_S + 60 * start), end_s=end_s, **fields)


def judged(*events: OwnEvent, bound: tuple[tuple[int, int], ...] = (), **options):
    file = OwnEventFile(name="events.csv", events=events)
    return own_events_io(file, snapshot(**options), diagnosis(*bound))


def test_an_event_has_the_io_of_its_time_to_the_second():
    """Half a sample counts half; shares are those of the window."""
    (found,) = judged(event("a", 10.5, 15.75)).events

    assert pytest.approx(READ * 315) == found.read_bytes
    assert pytest.approx(WRITE * 315) == found.written_bytes
    assert pytest.approx(2 * OPS * 315) == found.operations
    assert pytest.approx(315 / 3600) == found.share_of_bytes
    assert (315.0, 315.0) == (found.seconds, found.measured_s)


def test_what_was_not_measured_is_not_zero():
    """The sum covers the measured seconds and says how many; without any, nothing is known."""
    part, none = judged(event("a", 0, 20), event("b", 10, 20), gap=slice(10, 20)).events

    assert (1200.0, 600.0) == (part.seconds, part.measured_s)
    assert pytest.approx(READ * 600) == part.read_bytes
    assert (None, None, None) == (none.read_bytes, none.operations, none.share_of_bytes)


def test_events_that_overlap_share_nothing_and_name_each_other():
    """Both have the whole I/O of their time; events that only meet did not run together."""
    found = judged(event("a", 0, 20), event("b", 10, 30), event("c", 30, 40))
    a, b, c = found.events

    assert pytest.approx(a.read_bytes) == b.read_bytes
    assert [("b",), ("a",), ()] == [e.together for e in (a, b, c)]
    assert [1, 1, 0] == [e.together_count for e in (a, b, c)]


def test_time_at_a_ceiling_is_counted_with_and_without_each_name():
    """Runs of one name that overlap count their time once; the rest is what remains without them."""
    found = judged(event("a", 0, 10), event("a", 5, 15), event("b", 30, 40), bound=((8, 20), (35, 37)))
    names = {n.name: n for n in found.names}

    assert [2 * 60, 7 * 60, 2 * 60] == [e.ceiling_s for e in found.events]
    assert (7 * 60, 7 * 60) == (names["a"].ceiling_s, names["a"].ceiling_without_s)
    assert (15 * 60, 2) == (names["a"].seconds, names["a"].count)
    assert (2 * 60, 12 * 60) == (names["b"].ceiling_s, names["b"].ceiling_without_s)
    assert (14 * 60, 5 * 60) == (found.ceiling_s, found.ceiling_without_any_s)
    assert ["a", "b"] == [n.name for n in found.names]


def test_a_moment_has_no_io_and_may_be_at_a_ceiling():
    """A deploy costs nothing that could be counted."""
    during, after = judged(event("d", 9, None), event("d", 30, None), bound=((8, 20),)).events

    assert (None, 0.0, True) == (during.read_bytes, during.seconds, during.is_at_ceiling)
    assert not after.is_at_ceiling


def test_only_the_part_within_the_window_counts():
    """An event that began before or goes on is cut; one that lies outside is counted as left out."""
    found = judged(
        event("before", -30, 10),
        event("running", 50, None, is_running=True),
        event("gone", -30, 0),
        event("later", 60, 70),
    )

    assert [600.0, 600.0] == [e.seconds for e in found.events]
    assert 2 == found.outside_count
    assert START_S - 1800 == found.events[0].start_s


def test_ten_thousand_events_are_judged():
    """The largest file that is read is judged in seconds, with its runs compared pairwise."""
    many = [event(f"task {n % 50}", (n % 600) / 10, (n % 600) / 10 + 0.5) for n in range(10_000)]
    found = judged(*many, bound=((8, 20),))

    assert 10_000 == len(found.events) + found.outside_count
    assert 50 == len(found.names)


def test_without_metrics_nothing_is_claimed():
    """An event of a snapshot without rates has no I/O, known or zero."""
    empty = replace(snapshot(), series={})
    file = OwnEventFile(name="e", events=(event("a", 0, 10),))
    (found,) = own_events_io(file, empty, diagnosis()).events

    assert (None, None) == (found.read_bytes, found.share_of_bytes)
