"""The phases of the claims pipeline's incident: what is true of each follows from the catalog."""

from itertools import pairwise

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.model.instance import Instance
from plimsoll_lab.experiments.claims_pipeline import story
from plimsoll_lab.experiments.claims_pipeline.ground import ClaimsPlan
from plimsoll_lab.experiments.claims_pipeline.story import PHASES, LoadPath, phases_of
from plimsoll_lab.gate.config import GateSetup, stages_of


def chain(instance: Instance) -> dict[str, tuple[float, float]]:
    """Baseline and burst of every limit, of all stripes."""
    return {
        stage.name: (stage.baseline * stage.stripes, stage.burst * stage.stripes)
        for stage in stages_of(GateSetup(instance=instance), catalog())
    }


@pytest.mark.parametrize(
    ("instance", "baseline", "burst"),
    [(story.BEFORE, 86.875e6, 347.5e6), (story.LARGER, 148.5e6, 593.75e6)],
    ids=["before", "after"],
)
def test_the_instance_binds_and_not_the_volume(instance: Instance, baseline: float, burst: float):
    """The throughput of the published classes; a gp2 volume of this size is striped and delivers more than either burst."""
    limits = chain(instance)

    assert (baseline, burst) == limits["instance_ebs_throughput"]
    assert limits["volume_throughput"][0] > burst


def test_a_phase_differs_from_the_one_before():
    """In the instance, in the path or in the number of jobs: otherwise it would show nothing."""
    for before, after in pairwise(PHASES):
        changed = (
            before.instance != after.instance,
            before.path is not after.path,
            before.organisations != after.organisations,
        )
        assert any(changed), after.name


def test_the_same_jobs_are_compared():
    """Three jobs, the larger class and the pace begin with the same credits and do the same."""
    same = {
        (one.organisations, one.are_views_refreshed, one.credits)
        for one in PHASES
        if one.name in ("three-jobs", "larger-class", "paced")
    }

    assert 1 == len(same)


def test_a_phase_is_long_enough_for_a_judgement():
    """A level needs eight samples, and what lies around it."""
    assert all(12 <= one.least_minutes < one.most_minutes for one in PHASES)


def test_the_whole_story_has_the_same_phases_with_full_credits():
    """Its files are larger instead, so that credits run out by themselves."""
    whole = phases_of(is_quick=False)

    assert [one.name for one in PHASES] == [one.name for one in whole]
    assert {1.0} == {one.credits for one in whole}
    assert story.FILE_BYTES > story.QUICK_FILE_BYTES


def test_the_old_path_is_slower_than_the_baseline():
    """The worker reads and writes one file after the other; the server alone needs no worker."""
    paths = [one.path for one in PHASES if one.organisations == 1]

    assert [LoadPath.WORKER, LoadPath.SERVER] == paths
    assert story.WORKER_BYTES_PER_S < chain(story.BEFORE)["instance_ebs_throughput"][0]


@pytest.mark.parametrize("scale", [5.0, 20.0, 40.0])
def test_a_file_is_divided_by_scale_and_clock(scale: float):
    """The emulated file is the same at every scale."""
    plan = ClaimsPlan(phases=PHASES, scale=scale)

    assert pytest.approx(story.QUICK_FILE_BYTES, rel=1e-4) == (plan.played_bytes * scale * plan.clock)
