"""
The shape of the source itself: lengths, words, purity of the inner layers, nothing left lying about.

Words that must not stand in the tree are written here with a bracket, so that this file passes.
"""

import ast
import re
from pathlib import Path

from contract.tree import ROOT, SRC, files, functions, python_files, rust_functions, texts

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
# File → why it may be longer: a table that reads best whole, never an object that does too much.
LONGER_FOR_A_REASON: dict[str, str] = {}

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
INNER = {
    "units.py", "errors.py", "kernel.py", "model", "limits", "diagnosis", "explain", "lint", "pools",
    "causes", "plan",
}  # fmt: skip
# Calls by which a clock, dice or a file would get in; import-linter sees modules, not calls.
CLOCK_OR_DICE = re.compile(
    r"\b(?:time\.\w+|(?:datetime|date)\.(?:now|utcnow|today)|perf_counter|monotonic|"
    r"random\.\w+|default_rng|secrets\.\w+|uuid\.\w+)\("
)
READS_OR_WRITES = {"open", "print", "input", "exec", "eval"}
RUST_OUTSIDE_WORLD = re.compile(
    r"\bstd::(?:time|fs|net|io|env|process|thread)\b|\brand::|\bpyo3\b|\bunsafe\b|"
    r"\b(?:Instant|SystemTime)::now"
)


def test_files_stay_small():
    """A file of code has at most 500 lines, or a written reason."""
    long = [
        f"{path}: {lines} lines"
        for path, text in texts(".py", ".rs", ".sh", ".j2")
        if (lines := text.count("\n")) > FILE_LINES_MAX and str(path) not in LONGER_FOR_A_REASON
    ]

    assert not long, "\n".join(long)


def test_reasons_for_length_are_still_needed():
    """A file that is exempt from the limit of length is longer than it."""
    idle = [
        name
        for name in LONGER_FOR_A_REASON
        if (ROOT / name).read_text(encoding="utf-8").count("\n") <= FILE_LINES_MAX
    ]

    assert not idle, "\n".join(idle)


def test_functions_fit_on_a_screen():
    """A function has at most 70 lines, its docstring not counted."""
    long = [
        f"{path}:{function.lineno} {function.name}: {lines} lines"
        for path, tree in python_files()
        for function in functions(tree)
        if (lines := _lines_without_docstring(function)) > FUNCTION_LINES_MAX
    ]
    long += [
        f"{path}:{line} {name}: {lines} lines"
        for path, text in texts(".rs")
        for line, name, lines in rust_functions(text)
        if lines > FUNCTION_LINES_MAX
    ]

    assert not long, "\n".join(long)


def test_names_come_from_the_field():
    """No file and no function is named with a word that says nothing."""
    named = [(path, path.stem) for path in _relative(".py", ".rs")]
    named += [
        (path, f.name)
        for path, tree in python_files()
        for f in functions(tree)
        if f.name not in NAMED_BY_LIBRARIES
    ]
    named += [(path, name) for path, text in texts(".rs") for _, name, _ in rust_functions(text)]
    bad = [
        f"{path}: '{name}': {BANNED_WORDS[word]}"
        for path, name in named
        for word in re.split(r"[_\-.]", name.lower())
        if word in BANNED_WORDS
    ]

    assert not bad, "\n".join(bad)


def test_inner_layers_read_no_clock_and_no_dice():
    """`now` and random numbers are arguments to the inner layers."""
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, text in _inner()
        for number, line in enumerate(text.splitlines(), 1)
        if CLOCK_OR_DICE.search(line.split("#")[0])
    ]

    assert not found, "\n".join(found)


def test_inner_layers_touch_no_file_and_no_terminal():
    """The inner layers neither open, print nor ask; the built-in functions need no import to be seen."""
    found = [
        f"{path}:{node.lineno}: {node.func.id}()"
        for path, tree in python_files(SRC)
        if path.parts[0] in INNER
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in READS_OR_WRITES
    ]

    assert not found, "\n".join(found)


def test_the_laws_of_a_load_and_of_a_watch_are_pure():
    """Allowances, ends of rows and states are computed from arguments: no file, clock, network or thread."""
    outside = {
        "asyncio", "http", "io", "logging", "os", "pathlib", "random", "socket", "subprocess",
        "threading", "time", "urllib", "psycopg", "boto3", "sqlite3", "httpx",
    }  # fmt: skip
    found = [
        f"{path}: {name}"
        for path, tree in python_files(SRC)
        if path.is_relative_to("load/pace/law")
        or path == Path("load/copy/rows.py")
        or path.is_relative_to("watch/law")
        for name in _imported(tree, path)
        if name.partition(".")[0] in outside
    ]

    assert not found, "\n".join(found)


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


def test_only_two_files_import_the_extension():
    """`kernel.py` loads `_core` for the law, and `wire.py` for bytes of files; import-linter cannot see a compiled module."""
    importers = {
        str(path)
        for path, tree in python_files(SRC)
        if any(name.split(".")[-1] == "_core" for name in _imported(tree, path))
    }

    assert {"kernel.py", "wire.py"} == importers


def test_what_is_public_is_explained():
    """Every module, and every public class, function and method of the package has a docstring."""
    bare = [
        f"{path}:{getattr(node, 'lineno', 1)} {getattr(node, 'name', 'module')}"
        for path, tree in python_files(SRC)
        for node in [tree, *_public(tree)]
        if not ast.get_docstring(node)
    ]

    assert not bare, "\n".join(bare)


def test_no_machine_and_no_registry_is_named():
    """No file names a path of one machine or the host of a package registry."""
    hosts = r"p[y]pi\.org|p[y]thonhosted\.|n[p]mjs\.|m[a]ven\.org|d[e]bian\.org|proxy\.g[o]lang"
    places = r"/w[o]rk/|/f[a]rm/|/r[o]ot/|/h[o]me/\w|/U[s]ers/\w|/tmp/(?:bash_jobs|studio|probe)"
    pattern = re.compile(f"{hosts}|static\\.cr[a]tes|(?<![\\w.]){places}")

    assert not (found := _lines_with(pattern)), "\n".join(found)


def test_nothing_is_left_for_later():
    """What is not done is not in the tree as a note to do it."""
    pattern = re.compile(
        r"\b(?:TO[D]O|FIX[M]E|XX[X])\b|NotImplemented[E]rror|\bunimplemented[!]|\btodo[!]"
    )

    found = _lines_with(pattern, ".py", ".rs", ".toml", ".md", ".j2", ".html", ".yml", "")

    assert not found, "\n".join(found)


def test_no_test_is_skipped():
    """A test runs or it is not here; a skip is a test that cannot fail."""
    pattern = re.compile(
        r"sk[i]pif|importorsk[i]p|pytest\.sk[i]p|mark\.sk[i]p|unittest\.sk[i]p|\bxf[a]il|#\[ign[o]re"
    )

    assert not (found := _lines_with(pattern, ".py", ".rs")), "\n".join(found)


def test_every_module_is_reached():
    """A module that neither the command line nor another `python -m` reaches through imports is dead."""
    trees = {_module(path): (path, tree) for path, tree in python_files(SRC)}
    reached: set[str] = set()
    waiting = {name for name in trees if name.endswith(".__main__")}
    while waiting:
        name = waiting.pop()
        if name in reached or name not in trees:
            continue
        reached.add(name)
        path, tree = trees[name]
        waiting |= _imported(tree, path) | _named_in_strings(tree) | {name.rpartition(".")[0]}
    dead = [str(trees[name][0]) for name in sorted(trees.keys() - reached)]

    assert not dead, "\n".join(dead)


def test_length_is_measured_in_both_languages():
    """A function of four lines has four lines, in Python without its docstring."""
    python = ast.parse('def f(x):\n    """Say."""\n    y = x\n    z = y\n    return z\n')
    rust = "impl A {\n    pub fn g(\n        x: f64,\n    ) -> f64 {\n        x\n    }\n}\n"

    assert [4] == [_lines_without_docstring(f) for f in functions(python)]
    assert [(2, "g", 5)] == list(rust_functions(rust))


def _lines_without_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        quoted = function.body[0]
        lines -= (quoted.end_lineno or quoted.lineno) - quoted.lineno + 1
    return lines


def _relative(*suffixes: str) -> list[Path]:
    return [path.relative_to(ROOT) for path in files(*suffixes)]


def _inner() -> list[tuple[Path, str]]:
    return [
        (path, text)
        for path, text in texts(".py")
        if path.is_relative_to("src/plimsoll") and path.parts[2] in INNER
    ]


def _public(tree: ast.AST) -> list[ast.AST]:
    """Public classes and functions, and the public methods of those classes; not nested ones."""
    found: list[ast.AST] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_") or _is_overload(node):
                continue
            found.append(node)
            if isinstance(node, ast.ClassDef):
                found += _public(node)
    return found


def _is_overload(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Only types for a function that is explained where it is written."""
    return any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list)


def _module(path: Path) -> str:
    parts = ("plimsoll", *path.with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.AST, path: Path) -> set[str]:
    """Dotted names that a module imports; `from a import b` may be the module a.b."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = ("plimsoll", *path.parts[:-1])
                kept = package[: len(package) - node.level + 1]
                base = ".".join([*kept, base] if base else kept)
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return names


def _named_in_strings(tree: ast.AST) -> set[str]:
    """Modules loaded by name: whole dotted names, and the list of commands in `cli/commands.py`."""
    strings = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    commands = {f"plimsoll.cli.{text}" for text in strings if "plimsoll.cli." in strings}
    return {text for text in strings if text.startswith("plimsoll.")} | commands


def _lines_with(pattern: re.Pattern[str], *suffixes: str) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()[:100]}"
        for path, text in texts(*suffixes)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
