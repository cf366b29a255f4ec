"""The story: what is divided by the scale, and what is not."""

import pytest

from plimsoll_lab.experiments.pooled_cluster.story import (
    SCALE_LEAST,
    SCALE_MOST,
    TARGET_PER_S,
    Build,
    Expected,
    children_of,
    fleet_of,
    phases_of,
)


@pytest.mark.parametrize("scale", [SCALE_LEAST, 10.0, 20.0, SCALE_MOST])
def test_pools_are_more_than_the_pooler_has_room_for(scale: float):
    """As in the post, where clients were refused; at 1:10 the 7,000 connections are 700."""
    assert fleet_of(scale).connections > children_of(scale)
    assert 700 == fleet_of(10.0).connections


def test_quick_phases_are_a_third_as_long_and_otherwise_the_same():
    """The whole story is played in both."""
    quick, whole = phases_of(is_quick=True), phases_of(is_quick=False)

    assert [3 * phase.seconds for phase in quick] == [phase.seconds for phase in whole]
    assert [phase.name for phase in quick] == [phase.name for phase in whole]


def test_the_story_goes_from_calm_to_the_target_held():
    """The pooler is mended before the pools are, and the target is the same in the storm and at the end."""
    phases = phases_of(is_quick=True)
    storm = next(phase for phase in phases if phase.expected is Expected.STORM)

    assert Expected.CALM is phases[0].expected
    sized, other = phases[-2:]
    assert (Expected.SIZED, Build.FIXED, True) == (sized.expected, sized.build, sized.is_sized)
    # The other pooler gets the same pools and the same arrivals.
    assert (Expected.OTHER_POOLER, Build.PGBOUNCER, True) == (other.expected, other.build, other.is_sized)
    assert (sized.changes, sized.seconds) == (other.changes, other.seconds)
    assert TARGET_PER_S == storm.rate == sized.rate == other.rate
