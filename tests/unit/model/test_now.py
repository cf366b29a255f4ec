"""Whether something binds at the end of the window."""

import pytest
from msgspec.structs import replace

from plimsoll.model.ceiling import Family
from plimsoll.model.now import intervals_at, open_at, reaches_end, second_of
from unit.reports.fixture_diagnosis import START_S, pressed
from unit.reports.fixture_parts import DAY_S

END_S = START_S + DAY_S


@pytest.mark.parametrize(
    ("step_s", "late_s", "is_now"),
    [(60, 0, True), (60, 300, True), (60, 301, False), (1, 10, True), (1, 11, False), (3600, 3600, True)],
)
def test_the_end_is_a_step_or_ten_short_ones_wide(step_s, late_s, is_now):
    """One long step may be missing, or ten short ones, at most five minutes of them."""
    diagnosis = replace(pressed()[0], step_s=step_s)

    assert is_now == reaches_end(diagnosis, END_S - late_s)


def test_what_ended_before_is_not_open():
    """The last interval of the fixture ends five hours before its window."""
    assert open_at(pressed()[0]) is None


def test_the_ceiling_of_the_last_interval_is_open():
    """Prolonged to the end of the window, its ceiling is the one that binds then."""
    diagnosis = pressed()[0]
    longest = max(intervals_at(diagnosis, diagnosis.binding), key=lambda i: i.end_s)
    others = tuple(i for i in diagnosis.intervals if i != longest)
    diagnosis = replace(diagnosis, intervals=(*others, replace(longest, end_s=END_S)))

    assert diagnosis.binding == open_at(diagnosis)


@pytest.mark.parametrize(
    ("family", "share", "is_told"),
    [
        (Family.VOLUME_IOPS, 0.6, True),
        (Family.VOLUME_IOPS, 0.4, False),
        (Family.INSTANCE_EBS_THROUGHPUT, 0.9, False),  # the burst before the baseline is the same limit
    ],
)
def test_a_second_limit_bound_for_half_as_long_and_is_another(family, share, is_told):
    found = pressed()[0]
    binding = found.binding
    assert binding is not None
    assert binding.family is Family.INSTANCE_EBS_THROUGHPUT
    other = replace(binding, family=family, seconds=share * binding.seconds)

    assert is_told == (second_of(replace(found, time_at=(binding, other))) is not None)
