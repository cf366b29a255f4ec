"""Findings as SARIF 2.1.0."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from contract.tree import ROOT
from plimsoll.app.infrastructure import check_files
from plimsoll.reports.infrastructure.sarif import render_sarif

FIXTURES = ROOT / "tests/fixtures/infrastructure"
SCHEMA = json.loads((FIXTURES / "sarif-2.1.0.schema.json").read_text(encoding="utf-8"))
TEMPLATE = ROOT / "examples/infrastructure/template.yaml"


def log_of(*files: Path) -> dict[str, Any]:
    tool = "cloudformation" if files[0].suffix == ".yaml" else "terraform"
    return json.loads(render_sarif(check_files(tool, files)))


def errors(log: dict[str, Any]) -> list[str]:
    kind = jsonschema.validators.validator_for(SCHEMA)
    checker = kind(SCHEMA, format_checker=jsonschema.FormatChecker())
    return [error.message for error in checker.iter_errors(log)]


@pytest.mark.parametrize(
    "files",
    [
        (FIXTURES / "mixed.json",),
        (FIXTURES / "sound.json",),
        (FIXTURES / "mixed.json", FIXTURES / "state.json"),
        (TEMPLATE,),
    ],
)
def test_the_log_satisfies_the_schema(files: tuple[Path, ...]):
    """With findings and without, of one file and of two."""
    assert [] == errors(log_of(*files))


def test_the_schema_refuses_what_sarif_does_not_have():
    """A level and a version that are no SARIF: the schema is not a blank one."""
    log = log_of(FIXTURES / "mixed.json")
    log["runs"][0]["results"][0]["level"] = "critical"
    log["version"] = "2.2.0"

    assert 2 == len(errors(log))


def test_results_refer_to_rules_and_places():
    """The rule by index, the file with a line, and the address of the database."""
    run = log_of(TEMPLATE)["runs"][0]
    (result,) = run["results"]
    place = result["locations"][0]

    assert "IOPSBeyondInstance" == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
    assert 13 == place["physicalLocation"]["region"]["startLine"]
    assert "SearchDatabase" == place["logicalLocations"][0]["fullyQualifiedName"]
    assert "baselineState" not in result


def test_a_plan_has_states():
    """What the change introduces is new, what it keeps is unchanged; a run has states for all results or none."""
    results = log_of(FIXTURES / "mixed.json")["runs"][0]["results"]

    assert {"new", "unchanged"} == {result["baselineState"] for result in results}
    joined = log_of(FIXTURES / "mixed.json", FIXTURES / "state.json")["runs"][0]["results"]
    assert not any("baselineState" in result for result in joined)


def test_a_fingerprint_outlives_the_numbers():
    """It is of rule, file and address: code scanning keeps one alert while the numbers change."""
    results = log_of(FIXTURES / "mixed.json")["runs"][0]["results"]
    prints = [result["partialFingerprints"]["plimsollFinding/v1"] for result in results]

    assert len(set(prints)) == len(prints)
    assert prints == [
        result["partialFingerprints"]["plimsollFinding/v1"]
        for result in log_of(FIXTURES / "mixed.json")["runs"][0]["results"]
    ]
