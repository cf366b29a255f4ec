"""Arguments of tools: their schemas, and what is refused."""

import jsonschema
import pytest

from plimsoll.errors import UsageError
from plimsoll.mcp import arguments
from plimsoll.mcp.arguments import DiagnoseArguments, LimitsArguments, PlanArguments, checked, input_schema

KINDS = (DiagnoseArguments, PlanArguments, arguments.InspectArguments, LimitsArguments, arguments.CompareArguments)


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_explains_every_argument(kind):
    """It is a valid schema of an object, refuses other names, and is small enough to be read with each chat."""
    schema = input_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)

    assert "object" == schema["type"]
    assert schema["additionalProperties"] is False
    assert all(15 < len(one["description"]) < 250 for one in schema["properties"].values())
    assert "$ref" not in str(schema)


def test_arguments_have_the_names_of_options():
    """So that a hint of the command line names an argument, with `_` for `-`."""
    found = checked({"target": "x", "class": "db.r5.large", "from": "2026-01-01", "size_gib": 5}, DiagnoseArguments)

    assert ("db.r5.large", 5.0) == (found.flags.db_class, found.flags.size_gib)
    assert "2026-01-01" == found.read_options.since


def test_null_is_the_same_as_nothing():
    """Some assistants send every argument."""
    assert checked({"target": "x"}, PlanArguments) == checked({"target": "x", "engine": None}, PlanArguments)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"target": ""},
        {"target": 5},
        {"target": "x" * 501},
        {"target": "x", "sql": "select 1"},
        {"target": "x", "dsn": "host=evil"},
        {"target": "x", "iops": -1},
        {"target": "x", "iops": "many"},
        {"target": "x", "deny": ["x"] * 51},
        {"target": "x", "growth": 1e9},
        {"target": ["x"]},
    ],
)
def test_what_is_no_argument_is_refused_with_the_names(given):
    """Missing, unknown, too long, or of another type."""
    with pytest.raises(UsageError, match="the arguments are not valid: ") as refused:
        checked(given, PlanArguments)

    assert "target, identifier" in refused.value.hint
