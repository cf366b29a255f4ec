"""What is planned for: the present, not what was changed days ago."""

import numpy as np
import pytest
from msgspec.structs import replace

import builders
import hard_cases
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.plan import plan_snapshot
from plimsoll.model.plan import PlanConstraints
from plimsoll.model.snapshot import Annotation, EventKind, Snapshot

DAY_S = 86_400


def planned(snapshot: Snapshot):
    given = replace(snapshot, instance=replace(snapshot.instance, region="eu-central-1", engine_version="15.4"))
    return plan_snapshot(diagnose_snapshot(given), given, PlanConstraints())


def test_nothing_is_bought_for_a_limit_that_is_over():
    """gp2 was at its 300 IOPS, gp3 serves all since: two days of the present need no change."""
    plan = planned(hard_cases.fixed())

    assert builders.START_S + 2 * DAY_S == plan.window_s[0]
    assert plan.headline.startswith("no change is needed")
    assert "since 2021-03-10 00:00 UTC alone, when a limit of 300 IOPS ended." in plan.headline


@pytest.mark.parametrize(
    ("kind", "words"),
    [(EventKind.CLASS_CHANGE, "the class was changed"), (EventKind.STORAGE_CHANGE, "the storage was changed")],
)
@pytest.mark.parametrize(("days_ago", "is_cut"), [(2.0, True), (0.5, False)])
def test_the_time_before_a_change_is_left_out(kind, words, days_ago, is_cut):
    """A day and more since the change is enough to plan for; half a day is not."""
    at_s = int(builders.START_S + (4 - days_ago) * DAY_S)
    rate = 5e6 * builders.wander(np.random.default_rng(1), 4 * 1440, 0.15)
    snapshot = builders.snapshot(builders.storage(rate), instance=hard_cases.instance())
    plan = planned(replace(snapshot, annotations=(Annotation(time_s=at_s, kind=kind, text="applied"),)))

    assert is_cut == (at_s == plan.window_s[0])
    assert is_cut == (words in plan.headline)
