"""ARCHITECTURE.md draws the layers, packages and sub-packages of this commit."""

import re
import tomllib

from contract.test_rooms import imports_of_rooms
from contract.tree import ROOT, SRC

# A drawing is a block of lines; a line has names, then two blanks or more, then what they are.
_BLOCK = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COLUMNS = re.compile(r" {2,}")


def test_layers_are_drawn_as_the_import_contract_has_them():
    """The drawing of the layers is the list of layers in pyproject.toml, in order."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]

    assert layers == [names for names, _ in _drawing("cli  ")]


def test_sub_packages_are_listed():
    """Every sub-package is listed with its package, and nothing else is listed."""
    listed: dict[str, set[str]] = {}
    for layer, names in _drawing("cli         compare"):
        listed[layer] = set(names.split(" · "))
    there: dict[str, set[str]] = {}
    for init in SRC.glob("*/*/__init__.py"):
        there.setdefault(init.parent.parent.name, set()).add(init.parent.name)
    del there["sources"]  # has a drawing of its own, with an order

    assert there == listed


def test_packages_below_sub_packages_are_named():
    """A package on the third level is named with its path, for example `sources/export/csv`."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    third = {init.parent.relative_to(SRC).as_posix() for init in SRC.glob("*/*/*/__init__.py")}

    assert third == {name for name in re.findall(r"`(\w+/\w+/\w+)`", text) if (SRC / name).is_dir()}
    assert [] == list(SRC.glob("*/*/*/*/__init__.py"))


def test_files_that_are_named_are_there():
    """Every source file and package in code quotes exists, below the root, the package or a crate."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:\w+/)+[\w.]+)`", text)
    absent = [name for name in named if not any((top / name).exists() for top in (ROOT, SRC))]

    assert [] == absent


def test_sub_packages_of_sources_import_only_those_below_them():
    """Every sub-package of `sources` is drawn above all sub-packages of `sources` that it imports."""
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
