"""
Check whether the unit tests notice a change of the code: `python bench/mutants.py --layer limits --count 60`.

One thing is changed at a time, in a copy of `src`: a comparison or its boundary, an arithmetic operator,
`and` or `or`, a `not`, a number, or a return value. Then the unit tests of the same name run, and if they
pass, the others of the layer; with `--whole`, then all other unit tests, laws, damaged exports and golden
files. A change that no test notices has survived. Then a test is missing, or the change makes no
difference, which `mutants.toml` explains.

`--layer law` changes the Rust law with cargo-mutants (`cargo install cargo-mutants`).
The sample is drawn by `--seed`; with `--require` the exit status is 1 if an unexplained change survived.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

# Before numpy is imported: a process with threads cannot be forked safely (fork(2)).
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import msgspec  # noqa: F401
import numpy  # noqa: ICN001, F401
import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("limits", "diagnosis", "causes", "plan", "watch", "law")
# Layers that can be asked for too: golden files hold most of what they print.
EDGES = ("reports", "cli", "app", "fleet", "alarms")
# What `make test` runs of Python but contract tests, the quickest to notice first.
WHOLE = ("tests/golden", "tests/laws", "tests/fuzz", "tests/unit")
QUICK = "not live and not deep"
WHOLE_TIMEOUT_S = 3600.0
# A change can make a loop endless. A run of ten times the duration of all tests counts as endless.
PATIENCE = 10.0

COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
ARITHMETIC = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "*"),
    ast.Pow: (r"\*\*", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: (r"\|", "&"),
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """Change one place of one file: bytes [start, end) become `text`."""

    path: Path
    start: int
    end: int
    text: str

    def source(self) -> str:
        """Return the whole file, changed."""
        plain = self.path.read_bytes()
        return (plain[: self.start] + self.text.encode() + plain[self.end :]).decode()

    def lines(self) -> tuple[int, str, str]:
        """Return the number of its line, and the line before and after the change."""
        plain = self.path.read_bytes()
        number = plain.count(b"\n", 0, self.start)
        before = plain.decode().splitlines()[number].strip()
        return number + 1, before, self.source().splitlines()[number].strip()


class Finder(ast.NodeVisitor):
    """Collect what can be changed in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plain = path.read_bytes()
        self.found: list[Mutant] = []
        self._starts = [0]
        for line in self.plain.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def _at(self, node: ast.expr, *, is_end: bool = False) -> int:
        line = (node.end_lineno or 0) if is_end else node.lineno
        column = (node.end_col_offset or 0) if is_end else node.col_offset
        return self._starts[line - 1] + column

    def _change(self, start: int, end: int, text: str) -> None:
        self.found.append(Mutant(self.path, start, end, text))

    def _between(self, left: ast.expr, right: ast.expr, rule: tuple[str, str]) -> None:
        """Change the operator between two operands."""
        start, end = self._at(left, is_end=True), self._at(right)
        match = re.search(rule[0], self.plain[start:end].decode())
        if match is not None:
            self._change(start + match.start(), start + match.end(), rule[1])

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
            self._between(left, right, COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        is_text = any(isinstance(part, ast.JoinedStr | ast.Tuple) for part in (node.left, node.right))
        is_text |= any(isinstance(getattr(p, "value", 0), str) for p in (node.left, node.right))
        if not is_text and (rule := ARITHMETIC.get(type(node.op))) is not None:
            self._between(node.left, node.right, rule)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        rule = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, rule)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            word = 3 if isinstance(node.op, ast.Not) else 1
            self._change(self._at(node), self._at(node) + word, "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._change(self._at(node), self._at(node, is_end=True), str(not value))
        elif isinstance(value, int | float):
            text = repr(value + 1 if isinstance(value, int) else value * 1.5 or 1.0)
            self._change(self._at(node), self._at(node, is_end=True), text)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._change(self._at(node.value), self._at(node.value, is_end=True), "None")
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in node.body:
            self.visit(part)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(part)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip it: before 3.12 Python does not report where its parts are."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Skip it: it only fails if the code is wrong."""


def source_of(layer: str) -> Path:
    """Return the folder of the package with a layer; those of the lab are called `lab/fit` and so on."""
    return ROOT / ("lab/src" if layer.startswith("lab/") else "src")


def mutants_of(layer: str) -> list[Mutant]:
    """Return all changes of a layer."""
    found: list[Mutant] = []
    (package,) = source_of(layer).glob("plimsoll*")
    for path in sorted((package / layer.removeprefix("lab/")).rglob("*.py")):
        finder = Finder(path)
        finder.visit(ast.parse(finder.plain))
        found += finder.found
    return found


def tests_for(layer: str, path: Path) -> tuple[list[str], list[str]]:
    """Return the unit tests of a layer: those with the file's name, and the others."""
    folder = ROOT / "tests/unit" / layer
    own = set(folder.rglob(f"test_{path.stem}*.py"))
    others = set(folder.rglob("test_*.py")) - own
    return sorted(map(str, own)), sorted(map(str, others))


def whole_tests() -> list[str]:
    """Return the folders that `make test` runs, but contract tests."""
    return [str(ROOT / folder) for folder in WHOLE]


def passes(tests: Sequence[str], source: Path, timeout_s: float) -> bool:
    """Return whether the tests pass on this copy of `src`, in a process that imported all dependencies."""
    if not tests:
        return True
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        sys.path.insert(0, str(source))
        sys.dont_write_bytecode = True
        os.environ |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
        os.chdir(ROOT)
        signal.alarm(int(timeout_s))
        quick = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", QUICK]
        os._exit(pytest.main([*quick, *tests]))
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return ended in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}


def survivors(layer: str, mutants: Sequence[Mutant], *, is_whole: bool) -> Iterator[Mutant]:
    """Yield the changes that no test notices: none of the layer, or none at all."""
    with TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "src"
        shutil.copytree(source_of(layer), copy)
        begun_s = monotonic()
        _, every = tests_for(layer, Path("none"))
        if not passes(every, copy, WHOLE_TIMEOUT_S):
            sys.exit(f"error: the tests of {layer} fail without any change")
        timeout_s = 30.0 + PATIENCE * (monotonic() - begun_s)
        for number, mutant in enumerate(mutants, 1):
            changed = copy / mutant.path.relative_to(source_of(layer))
            changed.write_text(mutant.source())
            has_survived = all(passes(tests, copy, timeout_s) for tests in tests_for(layer, mutant.path))
            if has_survived and is_whole and why_equal(mutant) is None:
                has_survived = passes(whole_tests(), copy, WHOLE_TIMEOUT_S)
            changed.write_bytes(mutant.path.read_bytes())
            print(f"\r{layer}: {number} of {len(mutants)}", end="", file=sys.stderr, flush=True)
            if has_survived:
                yield mutant
    print(file=sys.stderr)


def explained() -> list[tuple[str, str, str, str]]:
    """Return the explained changes: file, part of the line, its replacement, and the reason."""
    table = tomllib.loads((ROOT / "bench/mutants.toml").read_text())
    return [(row["file"], row["line"], row["changed"], row["why"]) for row in table["equivalent"]]


def explanation(file: str, before: str, after: str) -> str | None:
    """Return why a change makes no difference; None if nobody explained it."""
    return next(
        (why for name, part, changed, why in explained() if name == file and part in before and changed in after), None
    )


def why_equal(mutant: Mutant) -> str | None:
    """Return why a change makes no difference; None if nobody explained it."""
    _, before, after = mutant.lines()
    return explanation(str(mutant.path.relative_to(ROOT)), before, after)


def run_python(layer: str, count: int, seed: int, *, is_whole: bool) -> int:
    """Try a sample of a layer; return how many unexplained changes survived."""
    mutants = mutants_of(layer)
    sample = random.Random(seed).sample(mutants, min(count, len(mutants)))
    unexplained = equivalent = 0
    for mutant in survivors(layer, sample, is_whole=is_whole):
        number, before, after = mutant.lines()
        file = str(mutant.path.relative_to(ROOT))
        why = why_equal(mutant)
        equivalent += why is not None
        unexplained += why is None
        print(f"\n{file}:{number}\n  - {before}\n  + {after}" + (f"\n  {why}" if why else ""))
    print(
        f"{layer}: {len(sample)} of {len(mutants)} changes, {len(sample) - equivalent - unexplained}"
        f" noticed, {equivalent} make no difference, {unexplained} survived"
    )
    return unexplained


def run_law(count: int) -> int:
    """Run cargo-mutants on a part of the law's changes; return how many survived unexplained."""
    command = ["cargo", "mutants", "--package", "plimsoll-core"]
    listed = subprocess.run([*command, "--list"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        sys.exit("error: cargo-mutants does not run\nhint: 'cargo install cargo-mutants' adds it.")
    total = len(listed.stdout.splitlines())
    shards = max(total // max(count, 1), 1)
    with TemporaryDirectory(prefix="mutants-") as folder:
        sharding = ["--shard", f"0/{shards}", "--sharding", "round-robin"]
        subprocess.run([*command, *sharding, "--output", folder], cwd=ROOT, check=False)
        outcomes = json.loads((Path(folder) / "mutants.out/outcomes.json").read_text())
    unexplained = 0
    for outcome in outcomes["outcomes"]:
        if outcome["summary"] != "MissedMutant":
            continue
        mutant = outcome["scenario"]["Mutant"]
        lines = (ROOT / mutant["file"]).read_text().splitlines()
        line = lines[mutant["span"]["start"]["line"] - 1].strip()
        why = explanation(mutant["file"], line, mutant["name"])
        unexplained += why is None
        print(f"\n{mutant['name']}" + (f"\n  {why}" if why else ""))
    missed, caught = outcomes["missed"], outcomes["caught"] + outcomes["timeout"]
    print(
        f"law: {missed + caught} of {total} changes, {caught} noticed,"
        f" {missed - unexplained} make no difference, {unexplained} survived"
    )
    return unexplained


def main(arguments: Sequence[str]) -> int:
    """Try the requested layers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--layer", choices=LAYERS + EDGES, action="append", help=f"default: {', '.join(LAYERS)}")
    parser.add_argument("--count", type=int, default=60, help="changes of each layer (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="which sample is drawn (default: 1)")
    parser.add_argument("--whole", action="store_true", help="then run what `make test` runs")
    parser.add_argument("--require", action="store_true", help="exit with 1 if a change survived")
    options = parser.parse_args(arguments)
    if options.whole and not passes(whole_tests(), ROOT / "src", WHOLE_TIMEOUT_S):
        sys.exit("error: tests fail without any change")
    survived = 0
    for layer in options.layer or LAYERS:
        if layer == "law":
            survived += run_law(options.count)
        else:
            survived += run_python(layer, options.count, options.seed, is_whole=options.whole)
    return int(options.require and survived > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
