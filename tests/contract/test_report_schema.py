"""
The JSON report, its schema and its reference page say the same.

The tables of the page are made from the schema: when they differ, the failing test prints what the
page should hold.
"""

import json
from importlib.resources import files

import jsonschema
import pytest

from contract.schema_page import objects, table, undescribed
from contract.tree import ROOT
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.snapshot import EventKind
from plimsoll.reports.diagnosis.json import SCHEMA, render_json
from unit.reports.fixture_diagnosis import CASES

SCHEMA_FILE = files("plimsoll.reports") / "schema" / "report.schema.json"
PAGE = ROOT / "docs" / "reference" / "report-json.md"
DOCUMENT = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def test_the_schema_is_a_schema():
    """
    The schema file is valid JSON Schema of draft 2020-12.
    """
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)

    assert DOCUMENT["$schema"].endswith("draft/2020-12/schema")


@pytest.mark.parametrize("case", CASES)
def test_reports_are_valid(case):
    """
    What `render_json` writes satisfies the schema.
    """
    report = json.loads(render_json(CASES[case]()[0]))

    assert [] == _errors(report)


def test_a_report_without_a_field_is_not_valid():
    """
    The schema asks for every field at every depth: one left out is an error.
    """
    report = json.loads(render_json(CASES["pressed"]()[0]))
    del report["intervals"][0]["level_low"]
    del report["verdict"]

    assert 2 == len(_errors(report))


def test_a_report_with_a_field_of_its_own_is_not_valid():
    """
    A field that the schema does not know is an error, so that none is left undocumented.
    """
    report = json.loads(render_json(CASES["pressed"]()[0]))
    report["intervals"][0]["colour"] = "red"

    assert 1 == len(_errors(report))


def test_every_field_of_the_schema_is_explained():
    """
    Every property has a description that ends with a full stop.
    """
    assert [] == undescribed(DOCUMENT, "report")


def test_the_words_of_the_schema_are_those_of_the_model():
    """
    Families, phases, dimensions, verdicts and kinds of events in the schema are the model's, none more or less.
    """
    definitions = DOCUMENT["$defs"]

    assert [f.value for f in Family] == definitions["interval"]["properties"]["family"]["enum"]
    assert [p.value for p in Phase] == definitions["interval"]["properties"]["phase"]["enum"]
    assert [k.value for k in EventKind] == definitions["annotation"]["properties"]["kind"]["enum"]
    assert [d.value for d in Dimension] == definitions["ceiling"]["properties"]["dimension"]["enum"]
    assert [v.value for v in Verdict] == DOCUMENT["properties"]["verdict"]["enum"]
    assert DOCUMENT["properties"]["schema"]["const"] == SCHEMA


@pytest.mark.parametrize("name", ["report", *DOCUMENT["$defs"]])
def test_the_page_has_the_table_of_every_object(name):
    """
    The reference page holds, word for word, the table of fields of each object of the schema.
    """
    page = PAGE.read_text(encoding="utf-8")

    assert table(objects(DOCUMENT, "report")[name]) in page


def _errors(report):
    validator = jsonschema.Draft202012Validator(DOCUMENT)
    return [error.message for error in validator.iter_errors(report)]
