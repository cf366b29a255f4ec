"""
The JSON form of a plan, its schema and its reference page say the same.

The tables of the page are made from the schema: when they differ, the failing test prints what the
page should hold.
"""

import json
from importlib.resources import files

import jsonschema
import pytest
from msgspec.structs import replace

import plans
from contract.schema_page import objects, table, undescribed
from contract.tree import ROOT
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.plan import Judgement, Loop, MoveKind
from plimsoll.reports.plan.json import PLAN_SCHEMA, render_plan_json

SCHEMA_FILE = files("plimsoll.reports") / "schema" / "plan.schema.json"
PAGE = ROOT / "docs" / "reference" / "plan-json.md"
DOCUMENT = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
REPORT = json.loads(
    (files("plimsoll.reports") / "schema" / "report.schema.json").read_text(encoding="utf-8")
)


def errors(document) -> list[str]:
    """What the schema has against a document."""
    validator = jsonschema.Draft202012Validator(DOCUMENT)
    return [error.message for error in validator.iter_errors(document)]


def test_the_schema_is_a_schema():
    """
    The schema file is valid JSON Schema of draft 2020-12, and bears the form's name.
    """
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)

    assert PLAN_SCHEMA == DOCUMENT["$id"] == DOCUMENT["properties"]["schema"]["const"]
    assert DOCUMENT["$schema"].endswith("draft/2020-12/schema")


@pytest.mark.parametrize("name", plans.PLANS)
def test_plans_are_valid(name):
    """
    What `render_plan_json` writes satisfies the schema: full, quiet, and with as little as can be.
    """
    assert [] == errors(json.loads(render_plan_json(plans.PLANS[name]())))


def test_what_is_not_a_number_is_null():
    """
    NaN, which JSON does not have, is written as null; where a number must be the schema objects.
    """
    latency = replace(plans.band(0.005), high=float("nan"))
    effect = plans.effect(plans.band(3), latency_s_mean=latency)
    told = json.loads(
        render_plan_json(plans.claims(options=(replace(plans.option(), effect=effect),)))
    )

    assert told["options"][0]["effect"]["latency_s_mean"]["high"] is None
    assert 1 == len(errors(told))


def test_a_field_too_few_or_too_many_is_not_valid():
    """
    The schema asks for every field at every depth and knows no other.
    """
    document = json.loads(render_plan_json(plans.claims()))
    del document["demand"]["loop"]
    del document["options"][1]["cost"]["as_of"]
    document["unpriced"][0]["effect"]["colour"] = "red"

    assert 3 == len(errors(document))


def test_every_field_of_the_schema_is_explained():
    """
    Every property has a description that ends with a full stop.
    """
    assert [] == undescribed(DOCUMENT, "plan")


def test_the_words_of_the_schema_are_those_of_the_model():
    """
    Judgements, loops, kinds of moves, families and phases are the model's, none more or less.
    """
    fields = {name: definition["properties"] for name, definition in DOCUMENT["$defs"].items()}

    assert [j.value for j in Judgement] == fields["option"]["judgement"]["enum"]
    assert [kind.value for kind in Loop] == fields["demand"]["loop"]["enum"]
    assert [kind.value for kind in MoveKind] == fields["move"]["kind"]["enum"]
    assert [f.value for f in Family] == fields["next_ceiling"]["family"]["enum"]
    assert [p.value for p in Phase] == fields["next_ceiling"]["phase"]["enum"]
    assert [d.value for d in Dimension] == fields["next_ceiling"]["dimension"]["enum"]
    assert [*(f.value for f in Family), None] == fields["effect"]["balance_min_family"]["enum"]


@pytest.mark.parametrize("name", ["instance", "storage", "ebs_limits"])
def test_an_instance_is_described_as_in_the_report(name):
    """
    The objects that the plan shares with the report have the same fields and meanings.
    """
    assert REPORT["$defs"][name] == DOCUMENT["$defs"][name]


@pytest.mark.parametrize("name", ["plan", *DOCUMENT["$defs"]])
def test_the_page_has_the_table_of_every_object(name):
    """
    The reference page holds, word for word, the table of fields of each object of the schema.
    """
    assert table(objects(DOCUMENT, "plan")[name]) in PAGE.read_text(encoding="utf-8")
