"""
Shorten a JSON report to a number of bytes: lists lose their last items, and the answer says so.

A shortened report is still valid against the schema of its form: no field is left out, and no list of
these forms has a least length. Its numbers are rounded, and long texts in it end with `…`.
"""

import json
from collections.abc import Sequence
from typing import Any

_TEXT_MAX = 300
"""Bytes of a text in an answer; the whole report has all of them."""
_DIGITS = 5
"""Significant digits of a number in an answer; no metric is measured more exactly."""
# Tried in turn until at least one item of the first list fits.
_TEXT_LENGTHS = (_TEXT_MAX, 120, 60)
# The items of a list are in order of importance, or of time; no reader of an answer counts more than this.
_ITEMS_MAX = 40


def size_of(node: Any) -> int:
    """Return the bytes of a document as it is sent."""
    return len(json.dumps(node, ensure_ascii=False, separators=(",", ":")).encode())


def shortened(document: dict[str, Any], first: Sequence[str], most: int) -> tuple[dict[str, Any], list[str]]:
    """
    Return a document of at most so many bytes, and what was left out of it.

    Args:
        document: a JSON report.
        first: its lists that come before the others, each with three items if they fit; the first of them
            is the answer of the report.
        most: bytes of the document and of the list of what was left out, together.

    Returns:
        The document, and a text for each list that was cut, such as `intervals: 2 of 14`.
    """
    tried = []
    for length in _TEXT_LENGTHS:
        shown = _with_short_values(document, length)
        counts = _filled(shown, first, most)
        left_out: list[str] = []
        found = _cut(shown, "", counts, left_out)
        if size_of(found) + size_of(_merged(left_out)) <= most:
            tried.append((found, _merged(left_out)))
            if counts.get(first[0]):
                return tried[-1]
    assert tried, "the fields of every form fit without any list"
    return tried[0]


def _filled(document: dict[str, Any], first: Sequence[str], most: int) -> dict[str, int]:
    """Return how many items of each list fit, by its path."""
    counts: dict[str, int] = {}
    for path in first:
        while counts.get(path, 0) < 3 and _grows(document, counts, path, most):
            pass
    opened = True
    while opened:
        opened = False
        for path in _paths(document):
            opened |= counts.get(path, 0) < _ITEMS_MAX and _grows(document, counts, path, most)
    return counts


def _grows(document: dict[str, Any], counts: dict[str, int], path: str, most: int) -> bool:
    """Show one more item of a list, if the list has it and it fits; return whether it is shown."""
    before = _cut(document, "", counts, [])
    more = {**counts, path: counts.get(path, 0) + 1}
    after = _cut(document, "", more, [])
    if after == before or _size(document, more) > most:
        return False
    counts.update(more)
    return True


def _size(document: dict[str, Any], counts: dict[str, int]) -> int:
    left_out: list[str] = []
    cut = _cut(document, "", counts, left_out)
    return size_of(cut) + size_of(_merged(left_out))


def _cut(node: Any, path: str, counts: dict[str, int], left_out: list[str]) -> Any:
    if isinstance(node, dict):
        return {name: _cut(one, f"{path}.{name}" if path else name, counts, left_out) for name, one in node.items()}
    if isinstance(node, list):
        shown = counts.get(path, 0)
        if len(node) > shown:
            left_out.append(f"{path}: {shown} of {len(node)}")
        return [_cut(one, f"{path}[]", counts, left_out) for one in node[:shown]]
    return node


def _merged(left_out: list[str]) -> list[str]:
    """Return one text for each list: those inside items of another list differ only in their lengths."""
    found: dict[str, str] = {}
    for text in left_out:
        path = text.partition(":")[0]
        found.setdefault(path, text if "[]" not in path else f"{path}: some")
    return list(found.values())


def _paths(document: dict[str, Any]) -> list[str]:
    """Return every list of a document, outer ones first."""
    found: dict[str, None] = {}

    def walk(node: Any, path: str) -> None:
        if isinstance(node, dict):
            for name, one in node.items():
                walk(one, f"{path}.{name}" if path else name)
        elif isinstance(node, list):
            found.setdefault(path)
            for one in node[:_ITEMS_MAX]:
                walk(one, f"{path}[]")

    walk(document, "")
    return sorted(found, key=lambda path: path.count("[]"))


def _with_short_values(node: Any, length: int) -> Any:
    if isinstance(node, str):
        cut = node.encode()[: length - 3].decode(errors="ignore")
        return node if len(node.encode()) <= length else f"{cut}…"
    if isinstance(node, float):
        return float(f"{node:.{_DIGITS}g}")
    if isinstance(node, dict):
        return {name: _with_short_values(one, length) for name, one in node.items()}
    if isinstance(node, list):
        return [_with_short_values(one, length) for one in node]
    return node
