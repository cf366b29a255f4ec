"""
The shape of the source itself: lengths, words, reasons of numbers, nothing left lying about.

Words that must not stand in the tree are written here with a bracket, so that this file passes.
"""

import ast
import re

import pytest

from contract.tree import ROOT, Function, both, files, functions, python_files, rust_functions, texts

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

BANNED_WORDS = {
    "utils": "name the thing it does",
    "util": "name the thing it does",
    "helper": "name the thing it does",
    "helpers": "name the thing it does",
    "manager": "say what it manages to do",
    "threshold": "ceiling, baseline or headroom",
    "usage": "demand or served",
}
# Methods that we override have the names that their libraries gave them.
NAMED_BY_LIBRARIES = {"collect_usage_pieces", "format_usage"}
CODE = (".py", ".rs", ".toml", ".md", ".j2", ".html", ".yml", "")
# What must not stand in a line, and in which files.
MACHINES = (
    r"p[y]pi\.org|p[y]thonhosted\.|n[p]mjs\.|m[a]ven\.org|d[e]bian\.org|proxy\.g[o]lang|static\.cr[a]tes|"
    r"(?<![\w.])(?:/w[o]rk/|/f[a]rm/|/r[o]ot/|/h[o]me/\w|/U[s]ers/\w|/tmp/(?:bash_jobs|studio|probe))"
)
NOTES = r"\b(?:TO[D]O|FIX[M]E|XX[X])\b|NotImplemented[E]rror|\bunimplemented[!]|\btodo[!]"
# `quiet.void` raises the exception, when a busy machine lets nothing be measured.
SKIPS = r"sk[i]pif|importorsk[i]p|(?:pytest\.|mark\.|unittest\.)sk[i]p\b(?!\.Exception)|\bxf[a]il|#\[ign[o]re"
# What must not stand in a line, and in which files.
LEFT_LYING = {
    "a path of one machine, or the host of a package registry": (MACHINES, ()),
    "a note to do it later": (NOTES, CODE),
    "a skipped test, which cannot fail": (SKIPS, (".py", ".rs")),
}
RUST_OUTSIDE_WORLD = re.compile(
    r"\bstd::(?:time|fs|net|io|env|process|thread)\b|\brand::|\bpyo3\b|\bunsafe\b|"
    r"\b(?:Instant|SystemTime)::now"
)
# What a second, a day or a factor of units is needs no reason.
CONVERSION = re.compile(r"_?(?:(?:HALF_A_)?DAY|HOUR|MINUTE)_M?S|_?MS_PER_S|[KMGT]IB|KIB|_DAY_S")


def test_files_stay_small():
    """A file of code has at most 500 lines."""
    found = texts(".py", ".rs", ".sh", ".j2")

    assert {} == {str(path): lines for path, text in found if (lines := text.count("\n")) > FILE_LINES_MAX}


def test_functions_fit_on_a_screen():
    """A function has at most 70 lines, its docstring not counted."""
    python = [(path, one.name, length(one)) for path, tree in python_files() for one in functions(tree)]
    rust = [(path, name, lines) for path, text in texts(".rs") for _, name, lines in rust_functions(text)]

    assert [] == [one for one in [*python, *rust] if one[2] > FUNCTION_LINES_MAX]


def test_names_come_from_the_field():
    """No file and no function is named with a word that says nothing."""
    named = [(path.relative_to(ROOT), path.stem) for path in files(".py", ".rs")]
    named += [(path, one.name) for path, tree in python_files() for one in functions(tree)]
    named += [(path, name) for path, text in texts(".rs") for _, name, _ in rust_functions(text)]
    bad = [
        f"{path}: '{name}': {BANNED_WORDS[word]}"
        for path, name in named
        if name not in NAMED_BY_LIBRARIES
        for word in re.split(r"[_\-.]", name.lower())
        if word in BANNED_WORDS
    ]

    assert not bad, "\n".join(bad)


def test_the_law_knows_no_outside_world():
    """The Rust core has no file, clock, thread, dice, Python or `unsafe`."""
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts(".rs")
        if path.is_relative_to("crates/plimsoll-core/src")
        for number, line in enumerate(text.splitlines(), 1)
        if RUST_OUTSIDE_WORLD.search(line.split("//")[0])
    ]

    assert not found, "\n".join(found)


@pytest.mark.parametrize("what", LEFT_LYING)
def test_nothing_is_left_lying(what: str):
    """The tree has no line with it."""
    pattern, suffixes = LEFT_LYING[what]
    found = [
        f"{path}:{number}: {line.strip()[:100]}"
        for path, text in texts(*suffixes)
        if re.search(pattern, text)
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(pattern, line)
    ]

    assert not found, "\n".join(found)


def test_every_named_number_says_why():
    """
    A constant that is a number has a comment above it or next to it, or a docstring below it.

    A reason covers the constants that follow it without a blank line.
    """
    bare = [
        f"{path}:{number} {name}"
        for path, file, tree in both()
        for number, name in unexplained(tree, file.read_text(encoding="utf-8"))
    ]

    assert not bare, "\n".join(bare)


def test_the_measures_can_fail():
    """Four lines are four in both languages; a comment covers its block of numbers, and a blank line ends it."""
    python = ast.parse('def f(x):\n    """Say."""\n    y = x\n    z = y\n    return z\n')
    rust = "impl A {\n    pub fn g(\n        x: f64,\n    ) -> f64 {\n        x\n    }\n}\n"
    text = "# Why.\nA = 1\nB = 2\n\nC = 3\nD = 4  # why\nE = 5\n'''Why.'''\n_DAY_S = 86400\n"

    assert [4] == [length(one) for one in functions(python)]
    assert [(2, "g", 5)] == rust_functions(rust)
    assert [(5, "C")] == unexplained(ast.parse(text), text)
    assert re.search(NOTES, "# TO" + "DO")


def length(function: Function) -> int:
    """Lines of a function without its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        quoted = function.body[0]
        lines -= (quoted.end_lineno or quoted.lineno) - quoted.lineno + 1
    return lines


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
        and not CONVERSION.fullmatch(name)
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
