"""Rooms of the house: packages import one another in one direction, and related files share one."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from contract.tree import SRC, python_files

PREFIX_FILES_MAX = 2

# Folder and prefix → how many files have it today. Entries are only ever taken away, or lowered.
CROWDED: dict[tuple[str, str], int] = {}

Arrows = Mapping[str, set[str]]


def test_rooms_import_one_another_in_no_circle():
    """
    No circle of imports leads through several rooms.
    """
    assert [] == circles(imports_of_rooms())


def test_files_of_one_prefix_have_a_folder():
    """
    A folder has at most two files of one prefix, but for those listed; three are a folder.
    """
    new = {key: count for key, count in crowded(_paths()).items() if count > CROWDED.get(key, 0)}

    assert {} == new


def test_listed_prefixes_are_still_crowded():
    """
    A prefix that has fewer files than the list says is corrected in the list too.
    """
    found = crowded(_paths())
    gone = {key: count for key, count in CROWDED.items() if found.get(key, 0) < count}

    assert {} == gone


def test_a_circle_is_found_through_any_number_of_rooms():
    """
    Rooms that reach themselves form one circle; those that only lead to it are not part of it.
    """
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}}

    assert [{"a", "b", "c"}] == circles(arrows)


def test_rooms_are_packages_and_loose_files():
    """
    A room is the second name below the package: a folder with all below it, or a file.
    """
    paths = [Path("a/b/c.py"), Path("a/b/__init__.py"), Path("a/d.py"), Path("e.py")]

    assert ["a.b", "a.b", "a.d", "e"] == [_room(_dotted(path)) for path in paths]


def test_a_prefix_counts_the_file_that_is_only_the_prefix():
    """
    `host.py` belongs to `host_loop.py` and `host_rates.py`; a file in another folder does not.
    """
    names = ["a/host.py", "a/host_loop.py", "a/host_rates.py", "a/hosts.py", "a/b/host_x.py"]

    assert {("a", "host"): 3} == crowded([Path(name) for name in names])


def circles(arrows: Arrows) -> list[set[str]]:
    """
    Return the sets of rooms in which each room reaches every other, in order of their names.
    """
    reached = {room: _reached(arrows, room) for room in arrows}
    found: list[set[str]] = []
    for room in sorted(reached):
        circle = {other for other in reached[room] if room in reached.get(other, ())}
        if circle and circle not in found:
            found.append(circle)
    return found


def crowded(paths: Iterable[Path]) -> dict[tuple[str, str], int]:
    """
    Return folder and prefix of files of which there are more than allowed, with their number.
    """
    counts = Counter(
        (path.parent.as_posix(), path.stem.partition("_")[0])
        for path in paths
        if not path.stem.startswith("_")
    )
    return {key: count for key, count in counts.items() if count > PREFIX_FILES_MAX}


def imports_of_rooms() -> dict[str, set[str]]:
    """
    Return for each room the rooms that its modules import.
    """
    trees = {_dotted(path): tree for path, tree in python_files(SRC)}
    arrows: dict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for imported in _imported(tree):
            # `from a import b` is the module a.b where there is one, otherwise a name in a.
            module = imported if imported in trees else imported.rpartition(".")[0]
            if module in trees and _room(module) != _room(name):
                arrows[_room(name)].add(_room(module))
    return dict(arrows)


def _reached(arrows: Arrows, start: str) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = arrows.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


def _imported(tree: ast.Module) -> set[str]:
    """Names that a module imports from the package, without the package's own name."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("plimsoll.") for name in names if name.startswith("plimsoll.")}


def _paths() -> list[Path]:
    return [path for path, _ in python_files(SRC)]


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])
