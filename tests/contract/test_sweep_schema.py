"""
The JSON form of a sweep, its schema and its reference page say the same.

The tables of the page are made from the schema: when they differ, the failing test prints what the
page should hold.
"""

import json
from importlib.resources import files

import jsonschema
import pytest
from msgspec.structs import replace

from contract.schema_page import objects, table, undescribed
from contract.tree import ROOT
from plimsoll.model.ceiling import Phase
from plimsoll.model.sweep import SWEEP_SCHEMA, Direction, Pattern, UnitEvidence
from plimsoll.reports.sweep.json import render_sweep_json
from unit.reports.fixture_sweep import report

SCHEMA_FILE = files("plimsoll.reports") / "schema" / "sweep.schema.json"
PAGE = ROOT / "docs" / "reference" / "sweep-json.md"
DOCUMENT = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def errors(document) -> list[str]:
    validator = jsonschema.Draft202012Validator(DOCUMENT)
    return [error.message for error in validator.iter_errors(document)]


def test_the_schema_is_a_schema():
    """
    The schema file is valid JSON Schema of draft 2020-12, and bears the form's name.
    """
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)

    assert SWEEP_SCHEMA == DOCUMENT["$id"]
    assert DOCUMENT["$schema"].endswith("draft/2020-12/schema")


def test_sweeps_are_valid():
    """
    With every kind of limit, with nothing found, and without any configuration.
    """
    bare = replace(report().fit.phases[0], ops_limit=None, bytes_limit=None, knee=None, unit=None)
    nothing = replace(report(), fit=replace(report().fit, phases=(bare,)))

    assert [] == errors(json.loads(render_sweep_json([report(), nothing])))
    assert [] == errors(json.loads(render_sweep_json([])))


def test_a_field_too_few_or_too_many_is_not_valid():
    """
    The schema asks for every field at every depth and knows no other.
    """
    document = json.loads(render_sweep_json([report()]))
    del document["configurations"][0]["sweep"]["points"][0]["depth"]
    document["configurations"][0]["fit"]["phases"][1]["colour"] = "red"

    assert 2 == len(errors(document))


def test_every_field_of_the_schema_is_explained():
    """
    Every property has a description that ends with a full stop.
    """
    assert [] == undescribed(DOCUMENT, "sweeps")


def test_the_words_of_the_schema_are_those_of_the_model():
    """
    Phases, patterns, directions and kinds of evidence are the model's, none more or less.
    """
    fields = DOCUMENT["$defs"]["sweep_point"]["properties"]

    for name, words in (("phase", Phase), ("pattern", Pattern), ("direction", Direction)):
        assert [word.value for word in words] == fields[name]["enum"]
    evidence = DOCUMENT["$defs"]["unit"]["properties"]["evidence"]["enum"]
    assert [word.value for word in UnitEvidence] == evidence


@pytest.mark.parametrize("name", ["sweeps", *DOCUMENT["$defs"]])
def test_the_page_has_the_table_of_every_object(name):
    """
    The reference page holds, word for word, the table of fields of each object of the schema.
    """
    assert table(objects(DOCUMENT, "sweeps")[name]) in PAGE.read_text(encoding="utf-8")
