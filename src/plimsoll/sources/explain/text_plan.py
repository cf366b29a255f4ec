"""
Parse EXPLAIN's text, as `psql` shows it and `auto_explain` logs it, into a capture; versions 9.6 to 18.

Rule 1: the tree is the indentation: a node is below the nearest one above that is less indented.
Rule 2: what is not understood is passed over; a text without any node is no plan.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from plimsoll.model.explain import Blocks, Capture, Node, Source
from plimsoll.sources.explain.json_plan import DETAILS

_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_NODE = re.compile(
    rf"^(?P<indent>\s*)(?P<arrow>->\s+)?(?P<name>\S.*?)"
    rf"(?:\s+\(cost={_NUMBER}\.\.{_NUMBER} rows=(?P<planned>\d+) width=\d+\))?"
    rf"(?:\s+\((?:actual (?:time={_NUMBER}\.\.(?P<ms>{_NUMBER}) )?"
    rf"rows=(?P<rows>{_NUMBER}) loops=(?P<loops>\d+)|(?P<never>never executed))\))?\s*$"
)
_ROLE = re.compile(r"^\s*(?P<role>(?:InitPlan|SubPlan) \S+|CTE .+?)(?: \(returns .*\))?\s*$")
_PROPERTY = re.compile(r"^\s*(?P<name>[A-Z][\w/\- ]*?): (?P<value>.*)$")
_KIND = re.compile(r"\b(shared|local|temp)\b|(\w+)=(\d+(?:\.\d+)?)")
_TIME = re.compile(r"^\s*(Planning|Execution) [Tt]ime: (\d+(?:\.\d+)?) ms\s*$")
_RUNTIME = re.compile(r"^\s*Total runtime: (\d+(?:\.\d+)?) ms\s*$")
_SETTING = re.compile(r"([\w.]+) = '((?:[^']|'')*)'")
_SCAN = re.compile(
    r"^(?P<label>.*?\bScan)(?P<backward> Backward)?(?: using (?P<index>\S+))?"
    r" on (?P<relation>.+)$"
)
_WRITE = re.compile(r"^(?P<label>(?:Foreign )?(?:Insert|Update|Delete|Merge)) on (?P<relation>.+)$")


@dataclass(slots=True)
class _Growing:
    """A node that is still being parsed."""

    indent: int
    match: re.Match[str]
    role: str
    details: list[str] = field(default_factory=list)
    counts: dict[str, int] | None = None
    times_ms: dict[str, float] | None = None
    children: list["_Growing"] = field(default_factory=list)


def is_plan_line(line: str) -> bool:
    """Return whether a line is the root of a plan: a node with its cost or its execution."""
    match = _NODE.match(line)
    return match is not None and (match["planned"] is not None or match["rows"] is not None)


def capture_of_text(
    lines: Sequence[str], *, statement: str, source: Source, time_s: float | None = None
) -> Capture | None:
    """Parse the lines of a plan into one execution; None if there is no node."""
    root: _Growing | None = None
    stack: list[_Growing] = []
    role = ""
    times_s: dict[str, float] = {}
    settings: dict[str, str] = {}
    query_id: int | None = None
    is_planning = False
    for line in lines:
        if is_plan_line(line) and (root is None or _NODE.match(line)["arrow"] or role):  # type: ignore[index]
            grown = _grow(line, stack, role)
            root, role = root or grown, ""
        elif match := _ROLE.match(line):
            role = match["role"]
        elif match := _TIME.match(line):
            times_s[match[1]] = float(match[2]) / 1000
        elif match := _RUNTIME.match(line):
            times_s["Execution"] = float(match[1]) / 1000
        elif line.strip() == "Planning:":
            is_planning = True
        elif (match := _PROPERTY.match(line)) and match["name"] == "Settings":
            settings = {name: text.replace("''", "'") for name, text in _SETTING.findall(line)}
        elif match and match["name"] == "Query Identifier":
            query_id = _whole(match["value"])
        elif match and stack and not is_planning:
            _note(_owner(stack, line), match["name"], match["value"])
    if root is None:
        return None
    grown_nodes = list(_all(root))
    plan = _node(
        root,
        are_counted=any(node.counts is not None for node in grown_nodes),
        are_timed=any(node.times_ms is not None for node in grown_nodes),
    )
    return Capture(
        statement=statement,
        source=source,
        query_id=query_id,
        time_s=time_s,
        plan=plan,
        settings=settings,
        settings_known=bool(settings),
        was_run=plan.loops is not None,
        planning_s=times_s.get("Planning"),
        execution_s=times_s.get("Execution"),
        rows=plan.rows,
        blocks=plan.blocks,
    )


def _grow(line: str, stack: list[_Growing], role: str) -> _Growing:
    match = _NODE.match(line)
    assert match is not None
    grown = _Growing(indent=len(match["indent"]), match=match, role=role)
    while stack and stack[-1].indent >= grown.indent:
        stack.pop()
    if stack:
        stack[-1].children.append(grown)
    stack.append(grown)
    return grown


def _owner(stack: Sequence[_Growing], line: str) -> _Growing:
    """Return the node of a property, which is indented two columns or more to the right of it."""
    indent = len(line) - len(line.lstrip())
    return next((node for node in reversed(stack) if node.indent < indent), stack[0])


def _note(node: _Growing, name: str, value: str) -> None:
    if name in DETAILS and name != "Inner Unique":
        node.details.append(f"{name}: {value}")
    elif name == "Buffers" and node.counts is None:
        node.counts = {key: int(float(number)) for key, number in _by_kind(value)}
    elif name == "I/O Timings" and node.times_ms is None:
        node.times_ms = {key: float(number) for key, number in _by_kind(value)}


def _by_kind(value: str) -> list[tuple[str, str]]:
    """Split `shared hit=3 read=2, temp read=1` into (`shared hit`, 3) …"""
    kind, found = "shared", []
    for match in _KIND.finditer(value):
        if match[1]:
            kind = match[1]
        else:
            found.append((f"{kind} {match[2]}", match[3]))
    return found


def _all(grown: _Growing) -> Iterator[_Growing]:
    yield grown
    for child in grown.children:
        yield from _all(child)


def _node(grown: _Growing, *, are_counted: bool, are_timed: bool) -> Node:
    """Return the finished node; text leaves out what is zero, so what is anywhere is known everywhere."""
    match = grown.match
    label, relation, index = _named(match["name"])
    loops = None if match["loops"] is None else float(match["loops"])
    if match["never"]:
        loops = 0.0
    rows = None if match["rows"] is None else float(match["rows"]) * (loops or 0)
    seconds = None if match["ms"] is None else float(match["ms"]) * (loops or 0) / 1000
    return Node(
        label=label,
        relation=relation,
        index=index,
        role=grown.role,
        details=tuple(sorted(grown.details)),
        rows_planned=None if match["planned"] is None else float(match["planned"]),
        rows=0.0 if match["never"] else rows,
        loops=loops,
        seconds=0.0 if match["never"] else seconds,
        blocks=_blocks(grown, are_timed=are_timed) if are_counted else None,
        children=tuple(_node(child, are_counted=are_counted, are_timed=are_timed) for child in grown.children),
    )


def _named(name: str) -> tuple[str, str, str]:
    """Return the label, relation and index in a node's first line."""
    scan = _SCAN.match(name)
    if scan:
        label = scan["label"] + (scan["backward"] or "")
        if scan["label"].endswith("Bitmap Index Scan"):
            return label, "", scan["relation"]
        return label, scan["relation"], scan["index"] or ""
    write = _WRITE.match(name)
    if write:
        return write["label"], write["relation"], ""
    # `Nested Loop Left Join` and `Hash Join` are what JSON's node and join types are put to.
    return name, "", ""


def _blocks(grown: _Growing, *, are_timed: bool) -> Blocks:
    counts, times = grown.counts or {}, grown.times_ms or {}

    def sum_s(word: str) -> float | None:
        if not are_timed:
            return None
        return sum(ms for key, ms in times.items() if key.endswith(f" {word}")) / 1000

    def both(word: str) -> int:
        return counts.get(f"shared {word}", 0) + counts.get(f"local {word}", 0)

    return Blocks(
        hit=both("hit"),
        read=both("read"),
        dirtied=both("dirtied"),
        written=both("written"),
        temp_read=counts.get("temp read", 0),
        temp_written=counts.get("temp written", 0),
        read_s=sum_s("read"),
        write_s=sum_s("write"),
    )


def _whole(text: str) -> int | None:
    try:
        return int(text.strip())
    except ValueError:
        return None
