"""The tools: what each answers, in the words that an assistant chooses by, and its schemas."""

from functools import cache
from typing import Any

import mcp_types
from msgspec import Struct

from plimsoll.mcp.arguments import (
    CompareArguments,
    DiagnoseArguments,
    InspectArguments,
    LimitsArguments,
    PlanArguments,
    input_schema,
)
from plimsoll.reports.schema.forms import schemas


class _Tool(Struct, frozen=True, kw_only=True):
    title: str
    description: str
    arguments: type[Struct]
    form: str
    """Name of the schema of its report."""
    is_open: bool
    """Whether it may ask an account, a server or a database."""


_TOOLS = {
    "diagnose": _Tool(
        title="Find the limit a database is at",
        description="Find which storage, CPU, memory or connection limit of a managed PostgreSQL, MySQL or "
        "other RDS instance was reached, when, on what evidence, and what was ruled out. Call this first.",
        arguments=DiagnoseArguments,
        form="report",
        is_open=True,
    ),
    "plan": _Tool(
        title="Find the cheapest change that lifts the limit",
        description="Replay the measured load on other instance classes and storage, and return the changes "
        "that lift the limit, cheapest first, with price and interruption. Changes nothing. Needs a day of "
        "metrics.",
        arguments=PlanArguments,
        form="plan",
        is_open=True,
    ),
    "inspect": _Tool(
        title="Find what inside a database causes its I/O",
        description="Find what inside a PostgreSQL server causes its reads and writes: vacuum, WAL, TOAST, "
        "indexes, connections, statements. Reads statistics views only, and takes no SQL.",
        arguments=InspectArguments,
        form="inspection",
        is_open=True,
    ),
    "limits": _Tool(
        title="List the documented limits of an instance",
        description="List the documented limits of an instance class with its storage, and which one binds "
        "at each I/O size. Needs no metrics.",
        arguments=LimitsArguments,
        form="limits",
        is_open=False,
    ),
    "compare": _Tool(
        title="Compare two windows of a database",
        description="Compare two targets, or one target before and after a change: limits, throughput, "
        "latency, headroom.",
        arguments=CompareArguments,
        form="comparison",
        is_open=True,
    ),
}
NAMES = tuple(_TOOLS)


@cache
def listed() -> tuple[mcp_types.Tool, ...]:
    """Return every tool with its schemas; all of them only read."""
    forms = schemas()
    return tuple(
        mcp_types.Tool(
            name=name,
            title=tool.title,
            description=tool.description,
            input_schema=input_schema(tool.arguments),
            output_schema=output_schema(forms[tool.form]),
            annotations=mcp_types.ToolAnnotations(
                title=tool.title,
                read_only_hint=True,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=tool.is_open,
            ),
        )
        for name, tool in _TOOLS.items()
    )


def form_of(tool: str) -> str:
    """Return the name of the form of a tool's report, which is the name of its schema."""
    return _TOOLS[tool].form


def output_schema(form: dict[str, Any]) -> dict[str, Any]:
    """
    Return the schema of a tool's answer: the form of its report, and what was left out of it.

    The form is the documented one without its descriptions, which would take more room than all else;
    references in it begin at the root of a schema.
    """
    report = _without_descriptions(form)
    definitions = report.pop("$defs", {})
    for name in ("$schema", "$id", "title"):
        report.pop(name, None)
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["about", "report", "left_out"],
        "properties": {
            "about": {"type": "string", "description": "How to read the texts in the report."},
            "report": report,
            "left_out": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Lists that are shorter here than in the whole report, which is linked.",
            },
        },
        "$defs": definitions,
    }


def _without_descriptions(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            name: _without_descriptions(one)
            for name, one in node.items()
            # A property may have the name; its value is then a schema, not a text.
            if not (name == "description" and isinstance(one, str))
        }
    if isinstance(node, list):
        return [_without_descriptions(one) for one in node]
    return node
