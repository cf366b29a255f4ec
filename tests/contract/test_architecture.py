"""ARCHITECTURE.md draws the layers and the rooms that are there."""

import re
import tomllib

from contract.test_rooms import imports_of_rooms
from contract.tree import ROOT, SRC

# A drawing is a block of lines; a line has names, then two blanks or more, then what they are.
_BLOCK = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COLUMNS = re.compile(r" {2,}")


def test_layers_are_drawn_as_the_import_contract_has_them():
    """
    The drawing of the layers is the list of layers in pyproject.toml, in order.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]

    assert layers == [names for names, _ in _drawing("cli  ")]


def test_rooms_within_rooms_are_listed():
    """
    Every room of a layer is listed with it, and no other.
    """
    listed: dict[str, set[str]] = {}
    for layer, names in _drawing("cli         compare"):
        listed[layer] = set(names.split(" · "))
    there: dict[str, set[str]] = {}
    for init in SRC.glob("*/*/__init__.py"):
        there.setdefault(init.parent.parent.name, set()).add(init.parent.name)
    del there["sources"]  # has a drawing of its own, with an order

    assert there == listed


def test_rooms_of_sources_import_only_rooms_below_them():
    """
    Every room of `sources` is drawn, above all rooms of `sources` that it imports.
    """
    lines = [names.split(" | ") for names, _ in _drawing("targets  ")]
    depth = {f"sources.{room}": line for line, names in enumerate(lines) for room in names}
    arrows = imports_of_rooms()
    wrong = [
        (room, other)
        for room in depth
        for other in arrows.get(room, ())
        if other in depth and depth[other] <= depth[room]
    ]

    assert {f"sources.{init.parent.name}" for init in SRC.glob("sources/*/__init__.py")} == set(
        depth
    )
    assert [] == wrong


def _drawing(start: str) -> list[tuple[str, str]]:
    """Names and descriptions of the drawing that begins so; continued lines are joined."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    block = next(found[1] for found in _BLOCK.finditer(text) if found[1].startswith(start))
    rows: list[tuple[str, str]] = []
    for line in block.splitlines():
        names, says = _COLUMNS.split(line, maxsplit=1)
        if names:
            rows.append((names, says))
        else:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {says}")
    return rows
