"""Plans and templates that are anything: findings or a sentence, never a crash."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contract.tree import ROOT
from plimsoll.app.infrastructure import check_files
from plimsoll.app.render import render
from plimsoll.errors import PlimsollError

PLAN = (ROOT / "tests/fixtures/infrastructure/mixed.json").read_bytes()
TEMPLATE = (ROOT / "examples/infrastructure/template.yaml").read_bytes()
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
VALUES = st.one_of(
    ANYTHING, st.sampled_from(["db.m5.large", "postgres", "gp3", "io1", "gp2", 500, "500", 12000, 1e12, -1])
)
NAMES = st.sampled_from(
    ["instance_class", "engine", "storage_type", "allocated_storage", "iops", "storage_throughput",
     "multi_az", "identifier", "region", "arn", "monitoring_interval"]
)  # fmt: skip
PROPERTIES = st.dictionaries(NAMES, VALUES, max_size=8)
FUNCTIONS = st.sampled_from(
    ["Ref", "Fn::Sub", "Fn::If", "Fn::Join", "Fn::Select", "Fn::Split", "Fn::FindInMap",
     "Fn::GetAtt", "Fn::Equals", "Condition"]
)  # fmt: skip


def judged(tool: str, content: bytes) -> None:
    """Read, check and print in every form."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        try:
            found = check_files(tool, [path])  # type: ignore[arg-type]
        except PlimsollError as error:
            refused = error.message
        else:
            refused = None
    if refused is not None:
        assert refused
        assert "\n" not in refused
        return
    for form in ("text", "markdown", "html", "json", "sarif"):
        assert render(found, form)  # type: ignore[arg-type]
    assert all(finding.facts or finding.code for finding in found.findings)


def mutated(data: bytes, place: int, new: bytes, count: int) -> bytes:
    start = place % len(data)
    return data[:start] + new + data[start + count :]


@given(content=st.binary(max_size=200))
def test_any_bytes(content: bytes):
    """Bytes that nobody wrote as a plan or a template."""
    judged("terraform", content)
    judged("cloudformation", content)


@given(place=st.integers(0, 10**6), new=st.binary(max_size=6), count=st.integers(0, 40))
def test_damaged_files(place: int, new: bytes, count: int):
    """A plan and a template with a part cut out and something else put in."""
    judged("terraform", mutated(PLAN, place, new, count))
    judged("cloudformation", mutated(TEMPLATE, place, new, count))


@given(before=st.none() | PROPERTIES, after=PROPERTIES, unknown=ANYTHING, sensitive=ANYTHING)
def test_any_values_in_a_plan(before: Any, after: Any, unknown: Any, sensitive: Any):
    """A whole plan whose values are of any type."""
    values = {
        "actions": ["update"],
        "before": before,
        "after": after,
        "after_unknown": unknown,
        "after_sensitive": sensitive,
    }
    change = {"address": "a", "type": "aws_db_instance", "name": "a", "change": values}
    plan = {"format_version": "1.2", "resource_changes": [change]}
    judged("terraform", json.dumps(plan).encode())


@given(function=FUNCTIONS, argument=ANYTHING, parameters=ANYTHING, conditions=ANYTHING, mappings=ANYTHING)
def test_any_arguments_of_functions(function: str, argument: Any, parameters: Any, conditions: Any, mappings: Any):
    """Functions with arguments of any form."""
    template = {
        "Parameters": parameters,
        "Conditions": conditions,
        "Mappings": mappings,
        "Resources": {
            "Db": {
                "Type": "AWS::RDS::DBInstance",
                "Properties": {"DBInstanceClass": {function: argument}, "Engine": "postgres"},
            }
        },
    }
    judged("cloudformation", json.dumps(template).encode())
