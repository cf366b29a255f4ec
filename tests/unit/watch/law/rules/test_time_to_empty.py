"""The rule about what will run out soon."""

import pytest

import watched
from plimsoll.model.ceiling import Family
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules.time_to_empty import TimeToEmptySettings, conditions

MACHINE = "instance_ebs_throughput"
HOUR_S = 3600.0


@pytest.mark.parametrize(
    ("family", "empty_in_s", "level"),
    [
        (Family.INSTANCE_EBS_THROUGHPUT, HOUR_S - 1, WatchState.BOUND),
        (Family.INSTANCE_EBS_THROUGHPUT, HOUR_S, WatchState.NEARING),
        (Family.INSTANCE_EBS_THROUGHPUT, 3 * HOUR_S - 1, WatchState.NEARING),
        (Family.INSTANCE_EBS_THROUGHPUT, 3 * HOUR_S, WatchState.OK),
        (Family.INSTANCE_EBS_THROUGHPUT, None, WatchState.OK),
        (Family.STORAGE_SPACE, 24 * HOUR_S - 1, WatchState.BOUND),
        (Family.STORAGE_SPACE, 72 * HOUR_S - 1, WatchState.NEARING),
        (Family.STORAGE_SPACE, 72 * HOUR_S, WatchState.OK),
    ],
)
def test_credits_and_space_have_their_own_times(family: Family, empty_in_s: float | None, level: WatchState):
    """Below an hour credits are bound, and below a day space is; three times as long is nearing."""
    falling = watched.diagnosis(forecasts=(watched.forecast(family, left=0.3, empty_in_s=empty_in_s),))

    found = watched.by_ceiling(conditions(watched.situation(falling), TimeToEmptySettings()))

    assert found[family.value].level is level


def test_the_text_says_how_long_it_lasts():
    """What is left, and for how long at the present rate; what is empty already belongs to another rule."""
    falling, empty = (
        watched.diagnosis(forecasts=(watched.forecast(left=left, empty_in_s=empty_in_s),))
        for left, empty_in_s in ((0.3, 1740.0), (0.0, 0.0))
    )

    found = watched.by_ceiling(conditions(watched.situation(falling), TimeToEmptySettings()))
    at_zero = watched.situation(empty, balance=0.0)
    over = watched.by_ceiling(conditions(at_zero, TimeToEmptySettings()))[MACHINE]

    assert found[MACHINE].text == (
        "has 30 % of its instance throughput credits left: empty in 29 min at the present rate"
    )
    assert (over.level, over.ended) == (WatchState.OK, "ran out")


def test_what_is_not_reported_is_unknown():
    """Credits without a metric, and space without one."""
    blind = watched.diagnosis(resources=(watched.resource(Family.STORAGE_SPACE, peak=None),))

    found = watched.by_ceiling(conditions(watched.situation(blind, balance=None), TimeToEmptySettings()))

    assert {c.level for c in found.values()} == {WatchState.UNKNOWN}
    assert found.keys() == {MACHINE, "storage_space"}
