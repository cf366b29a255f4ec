"""
The JSON comparison, its schema and its reference page say the same.

The tables of the page are made from the schema: when they differ, the failing test prints what the
page should hold.
"""

import json
import re
from importlib.resources import files

import jsonschema
import msgspec
import pytest

from contract.schema_page import objects, table, undescribed
from contract.tree import ROOT
from plimsoll.diagnosis.comparison.compare import compare
from plimsoll.model import comparison
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.comparison import Comparison, Outcome, Statistic, Subject
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.instance import Storage
from plimsoll.reports.compare.json import COMPARISON_SCHEMA, render_compare_json
from unit.reports.fixture_diagnosis import CASES

SCHEMA_FILE = files("plimsoll.reports") / "schema" / "comparison.schema.json"
PAGE = ROOT / "docs" / "reference" / "comparison-json.md"
DOCUMENT = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
PAIRS = [(a, b) for a in CASES for b in CASES]


def of(before: str, after: str) -> Comparison:
    """The comparison of two fixtures."""
    return compare(*CASES[before](), *CASES[after]())


def test_the_schema_is_a_schema():
    """
    The schema file is valid JSON Schema of draft 2020-12 and names the form.
    """
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)

    assert COMPARISON_SCHEMA == DOCUMENT["properties"]["schema"]["const"] == DOCUMENT["$id"]


@pytest.mark.parametrize("pair", PAIRS)
def test_comparisons_are_valid(pair):
    """
    What `render_compare_json` writes satisfies the schema, whichever sides are known.
    """
    assert [] == _errors(json.loads(render_compare_json(of(*pair))))


def test_shared_hours_are_valid():
    """
    The comparison over shared hours satisfies the schema where there is one.
    """
    found = of("pressed", "quiet")
    again = comparison.SharedHours(
        hours=(9, 10), quantities=found.quantities, at_ceiling_before=0.5, at_ceiling_after=None
    )
    told = json.loads(render_compare_json(msgspec.structs.replace(found, shared_hours=again)))

    assert [] == _errors(told)
    assert [9, 10] == told["shared_hours"]["hours"]


def test_what_was_bought_is_valid():
    """
    Words, numbers, truths and moments of an instance fit the schema; moments are ISO 8601.
    """
    diagnosis, shot = CASES["quiet"]()
    other = msgspec.structs.replace(
        diagnosis.instance, multi_az=True, launched_s=1_600_000_000, storage=Storage(kind="gp3")
    )
    after = msgspec.structs.replace(diagnosis, instance=other)
    told = json.loads(render_compare_json(compare(*CASES["quiet"](), after, shot)))
    values = {entry["name"]: entry["after"] for entry in told["bought"]}

    assert [] == _errors(told)
    assert values["multi_az"] is True
    assert "2020-09-13T12:26:40Z" == values["launched"]


def test_a_field_too_few_or_too_many_is_not_valid():
    """
    The schema asks for every field at every depth and knows no other.
    """
    told = json.loads(render_compare_json(of("pressed", "quiet")))
    del told["before"]["verdict"]
    del told["quantities"][0]["gaps_after"]
    told["ceilings"][0]["colour"] = "red"

    assert 3 == len(_errors(told))


def test_every_field_of_the_schema_is_explained():
    """
    Every property has a description that ends with a full stop.
    """
    assert [] == undescribed(DOCUMENT, "comparison")


def test_the_words_of_the_schema_are_those_of_the_model():
    """
    Families, phases, verdicts, subjects and statistics are the model's, none more or less.
    """
    fields = {name: definition["properties"] for name, definition in DOCUMENT["$defs"].items()}

    assert [f.value for f in Family] == fields["time_at"]["family"]["enum"]
    assert [p.value for p in Phase] == fields["time_at"]["phase"]["enum"]
    assert [d.value for d in Dimension] == fields["ceilings"]["dimension"]["enum"]
    assert [v.value for v in Verdict] == fields["side"]["verdict"]["enum"]
    assert [s.value for s in Subject] == fields["quantity"]["subject"]["enum"]
    assert [s.value for s in Statistic] == fields["quantity"]["statistic"]["enum"]
    assert [o.value for o in Outcome] == DOCUMENT["properties"]["outcome"]["enum"]


def test_the_kinds_of_caveat_are_those_that_are_given():
    """
    The schema lists the kinds of caveat that the diagnosis makes, none more or less.
    """
    law = "".join(
        (ROOT / "src/plimsoll/diagnosis/comparison" / name).read_text(encoding="utf-8")
        for name in ("alike.py", "compare.py")
    )
    made = set(re.findall(r'kind="(\w+)"', law))

    assert made == set(DOCUMENT["$defs"]["caveat"]["properties"]["kind"]["enum"])


@pytest.mark.parametrize("name", ["comparison", *DOCUMENT["$defs"]])
def test_the_page_has_the_table_of_every_object(name):
    """
    The reference page holds, word for word, the table of fields of each object of the schema.
    """
    page = PAGE.read_text(encoding="utf-8")

    assert table(objects(DOCUMENT, "comparison")[name]) in page


def _errors(told):
    validator = jsonschema.Draft202012Validator(DOCUMENT)
    return [error.message for error in validator.iter_errors(told)]
