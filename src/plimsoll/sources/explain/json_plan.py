"""
Parse EXPLAIN's JSON into a capture; versions 9.6 to 18.

Nodes get the names that EXPLAIN's text has, so that a plan from either can be laid beside the other.
Keys by version: PostgreSQL source, `src/backend/commands/explain.c`, editions 14 to 18.
"""

from collections.abc import Mapping
from typing import Any

from plimsoll.errors import DataError
from plimsoll.model.explain import Blocks, Capture, Node, Source
from plimsoll.sources.values.shown import shown

# What makes a node the node it is, by the name that both forms have. What is only measured, as
# `Rows Removed by Filter`, is not among them.
DETAILS = frozenset(
    {
        *("Index Cond", "Recheck Cond", "Filter", "Join Filter", "Hash Cond", "Merge Cond"),
        *("TID Cond", "One-Time Filter", "Order By", "Sort Key", "Presorted Key", "Group Key"),
        *("Cache Key", "Workers Planned", "Function Call", "Conflict Filter", "Remote SQL"),
        *("Inner Unique", "Run Condition"),
    }
)
_AGGREGATES = {"Plain": "Aggregate", "Sorted": "GroupAggregate", "Hashed": "HashAggregate", "Mixed": "MixedAggregate"}
_ROLES = {"InitPlan", "SubPlan"}
# A judgement: no real plan is deeper; the bound keeps a forged file from exhausting the stack.
_DEEPEST = 200
_HINT = "Write it with EXPLAIN (ANALYZE, BUFFERS, SETTINGS, FORMAT JSON), or with auto_explain."


def capture_of(document: Any, *, statement: str, source: Source, where: str, time_s: float | None = None) -> Capture:
    """
    Return one execution out of EXPLAIN's JSON, the list of one entry or the entry itself.

    Raises:
        DataError: it is not what EXPLAIN writes; the message names `where`.
    """
    entry = document[0] if isinstance(document, list) and len(document) == 1 else document
    if not isinstance(entry, Mapping) or not isinstance(entry.get("Plan"), Mapping):
        raise DataError(f"{where} contains no plan", _HINT)
    try:
        return _capture(entry, statement=statement, source=source, time_s=time_s)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        detail = shown(str(error), 100)
        raise DataError(f"{where} is not what EXPLAIN writes: {detail}", _HINT) from error


def _capture(entry: Mapping[str, Any], *, statement: str, source: Source, time_s: float | None) -> Capture:
    root = entry["Plan"]
    plan = _node(root, _DEEPEST)
    settings = entry.get("Settings") or {}
    identifier = entry.get("Query Identifier")
    return Capture(
        statement=statement,
        source=source,
        query_id=None if identifier is None else int(identifier),
        time_s=time_s,
        plan=plan,
        settings={str(name): str(value) for name, value in settings.items()},
        # EXPLAIN omits the key if there are none, so it is unknown whether SETTINGS was requested.
        settings_known=bool(settings),
        was_run=plan.loops is not None,
        planning_s=_seconds(entry.get("Planning Time")),
        execution_s=_seconds(entry.get("Execution Time")),
        rows=plan.rows,
        blocks=plan.blocks,
    )


def _node(plan: Mapping[str, Any], depth_left: int) -> Node:
    if depth_left == 0:
        raise ValueError("a plan of hundreds of levels")
    loops = _number(plan.get("Actual Loops"))
    rows, total_ms = _number(plan.get("Actual Rows")), _number(plan.get("Actual Total Time"))
    children = tuple(_node(child, depth_left - 1) for child in plan.get("Plans") or ())
    return Node(
        label=_label(plan),
        relation=_relation(plan),
        index=str(plan.get("Index Name") or ""),
        role=_role(plan),
        details=_details(plan),
        rows_planned=_number(plan.get("Plan Rows")),
        rows=None if rows is None or loops is None else rows * loops,
        loops=loops,
        seconds=None if total_ms is None or loops is None else total_ms * loops / 1000,
        blocks=_blocks(plan) if "Shared Hit Blocks" in plan else None,
        children=children,
    )


def _label(plan: Mapping[str, Any]) -> str:
    kind = str(plan["Node Type"])
    join = str(plan.get("Join Type") or "")
    if kind == "Aggregate":
        kind = _AGGREGATES.get(str(plan.get("Strategy")), kind)
    elif kind == "SetOp":
        strategy = {"Hashed": "HashSetOp"}.get(str(plan.get("Strategy")), kind)
        kind = f"{strategy} {plan.get('Command') or ''}".rstrip()
    elif kind == "ModifyTable":
        kind = str(plan.get("Operation") or kind)
    elif kind in ("Foreign Scan", "Custom Scan"):
        operation = plan.get("Operation")
        kind = f"Foreign {operation}" if operation not in (None, "Select") else kind
        kind += f" ({plan['Custom Plan Provider']})" if "Custom Plan Provider" in plan else ""
    if join and join != "Inner":
        stem = kind.removesuffix(" Join")
        kind = f"{stem} {join} Join"
    if plan.get("Scan Direction") == "Backward":
        kind += " Backward"
    partial = plan.get("Partial Mode")
    words = (
        "Parallel" if plan.get("Parallel Aware") else "",
        "Async" if plan.get("Async Capable") else "",
        str(partial) if partial in ("Partial", "Finalize") else "",
        kind,
    )
    return " ".join(word for word in words if word)


def _relation(plan: Mapping[str, Any]) -> str:
    for key in ("Relation Name", "CTE Name", "Function Name", "Table Function Name"):
        if plan.get(key):
            name, schema = str(plan[key]), plan.get("Schema")
            whole = f"{schema}.{name}" if schema else name
            alias = plan.get("Alias")
            return whole if alias in (None, name) else f"{whole} {alias}"
    return str(plan.get("Alias") or "")


def _role(plan: Mapping[str, Any]) -> str:
    name = str(plan.get("Subplan Name") or "")
    if plan.get("Parent Relationship") not in _ROLES and not name.startswith("CTE "):
        return ""
    return name.partition(" (returns")[0]


def _details(plan: Mapping[str, Any]) -> tuple[str, ...]:
    found = []
    for key in DETAILS & plan.keys():
        value = plan[key]
        if key == "Inner Unique":
            # Text tells it only with VERBOSE.
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        found.append(f"{key}: {text}")
    return tuple(sorted(found))


def _blocks(plan: Mapping[str, Any]) -> Blocks:
    def count(key: str) -> int:
        return int(plan.get(key) or 0)

    # One time for all until 14, without the temporary files' until 16, one for each kind since 17.
    reads = ("I/O Read Time", "Shared I/O Read Time", "Local I/O Read Time", "Temp I/O Read Time")
    return Blocks(
        hit=count("Shared Hit Blocks") + count("Local Hit Blocks"),
        read=count("Shared Read Blocks") + count("Local Read Blocks"),
        dirtied=count("Shared Dirtied Blocks") + count("Local Dirtied Blocks"),
        written=count("Shared Written Blocks") + count("Local Written Blocks"),
        temp_read=count("Temp Read Blocks"),
        temp_written=count("Temp Written Blocks"),
        read_s=_sum_s(plan, reads),
        write_s=_sum_s(plan, tuple(key.replace("Read", "Write") for key in reads)),
    )


def _sum_s(plan: Mapping[str, Any], keys: tuple[str, ...]) -> float | None:
    found = [float(plan[key]) for key in keys if plan.get(key) is not None]
    return sum(found) / 1000 if found else None


def _seconds(milliseconds: Any) -> float | None:
    return None if milliseconds is None else float(milliseconds) / 1000


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
