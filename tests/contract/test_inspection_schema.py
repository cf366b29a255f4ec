"""
The JSON form of an inspection, its schema and its reference page say the same.

The tables of the page are made from the schema: when they differ, the failing test prints what the
page should hold.
"""

import json
from importlib.resources import files

import jsonschema
import pytest

import inspections
from contract.schema_page import objects, table, undescribed
from contract.tree import ROOT
from plimsoll.model.cause import CauseKind
from plimsoll.reports.inspect.json import INSPECTION_SCHEMA, render_inspection_json

SCHEMA_FILE = files("plimsoll.reports") / "schema" / "inspection.schema.json"
PAGE = ROOT / "docs" / "reference" / "inspection-json.md"
DOCUMENT = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def errors(document) -> list[str]:
    """What the schema has against a document."""
    validator = jsonschema.Draft202012Validator(DOCUMENT)
    return [error.message for error in validator.iter_errors(document)]


def test_the_schema_is_a_schema():
    """
    The schema file is valid JSON Schema of draft 2020-12, and bears the form's name.
    """
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)

    assert INSPECTION_SCHEMA == DOCUMENT["$id"] == DOCUMENT["properties"]["schema"]["const"]
    assert DOCUMENT["$schema"].endswith("draft/2020-12/schema")


@pytest.mark.parametrize("name", inspections.INSPECTIONS)
def test_inspections_are_valid(name):
    """
    What `render_inspection_json` writes satisfies the schema: full, without bytes, quiet and blind.
    """
    assert [] == errors(json.loads(render_inspection_json(inspections.INSPECTIONS[name]())))


def test_a_field_too_few_or_too_many_is_not_valid():
    """
    The schema asks for every field at every depth and knows no other.
    """
    document = json.loads(render_inspection_json(inspections.inspection()))
    del document["causes"][0]["evidence"][0]["reference"]
    del document["load"]["read_bytes_per_s"]
    document["causes"][1]["remedies"][0]["colour"] = "red"

    assert 3 == len(errors(document))


def test_every_field_of_the_schema_is_explained():
    """
    Every property has a description that ends with a full stop.
    """
    assert [] == undescribed(DOCUMENT, "inspection")


def test_the_words_of_the_schema_are_those_of_the_model():
    """
    Kinds of causes in the schema are the model's, none more or less.
    """
    assert [kind.value for kind in CauseKind] == (
        DOCUMENT["$defs"]["cause"]["properties"]["kind"]["enum"]
    )


@pytest.mark.parametrize("name", ["inspection", *DOCUMENT["$defs"]])
def test_the_page_has_the_table_of_every_object(name):
    """
    The reference page holds, word for word, the table of fields of each object of the schema.
    """
    assert table(objects(DOCUMENT, "inspection")[name]) in PAGE.read_text(encoding="utf-8")
