"""Numbers of the package have their reasons beside them."""

import ast
import re
from pathlib import Path

from contract.tree import SRC, python_files

# What a second, a day or a factor of units is needs no reason.
_CONVERSION = re.compile(r"_?(?:(?:HALF_A_)?DAY|HOUR|MINUTE)_M?S|_?MS_PER_S|[KMGT]IB|KIB|_DAY_S")


def test_every_named_number_says_why():
    """
    A constant that is a number has a comment above it or beside it, or a docstring below it.

    A reason covers the constants that follow it without a blank line.
    """
    bare = [
        f"{path}:{number} {name}"
        for path, tree in python_files(SRC)
        for number, name in unexplained(tree, (SRC / path).read_text(encoding="utf-8"))
    ]

    assert not bare, "\n".join(bare)


def test_a_number_without_a_reason_is_found():
    """A comment covers its block; a blank line ends it; a name that is a unit needs none."""
    text = "# Why.\nA = 1\nB = 2\n\nC = 3\nD = 4  # why\nE = 5\n'''Why.'''\n_DAY_S = 86400\n"

    assert [(5, "C")] == unexplained(ast.parse(text), text)


def unexplained(tree: ast.Module, text: str) -> list[tuple[int, str]]:
    """Return line and name of each constant of a module that is a bare number."""
    lines = text.splitlines()
    documented = {
        before.lineno
        for before, after in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    }
    return [
        (node.lineno, name)
        for node in tree.body
        if (name := _number_named(node))
        and not _CONVERSION.fullmatch(name)
        and node.lineno not in documented
        and not _has_comment(lines, node.lineno - 1)
    ]


def _number_named(node: ast.stmt) -> str | None:
    """The upper-case name to which a statement binds a number."""
    if isinstance(node, ast.AnnAssign):
        target, value = node.target, node.value
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    else:
        return None
    if not isinstance(target, ast.Name) or not target.id.isupper() or value is None:
        return None
    numbers = all(
        isinstance(part, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
        or (isinstance(part, ast.Constant) and isinstance(part.value, int | float))
        for part in ast.walk(value)
    )
    return target.id if numbers else None


def _has_comment(lines: list[str], at: int) -> bool:
    if "#" in lines[at]:
        return True
    while at > 0 and lines[at - 1].strip():
        at -= 1
        if lines[at].startswith("#") or lines[at].endswith('"""'):
            return True
    return False


def test_the_package_is_where_it_is_looked_for():
    assert Path("units.py") in [path for path, _ in python_files(SRC)]
