"""What if: questions that are refused, and answers that are kept."""

import threading

import pytest

from plimsoll.errors import DataError, UsageError
from plimsoll.model.plan import Plan
from plimsoll.model.snapshot import Snapshot
from plimsoll.web import what_if
from plimsoll.web.what_if import BusyError, Planner, WhatIf, question_of
from simulated_fleet import HOUR_S, NOW_S, Fleet


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Three hours at a ceiling (simulated)."""
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    return fleet.snapshot("claims-primary", (NOW_S - 3 * HOUR_S, NOW_S))


@pytest.mark.parametrize("growth", ["0", "-1", "1e9", "nan", "inf", "two", "1,5"])
def test_a_factor_out_of_bounds_is_refused(growth: str):
    """With what would do."""
    with pytest.raises(UsageError) as caught:
        question_of(growth, "", keeps_storage=False)

    assert caught.value.hint == "Give a number from 0.1 to 100, for example 1.5."


def test_a_class_is_a_name_or_a_pattern():
    """Nothing else; empty is any."""
    assert question_of("", " db.r6g.* ", keeps_storage=True) == WhatIf(
        growth=1.0, db_class="db.r6g.*", keeps_storage=True
    )
    with pytest.raises(UsageError):
        question_of("2", "<b>", keeps_storage=False)


def test_an_answer_is_the_plan_for_the_hours(snapshot: Snapshot):
    """With the demand and the class that were asked for; asked again, nothing is computed."""
    planner = Planner()
    question = WhatIf(growth=2.0, db_class="db.m6i.4xlarge")

    plan = planner.answer("a", 1, snapshot, question)

    assert (plan.growth, plan.is_simulated) == (2.0, True)
    classes = {option.instance.db_class for option in plan.options}
    assert classes <= {"db.m6i.4xlarge", snapshot.instance.db_class}
    assert planner.answer("a", 1, snapshot, question) is plan


def test_what_cannot_be_planned_says_why(snapshot: Snapshot):
    """A class that does not exist, and an instance that was not read."""
    planner = Planner()

    with pytest.raises(UsageError):
        planner.answer("a", 1, snapshot, WhatIf(db_class="db.nothing.large"))
    with pytest.raises(DataError):
        planner.answer("a", 1, None, WhatIf())


def test_one_question_at_a_time(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch):
    """Who comes while another is answered is told so; the answer is there when it is done."""
    may_end, begun = threading.Event(), threading.Event()
    answers: list[Plan] = []

    def slow(*_: object) -> str:
        begun.set()
        assert may_end.wait(10.0)
        return "a plan"

    monkeypatch.setattr(what_if, "_planned", slow)
    planner = Planner(patience_s=0.1)
    with pytest.raises(BusyError, match="takes more than"):
        planner.answer("a", 1, snapshot, WhatIf())
    with pytest.raises(BusyError, match="another question"):
        planner.answer("b", 1, snapshot, WhatIf())
    may_end.set()
    planner._turn.acquire(timeout=10.0)
    planner._turn.release()
    answers.append(planner.answer("a", 1, snapshot, WhatIf()))

    assert answers == ["a plan"]
    assert begun.is_set()
