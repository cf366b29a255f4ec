"""The phases of the search service's incident: what is true of each follows from the catalog."""

from itertools import pairwise

import pytest

from plimsoll.catalog.load import catalog
from plimsoll_lab.experiments.search_service.story import LONGER, PHASES, StoryPhase, Vacuum, phases_of
from plimsoll_lab.gate.config import GateSetup, stages_of


def throughput(phase: StoryPhase) -> float:
    """Baseline of the instance's throughput in a phase, bytes/s."""
    is_old = not phase.is_restart and phase.instance.db_class == "db.r5.2xlarge"
    setup = GateSetup(instance=phase.instance, legacy=None if is_old else False)
    return stages_of(setup, catalog())[0].baseline


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
def test_the_limit_that_binds_is_documented(phase: StoryPhase):
    """212.5 MB/s until December 2019, 287.5 MB/s since; the larger class has 593.75 MB/s."""
    expected = {"legacy baseline": {212.5e6}, "baseline": {287.5e6}, "none": {212.5e6, 593.75e6}}

    assert throughput(phase) in expected[phase.binds]


def test_a_phase_differs_from_the_one_before():
    """In the instance, in what the service sends, or in the vacuum: otherwise it would show nothing."""
    for before, after in pairwise(PHASES):
        changed = (
            before.instance != after.instance,
            before.is_dirty_tracking is not after.is_dirty_tracking,
            after.is_restart,
            [s.vacuum for s in before.segments] != [s.vacuum for s in after.segments],
        )
        assert any(changed), after.name


def test_each_phase_has_a_time_of_light_load():
    """Without one nobody can tell which latency is normal."""
    for phase in PHASES:
        assert any(segment.vacuum is Vacuum.OFF for segment in phase.segments), phase.name


def test_a_quick_story_fits_four_minutes():
    """At a minute a second, with a quarter of the time for servers and for what lies between phases."""
    assert 180 >= sum(phase.minutes for phase in phases_of(is_quick=True))


def test_the_whole_story_has_the_same_phases_for_longer():
    """Segment by segment."""
    for quick, whole in zip(phases_of(is_quick=True), phases_of(is_quick=False), strict=True):
        assert quick.name == whole.name
        assert [LONGER * s.minutes for s in quick.segments] == [s.minutes for s in whole.segments]
