"""
Compare the structure of two revisions: `python bench/house.py [--before REVISION]`.

Lines are physical lines. An import is one module that imports another. It is counted between files, and between
their packages or sub-packages. A file directly in a package counts as a sub-package. A prefix is crowded if three files of a folder share it. Help is the median of five runs,
in seconds of processor time; the package's dependencies must be installed.
"""

import argparse
import ast
import io
import os
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from installed_size import plain_mb

# The commit before the first package was moved.
BEFORE = "61dc048~1"
ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("cli", "sources", "plan", "reports", "sinks")
RUNS = 5
PREFIX_FILES_MAX = 2


class House:
    """Read the package of one revision once, and count."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root / "src" / "plimsoll"
        self.trees = {
            dotted(path.relative_to(self.package)): ast.parse(path.read_text(encoding="utf-8"))
            for path in sorted(self.package.rglob("*.py"))
        }
        self.edges = set(self._edges())

    def _edges(self) -> Iterator[tuple[str, str]]:
        for name, tree in self.trees.items():
            for found in imported(tree):
                # `from a import b` means the module a.b if it exists, otherwise a name in a.
                module = found if found in self.trees else found.rpartition(".")[0]
                if module in self.trees and module != name:
                    yield name, module

    def arrows(self, folder: str) -> tuple[int, int]:
        """Return the numbers of imports between files and between sub-packages of a folder."""
        inside = [
            (a, b)
            for a, b in self.edges
            if a.startswith(f"{folder}.") and b.startswith(f"{folder}.")
        ]
        rooms = {(room_of(a), room_of(b)) for a, b in inside if room_of(a) != room_of(b)}
        return len(inside), len(rooms)

    def outer_arrows(self) -> tuple[int, int]:
        """Return the numbers of imports between files of different packages, and between packages."""
        outside = [(top_of(a), top_of(b)) for a, b in self.edges if top_of(a) != top_of(b)]
        return len(outside), len(set(outside))

    def circles(self) -> int:
        """Return the number of import cycles of sub-packages."""
        arrows: dict[str, set[str]] = {}
        for a, b in self.edges:
            if room_of(a) != room_of(b):
                arrows.setdefault(room_of(a), set()).add(room_of(b))
        return len(circles(arrows))

    def crowded(self) -> int:
        """Return how many prefixes three files of a folder share."""
        return len(crowded(self.package.rglob("*.py")))

    def shared_class_names(self) -> int:
        """Return how many names belong to several classes."""
        names = Counter(
            node.name
            for tree in self.trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
        )
        return sum(count > 1 for count in names.values())

    def lines(self, folder: str, *endings: str) -> tuple[int, int]:
        """Return the number of files with these endings below a folder, and of their lines."""
        found = [p for p in (self.root / folder).rglob("*") if p.suffix in endings and p.is_file()]
        return len(found), sum(p.read_text(encoding="utf-8").count("\n") for p in found)

    def comments(self) -> float:
        """Return comment lines for each hundred lines of code, docstrings counted as neither."""
        comments = code = 0
        for path in self.package.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            quoted = sum(_docstring_lines(node) for node in ast.walk(ast.parse(text)))
            marked = sum(line.lstrip().startswith("#") for line in text.splitlines())
            comments += marked
            code += sum(bool(line.strip()) for line in text.splitlines()) - marked - quoted
        return 100 * comments / code

    def kept_schema_lines(self) -> int:
        """Return the lines of JSON schemas, unless a module of the revision generates them."""
        if (self.package / "reports" / "schema" / "__main__.py").exists():
            return 0
        found = [p for p in self.package.rglob("*.json") if "schema" in p.name]
        return sum(p.read_text(encoding="utf-8").count("\n") for p in found)

    def help_s(self) -> float:
        """Return the processor time of `plimsoll --help`, seconds."""
        return statistics.median(self._help_once_s() for _ in range(RUNS))

    def _help_once_s(self) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "plimsoll", "--help"],
            env=os.environ | {"PYTHONPATH": str(self.root / "src")},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def top_of(module: str) -> str:
    """Return the package of a module: the first name below the whole."""
    return module.partition(".")[0]


def room_of(module: str) -> str:
    """Return the sub-package of a module: the second name below the package."""
    return ".".join(module.split(".")[:2])


def circles(arrows: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the import cycles: sets in which each sub-package reaches every other, in order of names."""
    reached = {room: _reached(arrows, room) for room in arrows}
    found: list[set[str]] = []
    for room in sorted(reached):
        circle = {other for other in reached[room] if room in reached.get(other, ())}
        if circle and circle not in found:
            found.append(circle)
    return found


def crowded(paths: Iterable[Path]) -> dict[tuple[str, str], int]:
    """Return folder and prefix for three or more files, with their number."""
    counts = Counter(
        (path.parent.as_posix(), path.stem.partition("_")[0])
        for path in paths
        if not path.stem.startswith("_")
    )
    return {key: count for key, count in counts.items() if count > PREFIX_FILES_MAX}


def dotted(path: Path) -> str:
    """Return the name of a module below the package, by its file."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module) -> set[str]:
    """Return the modules of the package that a module imports, without the package's own name."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("plimsoll.") for name in names if name.startswith("plimsoll.")}


def _reached(arrows: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = arrows.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def _docstring_lines(node: ast.AST) -> int:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return 0
    if ast.get_docstring(node) is None:
        return 0
    quoted = node.body[0]
    return (quoted.end_lineno or quoted.lineno) - quoted.lineno + 1


def _counted(lines: tuple[int, int]) -> str:
    return f"{lines[0]:,} with {lines[1]:,} lines"


def _pair(arrows: tuple[int, int]) -> str:
    return f"{arrows[0]:,} ({arrows[1]:,})" if arrows[0] else "-"


def _arrows(folder: str) -> Callable[[House], str]:
    return lambda house: _pair(house.arrows(folder))


ROWS: dict[str, Callable[[House], str]] = {
    "package: Python files": lambda h: _counted(h.lines("src/plimsoll", ".py")),
    "tests: Python files": lambda h: _counted(h.lines("tests", ".py")),
    "crates: Rust files": lambda h: _counted(h.lines("crates", ".rs")),
    "imports between packages: file to file (package to package)": lambda h: _pair(
        h.outer_arrows()
    ),
    **{
        f"imports in `{name}`: file to file (sub-package to sub-package)": _arrows(name)
        for name in FOLDERS
    },
    "import cycles of sub-packages": lambda h: str(h.circles()),
    "prefixes shared by three or more files of a folder": lambda h: str(h.crowded()),
    "class names used more than once": lambda h: str(h.shared_class_names()),
    "lines of hand-written schemas": lambda h: f"{h.kept_schema_lines():,}",
    "comment lines per 100 lines of code": lambda h: f"{h.comments():.1f}",
    "CPU time of `plimsoll --help`, s": lambda h: f"{h.help_s():.2f}",
    "size of a plain installation, MB": lambda h: f"{plain_mb(h.root):.0f}",
}


def extract(revision: str, folder: Path) -> Path:
    """
    Unpack a revision of this repository, with the extension that is built here.

    The extension is not part of the repository; help does not load it.
    """
    packed = subprocess.run(
        ["git", "archive", "--format=tar", revision], cwd=ROOT, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    for built in (ROOT / "src" / "plimsoll").glob("_core*.so"):
        (folder / "src" / "plimsoll" / built.name).symlink_to(built)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default=BEFORE, metavar="REVISION")
    before = parser.parse_args().before
    with tempfile.TemporaryDirectory() as folder:
        houses = House(extract(before, Path(folder))), House(ROOT)
        print("| | before | now |\n|---|---|---|")
        for name, row in ROWS.items():
            print(f"| {name} | {row(houses[0])} | {row(houses[1])} |")


if __name__ == "__main__":
    main()
