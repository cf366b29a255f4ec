"""ARCHITECTURE.md draws the layers, packages and sub-packages of this commit, and shows their size."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import house
from contract.tree import LAB, ROOT, SRC
from programs import ran

TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# A drawing is a block of lines; a line has names, then two blanks or more, then what they are.
_BLOCK = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COLUMNS = re.compile(r" {2,}")


@pytest.mark.parametrize(
    ("start", "container"), [("cli  ", "plimsoll"), ("targets  ", "plimsoll.sources"), ("part  ", "plimsoll_lab")]
)
def test_layers_are_drawn_as_the_import_contract_has_them(start: str, container: str):
    """The drawing of the layers is the list of layers in pyproject.toml, in order."""
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (layers,) = [one["layers"] for one in contracts if one.get("containers") == [container]]

    assert layers == [names for names, _ in _drawing(start)]


def test_sub_packages_are_listed():
    """Every sub-package is listed with its package, and nothing else is listed."""
    listed = {layer: set(names.split(" · ")) for layer, names in _drawing("cli              diagnose")}
    there: dict[str, set[str]] = {}
    for top, prefix in ((SRC, ""), (LAB, "lab/")):
        for init in top.glob("*/*/__init__.py"):
            there.setdefault(f"{prefix}{init.parent.parent.name}", set()).add(init.parent.name)
    del there["sources"]  # has a drawing of its own, with an order

    assert there == listed


def test_packages_below_sub_packages_are_named():
    """A package on the third level is named with its path, for example `sources/export/csv`."""
    third = {init.parent.relative_to(SRC).as_posix() for init in SRC.glob("*/*/*/__init__.py")}

    assert third == {name for name in re.findall(r"`(\w+/\w+/\w+)`", TEXT) if (SRC / name).is_dir()}
    assert [] == list(SRC.glob("*/*/*/*/__init__.py"))


def test_files_that_are_named_are_there():
    """Every source file and package in code quotes exists, below the root, the package or a crate."""
    named = re.findall(r"`((?:\w+/)+[\w.]+)`", TEXT)
    absent = [name for name in named if not any((top / name).exists() for top in (ROOT, SRC, LAB))]

    assert [] == absent


def test_no_part_has_grown_unseen():
    """If not: `python bench/house.py --write`, and a line `Growth: …` in the message of the commit."""
    assert [] == [*house.grown(ROOT), *house.unexplained(ROOT)]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A repository with two rooms, its table, and one commit."""
    for name in ("src/plimsoll/law/a.py", "tests/b.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x = 1\ny = 2\n")
    (tmp_path / house.PAGE).write_text(f"Sizes:\n\n{house.START}{house.END}\nEnd\n")
    house.write(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "Begin")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True)


def required(folder: Path) -> tuple[int, str]:
    """Exit status and complaints of the command."""
    command = [sys.executable, ROOT / "bench/house.py", "--require", "--root", folder]
    done = ran(command)
    return done.returncode, done.stderr


def test_a_part_that_grows_is_refused_until_it_is_accepted_with_a_reason(copy: Path):
    """By its lines; the table alone is not enough; a room that shrank is no fault."""
    assert (0, "") == required(copy)
    (copy / "src/plimsoll/law/a.py").write_text("x = 1\ny = 2\nz = 3\n")
    (copy / "tests/b.py").write_text("x = 1\n")
    status, said = required(copy)
    assert (1, True) == (status, said.startswith("src/plimsoll/law has 3 lines, 1 more than "))
    house.write(copy)
    git(copy, "commit", "-q", "-a", "-m", "Grow\n\nGrowth: tests is another room")
    status, said = required(copy)
    assert (1, True) == (status, "src/plimsoll/law was raised from 2 to 3 lines in" in said)
    git(copy, "commit", "-q", "--amend", "-m", "Grow\n\nGrowth: src/plimsoll/law needs z")

    assert (0, "") == required(copy)


def test_without_history_the_sizes_are_required_all_the_same(copy: Path, tmp_path: Path):
    """Of a source distribution; what was not checked is said."""
    (tmp_path / ".git").rename(tmp_path / "gone")
    (copy / "tests/c.py").write_text("x = 1\n")

    assert [] == house.unexplained(copy)
    assert 1 == len(house.grown(copy))


def _drawing(start: str) -> list[tuple[str, str]]:
    """Names and descriptions of the drawing that begins so; continued lines are joined."""
    block = next(found[1] for found in _BLOCK.finditer(TEXT) if found[1].startswith(start))
    rows: list[tuple[str, str]] = []
    for line in block.splitlines():
        names, says = _COLUMNS.split(line, maxsplit=1)
        if names:
            rows.append((names, says))
        else:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {says}")
    return rows
