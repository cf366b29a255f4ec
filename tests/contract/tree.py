"""The files of this repository, as the contract tests see them."""

import ast
import gc
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "plimsoll"
LAB = ROOT / "lab" / "src" / "plimsoll_lab"

# What .gitignore names; used only where the tree is not a git checkout (an unpacked archive).
_BUILT = {
    ".git", "target", ".venv", "build", "__pycache__", ".pytest_cache", ".mypy_cache",
    ".ruff_cache", ".hypothesis", ".import_linter_cache", "out",
}  # fmt: skip


def files(*suffixes: str) -> list[Path]:
    """Files that are, or would be, committed; with the given suffixes, or all."""
    return [path for path in _committed() if not suffixes or path.suffix in suffixes]


@cache
def _committed() -> tuple[Path, ...]:
    # safe.directory: a container often checks out as one user and tests as another.
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "-c", "-o", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [Path(name) for name in listed.stdout.decode().split("\0") if name]
    else:
        names = [p.relative_to(ROOT) for p in ROOT.rglob("*") if p.suffix != ".so"]
        names = [name for name in names if not _BUILT & set(name.parts)]
    found = {ROOT / name for name in names}
    return tuple(sorted(p for p in found if p.is_file()))


def texts(*suffixes: str) -> Iterator[tuple[Path, str]]:
    """Path, relative to the root, and text of every committed file that is text."""
    for path in files(*suffixes):
        try:
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def python_files(folder: Path = ROOT) -> Iterator[tuple[Path, ast.Module]]:
    """Path and syntax tree of every Python file under a folder."""
    for path, tree in _parsed().items():
        if path.is_relative_to(folder):
            yield path.relative_to(folder), tree


def both() -> Iterator[tuple[Path, Path, ast.Module]]:
    """Every Python file of the two packages: its place in Plimsoll or below `lab/`, its path and its syntax tree."""
    for folder, top in ((SRC, Path()), (LAB, Path("lab"))):
        yield from ((top / path, folder / path, tree) for path, tree in python_files(folder))


@cache
def _parsed() -> dict[Path, ast.Module]:
    """The syntax trees of all files, parsed once and changed by nobody."""
    # Millions of nodes that are never freed: the collector would look through them again and again.
    gc.disable()
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files(".py")}
    gc.freeze()
    gc.enable()
    return trees


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Every node of a syntax tree, walked once for all tests."""
    return tuple(ast.walk(tree))


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function of a syntax tree, methods and nested ones too."""
    return (node for node in nodes(tree) if isinstance(node, Function))


@cache
def rust_functions(text: str) -> list[tuple[int, str, int]]:
    """
    Line number, name and length in lines of every function of a Rust file.

    rustfmt puts the closing brace under the line that begins the function, so no parser is needed.
    """
    found = []
    lines = text.splitlines()
    opening = re.compile(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)")
    for start, line in enumerate(lines):
        match = opening.match(line)
        if not match or line.rstrip().endswith(("}", ";")):
            continue
        # A declaration without a body ends with `);` or `) -> T;`.
        closing = re.compile(rf"{match[1]}(?:\}}|\).*;)$")
        end = next((i for i in range(start, len(lines)) if closing.match(lines[i])), start)
        found.append((start + 1, match[2], end - start + 1))
    return found
