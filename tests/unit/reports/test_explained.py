"""The page that explains a finding."""

import ast

import pytest

from contract.tree import SRC, python_files
from plimsoll.app.documentation import documentation
from plimsoll.model.cause import CauseKind
from plimsoll.model.ceiling import Family
from plimsoll.model.family import FAMILIES
from plimsoll.reports.explained import page_of

KINDS = [
    *Family,
    *CauseKind,
    *(facts.code for facts in FAMILIES.values()),
    *(facts.exhausted_code for facts in FAMILIES.values() if facts.exhausted_code),
]
# A finding that says everything itself.
UNEXPLAINED = {"ChangePending"}


@pytest.mark.parametrize("kind", sorted(set(KINDS)))
def test_every_family_and_cause_has_a_page_that_exists(kind: str):
    """The names are those of `plimsoll docs`."""
    assert page_of(kind) in {page.name for page in documentation()}


def test_every_finding_of_a_diagnosis_has_a_page():
    """The codes are those that stand in diagnosis/, so that a new one cannot be forgotten."""
    codes = {
        keyword.value.value
        for path, tree in python_files(SRC)
        if path.parts[0] == "diagnosis" and path.name in {"findings.py", "loading.py"}
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
    }

    assert "StorageBeyondInstance" in codes
    assert {code for code in codes if not page_of(code)} == UNEXPLAINED


def test_an_unknown_kind_has_none():
    """Nothing is guessed."""
    assert page_of("SomethingElse") == ""
    assert page_of("toast") == "find-rewritten-values"
    assert page_of("EBSByteBalanceExhausted") == "balance-empty"
