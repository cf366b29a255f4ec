"""The import contracts of pyproject.toml notice what they forbid; `make layers` holds the package to them."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from contract.tree import ROOT
from programs import ran

LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(cache_dir=None, no_logo=True))"
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]

# What a module of a skeleton imports: one violation, at least, of each contract.
VIOLATIONS = [
    ("plimsoll.model", "plimsoll.limits"),
    ("plimsoll.module_in_no_layer", "plimsoll.units"),
    ("plimsoll.diagnosis", "time"),
    ("plimsoll.reports", "plimsoll.catalog"),
    ("plimsoll.sources.files", "plimsoll.sources.aws"),
    ("plimsoll.sources.unlisted", "plimsoll.units"),
    ("plimsoll.plan.market", "plimsoll.plan.judge"),
    ("plimsoll.plan.judge", "plimsoll.plan.market"),
    ("plimsoll.watch.law", "threading"),
    ("plimsoll.load", "plimsoll.reports"),
    ("plimsoll.watch", "plimsoll.diagnosis"),
    ("plimsoll.fleet", "plimsoll.reports"),
    ("plimsoll.plan", "plimsoll_lab.gate"),
    ("plimsoll_lab.gate", "plimsoll.reports"),
    ("plimsoll_lab.model", "plimsoll_lab.fit"),
]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the packages under `root` with the contract under `root`."""
    return ran(
        [sys.executable, "-c", LINT],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "NO_COLOR": "1", "COLUMNS": "200"},
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The modules that the contracts name, all empty; the folder that holds the packages."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    named = {name for one in CONTRACTS for name in one.get("source_modules", ())}
    for one in CONTRACTS:
        for layer in one.get("layers", ()):
            named |= {f"{one['containers'][0]}.{name}" for name in layer.split(" | ")}
    for name in named:
        add(tmp_path / "src", name)
    return tmp_path / "src"


def add(source: Path, name: str, text: str = "") -> None:
    """Write a module as a package, and its parents."""
    parts = name.split(".")
    source.joinpath(*parts).mkdir(parents=True, exist_ok=True)
    for count in range(1, len(parts) + 1):
        source.joinpath(*parts[:count], "__init__.py").touch()
    with source.joinpath(*parts, "__init__.py").open("a", encoding="utf-8") as file:
        file.write(text)


def test_what_imports_nothing_breaks_nothing(package: Path):
    """So what is refused below are the violations."""
    result = lint(package.parent)

    assert result.returncode == 0, result.stdout + result.stderr


def test_every_contract_refuses_what_it_forbids(package: Path):
    """An import in a wrong direction, a module in no layer and a cycle break the contracts that forbid them."""
    for importer, imported in VIOLATIONS:
        add(package, importer, f"import {imported}\n")
    result = lint(package.parent)

    assert result.returncode == 1
    assert {f"{one['name']} BROKEN" for one in CONTRACTS} <= set(result.stdout.splitlines())
    for importer, imported in VIOLATIONS:
        if "plimsoll.units" == imported:
            assert f"\n- {importer}\n" in result.stdout
