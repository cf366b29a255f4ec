"""The hard cases have their right answers, and the documentation shows them."""

import pytest

from hard_cases import CASES
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.reports.diagnosis.headline import headline

PAGE = "../../docs/concepts/hard-cases.md"
HEAD = """# Hard cases

Windows that a diagnosis easily gets wrong, or says nothing about. All are simulated, most of them by the second. A test
diagnoses each of them, compares it with what happened, and writes this table.

| What happened | What Plimsoll says first |
| --- | --- |
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Diagnosis]:
    return {name: diagnose(case.snapshot(), catalog()) for name, case in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_hard_case_has_its_right_answer(name, found):
    """Verdict, what binds, and the likeliest cause of waiting."""
    case, diagnosis = CASES[name], found[name]
    causes = diagnosis.waiting_causes

    assert case.verdict == diagnosis.verdict.value
    assert case.family == (diagnosis.binding.family if diagnosis.binding else None)
    assert case.cause == (causes[0].code if causes else "")
    assert case.says in headline(diagnosis)


def test_the_documentation_shows_them(found, golden):
    golden(PAGE, HEAD + "".join(f"| {CASES[name].happened} | {headline(one)} |\n" for name, one in found.items()))
