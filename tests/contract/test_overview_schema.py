"""
The JSON overview of many instances, its schema and its reference page say the same.

The tables of the page are made from the schema: when they differ, the failing test prints what the
page should hold.
"""

import json
from importlib.resources import files

import jsonschema
import msgspec
import pytest

from contract.schema_page import objects, table, undescribed
from contract.tree import ROOT
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.overview.json import SCHEMA, render_overview_json
from unit.reports.fixture_fleet import fleet

SCHEMA_FILE = files("plimsoll.reports") / "schema" / "overview.schema.json"
PAGE = ROOT / "docs" / "reference" / "overview-json.md"
DOCUMENT = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
FLEETS = {
    "fifty": fleet,
    "nothing": lambda: fleet((), ()),
    "no API": lambda: fleet(usage=None, usd=None, window_s=None, stopped="the token expired"),
}


def test_the_schema_is_a_schema():
    """
    The schema file is valid JSON Schema of draft 2020-12.
    """
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)

    assert DOCUMENT["$schema"].endswith("draft/2020-12/schema")
    assert DOCUMENT["properties"]["schema"]["const"] == SCHEMA


@pytest.mark.parametrize("name", FLEETS)
def test_overviews_are_valid(name):
    """
    What `render_overview_json` writes satisfies the schema, with and without instances.
    """
    assert [] == _errors(json.loads(render_overview_json(FLEETS[name]())))


def test_a_field_too_few_or_too_many_is_not_valid():
    """
    The schema asks for every field at every depth and knows no other.
    """
    document = json.loads(render_overview_json(fleet()))
    del document["counts"]["unread"]
    del document["rows"][0]["binding"]["seconds"]
    document["rows"][1]["colour"] = "red"

    # The second stands inside `binding`, which may also be null: one error of its own kind.
    assert 3 == len(_errors(document))


def test_every_field_of_the_schema_is_explained():
    """
    Every property has a description that ends with a full stop.
    """
    assert [] == undescribed(DOCUMENT, "overview")


def test_the_words_of_the_schema_are_those_of_the_model():
    """
    Families, phases and verdicts in the schema are the model's, none more or less.
    """
    definitions = DOCUMENT["$defs"]

    for name in ("bound", "nearest", "left"):
        assert [f.value for f in Family] == definitions[name]["properties"]["family"]["enum"]
    assert [p.value for p in Phase] == definitions["bound"]["properties"]["phase"]["enum"]
    for name in ("row", "nearest"):
        assert [v.value for v in Verdict] == definitions[name]["properties"]["verdict"]["enum"]


@pytest.mark.parametrize("name", ["overview", *DOCUMENT["$defs"]])
def test_the_page_has_the_table_of_every_object(name):
    """
    The reference page holds, word for word, the table of fields of each object of the schema.
    """
    page = PAGE.read_text(encoding="utf-8")

    assert table(objects(DOCUMENT, "overview")[name]) in page


def test_what_is_not_a_number_is_null():
    """
    NaN is not JSON; a ratio of it is written as null and still satisfies the schema.
    """
    rows = fleet().rows
    left = msgspec.structs.replace(rows[0].credits_left, ratio=float("nan"))
    document = json.loads(
        render_overview_json(fleet((msgspec.structs.replace(rows[0], credits_left=left),), ()))
    )

    assert document["rows"][0]["credits_left"]["ratio"] is None
    assert [] == _errors(document)


def _errors(document):
    validator = jsonschema.Draft202012Validator(DOCUMENT)
    return [error.message for error in validator.iter_errors(document)]
