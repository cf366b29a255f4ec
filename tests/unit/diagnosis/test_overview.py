"""One row per instance, and their rank."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.diagnosis.overview import overview_of, overview_row, rank_key
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Forecast, Missing, Verdict
from plimsoll.model.overview import OverviewRow, RemainingAmount, UnreadInstance
from unit.reports.fixture_diagnosis import TIME_AT, pressed, quiet, unknown
from unit.reports.fixture_fleet import NO_CLASS, NO_RATES, WINDOW, bound, fleet, near, row
from unit.reports.fixture_parts import (
    CEILINGS,
    CPU,
    DAY,
    DAY_S,
    LEGACY_BASELINE,
    LEGACY_BURST,
    MEMORY,
    NIGHT,
    START_S,
    VOLUME_IOPS,
    interval,
    resource,
)

END_S = START_S + DAY_S


def changed(value, **fields):
    """The value with other fields."""
    return msgspec.structs.replace(value, **fields)


def row_of(made=pressed, **fields):
    """The row of a hand-made diagnosis with other fields."""
    return overview_row(changed(made()[0], **fields))


def forecast(family, ratio, empty_in_s):
    """A forecast of a balance or a space."""
    return Forecast(
        family=family, balance_ratio=ratio, change_per_s=-1e-5, empty_in_s=empty_in_s,
        empty_in_s_low=None, empty_in_s_high=None, text="",
    )  # fmt: skip


def held_until(end_s, **fields):
    """A row of an instance held at its legacy baseline until then."""
    pegged = interval(end_s - 7200, end_s, LEGACY_BASELINE, level=212.6e6)
    at = changed(TIME_AT[0], seconds=7200.0)
    return row_of(intervals=(pegged,), time_at=(at,), binding=at, **fields)


def test_the_binding_ceiling_comes_with_number_time_and_share():
    """Family, phase, the documented value, time at it, its share of the measured time, first and last."""
    binding = row_of(measured_s=DAY_S / 2).binding

    assert (Family.INSTANCE_EBS_THROUGHPUT, Phase.LEGACY, Phase.BASELINE) == (
        binding.family,
        binding.phase,
        binding.former_phase,
    )
    assert 212.5e6 == binding.value
    assert (DAY[1] - DAY[0], 1) == (binding.seconds, binding.interval_count)
    assert 2 * (DAY[1] - DAY[0]) / DAY_S == pytest.approx(binding.share_ratio)
    assert DAY == (binding.first_s, binding.last_s)


def test_first_and_last_are_those_of_this_ceiling():
    """Intervals at another ceiling do not count; an unknown limit has the level that was served."""
    burst, unknown_limit = (row_of(binding=at).binding for at in TIME_AT[1:3])

    assert (NIGHT[0][0], NIGHT[1][1]) == (burst.first_s, burst.last_s)
    assert LEGACY_BURST.value == burst.value
    assert (Family.UNKNOWN, 81.3e6) == (unknown_limit.family, unknown_limit.value)
    assert START_S + 70_020 == unknown_limit.first_s


def test_unknown_limits_are_distinguished_by_their_level():
    """An interval at another unknown level is not one at this level."""
    undocumented = {"family": Family.UNKNOWN, "ceiling": None}
    low, high = (
        interval(start_s, start_s + 600, LEGACY_BASELINE, level=level, **undocumented)
        for start_s, level in ((START_S, 50e6), (START_S + 80_000, 90e6))
    )
    at = changed(TIME_AT[2], level=50e6, seconds=600.0, interval_count=1)
    binding = row_of(intervals=(low, high), time_at=(at,), binding=at).binding

    assert (START_S, START_S + 600) == (binding.first_s, binding.last_s)


@pytest.mark.parametrize(
    ("step_s", "ago_s", "is_now"),
    [
        (60, 0, True),
        (60, 300, True),
        (60, 301, False),
        (300, 300, True),
        (1, 10, True),
        (1, 11, False),
        (3600, 3600, True),
    ],
)
def test_now_is_the_end_of_the_window(step_s, ago_s, is_now):
    """
    An interval that reaches within a step of the last sample is open, of short steps within five
    minutes or ten steps.
    """
    assert is_now == (held_until(END_S - ago_s, step_s=step_s).now is not None)


def test_now_may_be_at_another_ceiling():
    """An instance that spent the day at one ceiling may end it at another."""
    late = interval(END_S - 600, END_S, LEGACY_BURST, level=437e6)
    found = row_of(intervals=(*pressed()[0].intervals, late))

    assert 212.5e6 == found.binding.value
    assert 437.5e6 == found.now.value


def test_where_a_ceiling_bound_no_other_resource_is_nearest():
    """The nearest resource is reported only for an instance that no ceiling throttled."""
    others = pressed()[0].resources[1:]

    assert row_of().nearest is None
    assert "instance EBS IOPS" == row_of(binding=None, resources=others).nearest.name


def test_the_nearest_is_one_that_is_near_before_one_with_a_larger_share():
    """A verdict of near weighs more than a ratio: what is near was near for more than a moment."""
    at_once = resource(Family.CPU, Verdict.SLACK, "CPU", CPU, 1.0, 0.3, 0.2, 1.0)
    close = resource(Family.VOLUME_IOPS, Verdict.NEAR, "volume IOPS", VOLUME_IOPS, 27_000.0, 26_000.0, 9e3, 90.0)
    found = row_of(quiet, resources=(at_once, close)).nearest

    assert ("volume IOPS", Verdict.NEAR) == (found.name, found.verdict)
    assert (0.9, 3000.0, "ops/s") == (found.peak_ratio, found.headroom, found.unit)


USED = resource(Family.MEMORY, Verdict.SLACK, "memory", MEMORY, 6e10, 6e10, 6e10, 1440.0)
BUSY = resource(Family.CPU, Verdict.SLACK, "CPU", CPU, 0.4, 0.3, 0.2, 0.0)
UNMEASURED = resource(Family.CPU, Verdict.UNKNOWN, "CPU", CPU, None, None, None, None)
UNLIMITED = resource(Family.NETWORK, Verdict.UNKNOWN, "network", None, 1e9, 1e9, 1e8, None)


@pytest.mark.parametrize(
    ("resources", "name"),
    [
        # A database fills memory on purpose; only too little of it is worth a word.
        ((USED, BUSY), "CPU"),
        ((changed(USED, verdict=Verdict.NEAR), BUSY), "memory"),
        # Without a ceiling or a measurement there is no share to compare.
        ((UNMEASURED, UNLIMITED), None),
    ],
)
def test_the_nearest_is_what_is_worth_a_word(resources, name):
    """Memory only when it is near, and nothing that was not measured."""
    found = row_of(quiet, resources=resources).nearest

    assert name == (found and found.name)


def test_the_lowest_balance_is_reported_and_space_apart_from_it():
    """
    Credits and space are different things: the lowest balance, and what fills soonest; without a
    forecast nothing, and space that is not filling has no end.
    """
    found = row_of(
        forecasts=(
            forecast(Family.INSTANCE_EBS_THROUGHPUT, 0.6, 3600.0),
            forecast(Family.VOLUME_IOPS, 0.2, None),
            forecast(Family.STORAGE_SPACE, 0.1, 86_400.0),
            forecast(Family.LOCAL_STORAGE, 0.3, 7200.0),
        )
    )
    still = row_of(forecasts=(forecast(Family.STORAGE_SPACE, 0.5, None),))

    assert RemainingAmount(family=Family.VOLUME_IOPS, ratio=0.2, empty_in_s=None) == found.credits_left
    assert (Family.LOCAL_STORAGE, 7200.0) == (found.space_left.family, found.space_left.empty_in_s)
    assert (None, None) == (still.credits_left, still.space_left)


def test_the_worst_latency_is_compared_with_that_of_calm_hours():
    """Seven times as long is 7; an interval without either latency says nothing."""
    assert pytest.approx(7.0) == row_of().latency_ratio
    mute = tuple(changed(i, latency_s=None) for i in pressed()[0].intervals)
    assert row_of(intervals=mute).latency_ratio is None


def test_gaps_are_those_that_hide_the_verdict_or_the_limits():
    """A gap that hides neither stays in the report of the instance."""
    small = Missing(name="CPUUtilization", hides="CPU", remedy="Export it.")

    assert (NO_RATES, NO_CLASS) == row_of(missing=(NO_RATES, small, NO_CLASS)).gaps
    assert () == row_of().gaps


def test_contexts_come_by_the_time_they_explain():
    """What explains most of the time at ceilings is reported first; each once."""
    text = ("lazy loading after a restore", "storage optimisation after a change of storage")

    assert (text[1], text[0]) == row_of().contexts


def test_nothing_measured_is_a_row_too():
    """An instance without storage metrics has a row that claims nothing."""
    found = overview_row(unknown()[0])

    assert Verdict.UNKNOWN == found.verdict
    assert (None, None, None) == (found.binding, found.now, found.credits_left)


def test_samples_that_end_early_say_nothing_of_now():
    """Bound at the end of its own samples is not bound now, when those end an hour before the others."""
    old = held_until(END_S)
    fresh, late = (
        overview_of([old], (), window_s=(START_S, END_S + more_s), source="x").rows[0] for more_s in (900, 901)
    )

    assert (old.now, False) == (fresh.now, fresh.ends_early)
    assert (None, True) == (late.now, late.ends_early)


def test_what_should_have_been_measured_is_the_window_that_was_asked_for():
    """Without a window asked for it is that of the instance's own samples: a folder may hold two years."""
    own = row_of()
    asked, unasked = (
        overview_of([own], (), window_s=window_s, source="x").rows[0].expected_s
        for window_s in ((END_S - 3 * DAY_S, END_S), None)
    )

    assert (3 * DAY_S, DAY_S) == (asked, unasked)


def test_the_window_is_what_the_rows_cover_where_none_was_asked_for():
    """First start and last end over all instances that have samples."""
    early = row("a", window_s=(WINDOW[0] - 600, WINDOW[1] - 600))
    empty = row("c", Verdict.UNKNOWN, window_s=(0, 0))

    assert (WINDOW[0] - 600, WINDOW[1]) == fleet((early, row("b"), empty), (), window_s=None).window_s
    assert (0, 0) == fleet((), (), window_s=None).window_s


@st.composite
def rows(draw):
    """A row of any verdict; names repeat, so that ties come."""
    verdict = draw(st.sampled_from(Verdict))
    seconds = draw(st.sampled_from([60.0, 600.0, 7200.0]))
    at = bound(Family.VOLUME_IOPS, Phase.FIXED, 3000.0, seconds, dimension=Dimension.IOPS)
    close = near("CPU", Family.CPU, draw(st.sampled_from([0.2, 0.9])), unit="ratio")
    is_bound = verdict is Verdict.BINDS and draw(st.booleans())
    return row(
        draw(st.sampled_from("abc")),
        verdict,
        binding=at if is_bound else None,
        now=at if is_bound and draw(st.booleans()) else None,
        nearest=None if is_bound else draw(st.none() | st.just(close)),
        step_s=draw(st.sampled_from([60, 300])),
    )


unread = st.builds(
    UnreadInstance,
    identifier=st.sampled_from("abc"),
    reason=st.sampled_from(["access denied", "timed out"]),
    remedy=st.sampled_from(["Allow it.", ""]),
)


@settings(deadline=None)
@given(st.lists(rows(), max_size=12), st.lists(unread, max_size=5), st.randoms(use_true_random=False))
def test_the_rank_does_not_depend_on_the_order_of_arrival(found, lost, dice):
    """However instances come, the table is the same, and nobody is lost."""
    mixed = (dice.sample(found, len(found)), dice.sample(lost, len(lost)))
    overview = fleet(found, lost)

    assert overview == fleet(*mixed)
    assert msgspec.json.encode(overview) == msgspec.json.encode(fleet(*mixed))
    assert len(found) + len(lost) == len(overview.ranked)


@settings(deadline=None)
@given(st.lists(rows(), max_size=12))
def test_the_rank_is_total_and_stable(found):
    """Only equal rows have equal keys, and ranking what is ranked changes nothing."""
    once = fleet(found, ()).rows

    assert once == fleet(once, ()).rows
    keys = [rank_key(one) for one in found]
    for one, key in zip(found, keys, strict=True):
        for other, other_key in zip(found, keys, strict=True):
            assert (key == other_key) == (one == other)


@settings(deadline=None)
@given(st.lists(rows(), max_size=12), st.lists(unread, max_size=3))
def test_no_less_urgent_kind_comes_before_a_more_urgent_one(found, lost):
    """Down the rank: binding now, binding, near, unknown, unread, slack."""
    order = []
    for item in fleet(found, lost).ranked:
        if isinstance(item, OverviewRow):
            kinds = [Verdict.BINDS, Verdict.NEAR, Verdict.UNKNOWN, None, Verdict.SLACK]
            order.append(kinds.index(item.verdict) + (0.5 if item.now is None else 0))
        else:
            order.append(3.5)

    assert sorted(order) == order


@pytest.mark.parametrize("one", CEILINGS)
def test_every_documented_ceiling_can_be_named(one):
    """A row can be made of time at any ceiling of an instance."""
    at = changed(TIME_AT[0], family=one.family, phase=one.phase, dimension=one.dimension, level=one.value, ceiling=one)

    assert one.value == row_of(binding=at).binding.value
