"""The published case of the same plans in a hundred times the time, as people see it."""

import importlib.util
from collections.abc import Callable
from types import ModuleType

import pytest

from contract.tree import ROOT
from plimsoll.app.render import render
from plimsoll.explain import plans
from plimsoll.model.explain import CaptureFile, ExplainComparison, PairOutcome
from plimsoll.reports.explain.json import render_explain_json
from plimsoll.sources.explain.file import read_captures

EXAMPLES = ROOT / "examples" / "plans"


def read(name: str) -> CaptureFile:
    return read_captures(EXAMPLES / name)


def compared() -> ExplainComparison:
    return plans.compare(read("normal.json"), read("slow.json"), names=("normal", "slow"))


def reconstruct() -> ModuleType:
    """The script that makes the examples."""
    path = ROOT / "examples" / "reconstruct_plans.py"
    spec = importlib.util.spec_from_file_location("reconstruct_plans", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


@pytest.mark.parametrize("width", [80, 120])
def test_the_comparison_reads_as_reviewed(width: int, golden: Callable[[str, str], None]):
    """Without colour, in a pipe and in a wide terminal."""
    golden(f"plans/compared-{width}.txt", render(compared(), width=width))


def test_the_json_is_as_reviewed(golden: Callable[[str, str], None]):
    """What programs read."""
    golden("plans/compared.json", render_explain_json(compared()))


def test_the_files_are_what_the_script_makes():
    """And they say that they are simulated."""
    made = reconstruct().files()

    assert made == {name: (EXAMPLES / name).read_text(encoding="utf-8") for name in made}
    assert read("slow.json").is_simulated
