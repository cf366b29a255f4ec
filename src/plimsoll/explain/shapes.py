"""
Compare plans by shape, and find where the time goes in one plan.

Two plans have the same shape if every node does the same to the same relation, with the same index and the
same conditions. Literals, estimates and measurements are not part of the shape.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

from plimsoll.model.explain import DiffLine, Node, likeness

# Details whose numbers are settings of the plan, not literals of the statement.
_KEPT = ("Workers Planned",)

Line = tuple[int, str, str]
"""Depth, text to show, and text to compare."""


def is_same_shape(first: Node, second: Node) -> bool:
    """Return whether two plans have the same shape."""
    return shape(first) == shape(second)


def shape(plan: Node) -> tuple[tuple[int, str], ...]:
    """Return the shape of a plan, comparable and hashable."""
    return tuple((depth, compared) for depth, _, compared in _lines(plan, 0))


def difference(first: Node, second: Node) -> tuple[DiffLine, ...]:
    """Return both plans line by line, each line with the side it is on."""
    before, after = list(_lines(first, 0)), list(_lines(second, 0))
    matcher = SequenceMatcher(
        a=[(depth, compared) for depth, _, compared in before],
        b=[(depth, compared) for depth, _, compared in after],
        autojunk=False,
    )
    found: list[DiffLine] = []
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            found += [_line(" ", line) for line in after[k:m]]
        else:
            found += [_line("-", line) for line in before[i:j]]
            found += [_line("+", line) for line in after[k:m]]
    return tuple(found)


def name_of(node: Node) -> str:
    """Return a node as EXPLAIN prints it: `Index Scan using orders_pkey on orders`."""
    using = f" using {node.index}" if node.index and node.relation else ""
    on = node.relation or node.index
    return f"{node.label}{using}{f' on {on}' if on else ''}"


def nodes_of(plan: Node) -> Iterator[Node]:
    """Yield the node and all nodes below it, parents first."""
    yield plan
    for child in plan.children:
        yield from nodes_of(child)


def own_s(node: Node) -> float | None:
    """
    Return the time of a node without its children; None if it was not timed.

    Below a Gather the times of all workers are added, so a Gather's own time can be negative; then it is 0.
    """
    if node.seconds is None:
        return None
    below = sum(child.seconds or 0.0 for child in node.children)
    return max(node.seconds - below, 0.0)


def own_io_s(node: Node) -> float | None:
    """Return the I/O time of a node without its children; None if it was not timed."""
    if node.blocks is None or node.blocks.io_s is None:
        return None
    below = sum((child.blocks.io_s or 0.0) for child in node.children if child.blocks is not None)
    return max(node.blocks.io_s - below, 0.0)


def scanned_rows(plan: Node) -> float:
    """Return the rows of all nodes together, a measure of the work of the plan."""
    return sum(node.rows or 0.0 for node in nodes_of(plan))


def _lines(node: Node, depth: int) -> Iterator[Line]:
    role = f"{node.role}: " if node.role else ""
    shown = role + name_of(node)
    yield depth, shown, likeness(shown)
    for detail in node.details:
        is_kept = detail.startswith(_KEPT)
        yield depth + 1, detail, detail if is_kept else likeness(detail)
    for child in node.children:
        yield from _lines(child, depth + 1)


def _line(sign: Literal["+", "-", " "], line: Line) -> DiffLine:
    return DiffLine(sign=sign, depth=line[0], text=line[1])
