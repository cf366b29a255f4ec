"""The published case of the same plans in a hundred times the time, as people see it."""

import pytest

from contract.tree import ROOT
from golden.together import script
from plimsoll.explain import plans
from plimsoll.model.explain import CaptureFile, ExplainComparison, PairOutcome
from plimsoll.sources.explain.file import read_captures

EXAMPLES = ROOT / "examples" / "plans"


def read(name: str) -> CaptureFile:
    return read_captures(EXAMPLES / name)


def compared() -> ExplainComparison:
    return plans.compare(read("normal.json"), read("slow.json"), names=("normal", "slow"))


def test_a_hundred_times_the_time_over_the_same_plan_is_not_the_query():
    """The same blocks, each a hundred times as slow: the verdict, the factor, and an exit status of 1."""
    comparison = compared()

    assert {PairOutcome.NOT_THE_QUERY} == {pair.outcome for pair in comparison.pairs}
    assert pytest.approx(100, rel=0.05) == comparison.pairs[0].time_ratio
    assert pytest.approx(102.43) == comparison.pairs[0].block_time_ratio
    assert 1 == plans.status_of(comparison)


def test_the_normal_time_beside_itself_is_the_same():
    """Nothing is said to differ, and the exit status is 0."""
    comparison = plans.compare(read("normal.json"), read("normal.json"), names=("a", "b"))

    assert {PairOutcome.SAME} == {pair.outcome for pair in comparison.pairs}
    assert 0 == plans.status_of(comparison)


def test_the_files_are_what_the_script_makes():
    """And they say that they are simulated."""
    made = script("reconstruct_plans").files()

    assert made == {name: (EXAMPLES / name).read_text(encoding="utf-8") for name in made}
    assert read("slow.json").is_simulated
