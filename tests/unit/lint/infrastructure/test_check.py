"""Plans in which nothing is to be found, and one with a database for each finding."""

from collections import Counter

import pytest

from contract.tree import ROOT
from plimsoll.app.infrastructure import check_files
from plimsoll.model.infrastructure import InfrastructureFindings

FIXTURES = ROOT / "tests/fixtures/infrastructure"


@pytest.fixture(scope="module")
def mixed() -> InfrastructureFindings:
    return check_files("terraform", [FIXTURES / "mixed.json"])


def test_nothing_is_found_in_30_sound_databases():
    """Not even a note: of every engine, class size and storage type, in modules and without, and on Aurora."""
    found = check_files("terraform", [FIXTURES / "sound.json"])

    assert len(found.databases) >= 30
    assert () == found.findings


def test_every_severity_is_that_of_its_rule(mixed: InfrastructureFindings):
    """The rules of the report are all rules, each once."""
    codes = Counter(rule.code for rule in mixed.rules)

    assert {1} == set(codes.values())
    assert {f.code for f in mixed.findings} <= set(codes)
