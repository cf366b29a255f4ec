"""
The JSON forms of recorded and compared executions, their schema and their reference page say the same.

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
from plimsoll.explain import plans
from plimsoll.model.explain import (
    COMPARISON_SCHEMA,
    EXPLAIN_SCHEMA,
    DiffLine,
    Node,
    Outcome,
    Source,
    Unrecorded,
)
from plimsoll.reports.explain.json import render_captures, render_explain_json
from plimsoll.sources.explain.file import read_captures

SCHEMA_FILE = files("plimsoll.reports") / "schema" / "explain.schema.json"
PAGE = ROOT / "docs" / "reference" / "explain-json.md"
DOCUMENT = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
EXAMPLES = ROOT / "examples" / "plans"
RECORDING = {**DOCUMENT, "$ref": "#/$defs/recording"}
for _of_the_comparison in ("type", "properties", "required", "additionalProperties"):
    del RECORDING[_of_the_comparison]


def errors(document, schema=DOCUMENT) -> list[str]:
    """What the schema has against a document."""
    validator = jsonschema.Draft202012Validator(schema)
    return [error.message for error in validator.iter_errors(document)]


def compared() -> dict:
    """The comparison of the examples, with another plan and what one side lacks."""
    first, second = (read_captures(EXAMPLES / f"{name}.json") for name in ("normal", "slow"))
    other = replace(second.captures[0], plan=Node(label="Seq Scan", relation="documents"))
    alone = replace(second.captures[0], statement="select 1")
    second = replace(second, captures=(other, alone, second.captures[1]))
    return json.loads(render_explain_json(plans.compare(first, second, names=("a", "b"))))


def test_the_schema_is_a_schema():
    """
    The schema file is valid JSON Schema of draft 2020-12, and bears the forms' names.
    """
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)

    assert COMPARISON_SCHEMA == DOCUMENT["$id"] == DOCUMENT["properties"]["schema"]["const"]
    assert EXPLAIN_SCHEMA == DOCUMENT["$defs"]["recording"]["properties"]["schema"]["const"]


def test_comparisons_are_valid():
    """
    With another plan, a slower one, and a statement of one side only.
    """
    assert [] == errors(compared())
    assert {"plan", "not_the_query"} == {pair["outcome"] for pair in compared()["pairs"]}


def test_recordings_are_valid():
    """
    Those of the examples, and one with a statement that could not be captured.
    """
    file = read_captures(EXAMPLES / "normal.json")
    partly = replace(file, unrecorded=(Unrecorded(statement="select 1", reason="late"),))

    for recording in (file, partly):
        assert [] == errors(json.loads(render_captures(recording)), RECORDING)


def test_a_field_too_few_or_too_many_is_not_valid():
    """
    The schema asks for every field at every depth and knows no other.
    """
    document = compared()
    del document["pairs"][0]["first"]["blocks"]["hit"]
    document["pairs"][1]["colour"] = "red"

    assert 2 == len(errors(document))


def test_every_field_of_the_schema_is_explained():
    """
    Every property has a description that ends with a full stop.
    """
    assert [] == undescribed(DOCUMENT, "comparison")


def test_the_words_of_the_schema_are_those_of_the_model():
    """
    Outcomes, sources and signs, none more or less.
    """
    definitions = DOCUMENT["$defs"]

    assert [o.value for o in Outcome] == definitions["pair"]["properties"]["outcome"]["enum"]
    assert [s.value for s in Source] == definitions["capture"]["properties"]["source"]["enum"]
    assert list(DiffLine.__struct_fields__) == definitions["diff_line"]["required"]


@pytest.mark.parametrize("name", ["comparison", *DOCUMENT["$defs"]])
def test_the_page_has_the_table_of_every_object(name):
    """
    The reference page holds, word for word, the table of fields of each object of the schema.
    """
    assert table(objects(DOCUMENT, "comparison")[name]) in PAGE.read_text(encoding="utf-8")
