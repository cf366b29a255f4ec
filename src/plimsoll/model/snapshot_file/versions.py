"""
Versions of the form of snapshot files, and the migration of each to the next.

A file is kept for the next incident, so every version that a release ever wrote stays readable. A field
that is new and may be absent, or a new value of an enumeration, raises the minor version; everything else
raises the major one.
"""

import re
from collections.abc import Callable
from typing import Any

from plimsoll.errors import DataError

Document = dict[str, Any]
"""A file as JSON gives it: dicts, lists, strings, numbers."""

_NAME = re.compile(r"plimsoll\.snapshot/(\d{1,6})(?:\.(\d{1,6}))?")


def _same(document: Document) -> Document:
    """Return the document unchanged: new fields may be absent."""
    return document


# Version → how its documents become those of the next. 1.0 is what 0.1.0 wrote, as `plimsoll.snapshot/1`;
# 1.1 adds standing, slots, lock waits, resets, partitions' parents and the cluster; 1.2 adds the statements
# of a stretch at a limit; 1.3 adds the platform, dropped columns and the fillfactor of indexes.
MIGRATIONS: dict[tuple[int, int], Callable[[Document], Document]] = {(1, 0): _same, (1, 1): _same, (1, 2): _same}

CURRENT = (1, 3)
SCHEMA = "plimsoll.snapshot/1.3"


def migrated(document: Any) -> Document:
    """
    Return a document of any version as one of the present version.

    Raises:
        DataError: it is no snapshot, or one that a newer Plimsoll wrote.
    """
    if not isinstance(document, dict):
        raise DataError(
            "not a readable snapshot: it is no JSON object", "Save snapshots with 'plimsoll record TARGET -o FILE'."
        )
    version = _version(document.get("schema"))
    if version > CURRENT:
        newer = f"{version[0]}.{version[1]}"
        raise DataError(
            f"the snapshot has form {newer}; this Plimsoll reads forms up to {CURRENT[0]}.{CURRENT[1]}",
            "A newer Plimsoll wrote it: upgrade with 'pip install --upgrade plimsoll-db'.",
        )
    found: Document = document
    steps = sorted(step for step in MIGRATIONS if step >= version)
    for step in steps:
        found = MIGRATIONS[step](found)
    return found


def _version(schema: object) -> tuple[int, int]:
    match = _NAME.fullmatch(schema) if isinstance(schema, str) else None
    if match is None or int(match[1]) == 0:
        raise DataError(
            f"not a readable snapshot: its schema is {schema!r}",
            "Save snapshots with 'plimsoll record TARGET -o FILE'.",
        )
    return int(match[1]), int(match[2] or 0)
