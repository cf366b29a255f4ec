"""
Find what other distributions add to Plimsoll, by the entry points of their metadata.

A part is a distribution whose name begins with `plimsoll-`; `plimsoll-lab` is one. The groups are `plimsoll.commands` (a
dictionary of commands), `plimsoll.documentation` (a folder of pages) and `plimsoll.servers` (a throwaway server).
"""

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def added(group: str) -> dict[str, Any]:
    """Return what parts add to a group, by the names of their entry points; modules are imported now."""
    found = {}
    for name, place in sorted(_entry_points().get(group, {}).items()):
        module, _, attribute = place.partition(":")
        found[name] = getattr(import_module(module), attribute)
    return found


@cache
def _entry_points() -> dict[str, dict[str, str]]:
    """
    Return module and attribute of each entry point of a part, by group and name.

    `importlib.metadata` finds the same, but imports the parser of e-mails and opens a file of every installed package:
    it takes as long as all the rest of `plimsoll --help`.
    """
    found: dict[str, dict[str, str]] = {}
    for folder in sys.path:
        for file in Path(folder).glob("plimsoll_*.dist-info/entry_points.txt"):
            group: dict[str, str] = {}
            for line in file.read_text(encoding="utf-8").splitlines():
                name, _, place = line.partition("=")
                if line.startswith("["):
                    group = found.setdefault(line.strip("[] "), {})
                elif place:
                    group.setdefault(name.strip(), place.strip())
    return found
