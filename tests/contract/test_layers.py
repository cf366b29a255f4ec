"""Imports point inward; and the contract that says so notices when they do not."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from contract.tree import ROOT

LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(cache_dir=None, no_logo=True))"

# Which module of a skeleton imports what, and the contract that must refuse it.
VIOLATIONS = [
    ("model", "plimsoll.limits", "Dependencies point inward"),
    ("sources", "plimsoll.reports", "Dependencies point inward"),
    ("module_in_no_layer", "plimsoll.units", "Dependencies point inward"),
    ("diagnosis", "time", "The core does no I/O and reads no clock"),
    ("diagnosis", "plimsoll.causes", "Dependencies point inward"),
    ("causes", "plimsoll.plan", "Dependencies point inward"),
    ("lint", "plimsoll.causes", "Dependencies point inward"),
    ("pools", "time", "The core does no I/O and reads no clock"),
    ("plan", "random", "The core does no I/O and reads no clock"),
    ("reports", "plimsoll.plan", "The edges speak only the model"),
    ("reports", "plimsoll.catalog", "The edges speak only the model"),
    ("lab", "plimsoll.sources", "The gate and the lab are handed their edges"),
    ("gate", "plimsoll.sources", "Dependencies point inward"),
    ("gate", "plimsoll.lab", "Dependencies point inward"),
    ("sources", "plimsoll.lab", "Only the command line and app reach the lab"),
    ("reports", "plimsoll.gate", "Only the command line, app and the lab reach the gate"),
    ("plan", "plimsoll.gate", "Only the command line, app and the lab reach the gate"),
    ("plan", "plimsoll.lab", "Only the command line and app reach the lab"),
    ("load", "plimsoll.sources", "Loading is handed its metrics"),
    ("load", "plimsoll.gate", "Loading is handed its metrics"),
    ("load", "plimsoll.lab", "Dependencies point inward"),
    ("watch", "plimsoll.load", "Dependencies point inward"),
    ("watch", "plimsoll.sources", "The watch is handed its edges"),
    ("watch", "plimsoll.diagnosis", "The watch is handed its edges"),
    ("plan", "plimsoll.load", "Dependencies point inward"),
    ("lab", "plimsoll.app", "Dependencies point inward"),
    ("reports", "plimsoll.app", "Dependencies point inward"),
]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the package under `root` with the contract under `root`."""
    return subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "NO_COLOR": "1", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_imports_point_inward():
    """No contract of pyproject.toml is broken."""
    result = lint(ROOT)

    assert result.returncode == 0, result.stdout + result.stderr


def skeleton(root: Path) -> Path:
    """Make a package under `root` that has one empty module a layer; return its folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    package = root / "src" / "plimsoll"
    for name in ["", *(name for layer in layers for name in layer.split(" | "))]:
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    shutil.copy(ROOT / "pyproject.toml", root)
    return package


def test_a_skeleton_of_the_layers_keeps_the_contract(tmp_path: Path):
    """Layers that import nothing break nothing; so the violations below are what is refused."""
    skeleton(tmp_path)

    result = lint(tmp_path)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("imported", ["lab", "load", "watch", "gate", "sources", "reports", "plan"])
def test_app_composes_edges_law_and_lab(tmp_path: Path, imported: str):
    """The package that composes may import all that it composes, including the lab and the gate."""
    package = skeleton(tmp_path)
    (package / "app" / "__init__.py").write_text(f"import plimsoll.{imported}\n", encoding="utf-8")

    result = lint(tmp_path)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("importer", "imported", "contract"), VIOLATIONS)
def test_the_contract_bites(tmp_path: Path, importer: str, imported: str, contract: str):
    """One import in a wrong direction, or a module in no layer, breaks the contract that forbids it."""
    folder = skeleton(tmp_path) / importer
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").write_text(f"import {imported}\n", encoding="utf-8")

    result = lint(tmp_path)

    assert result.returncode == 1
    assert f"{contract} BROKEN" in result.stdout
