"""The plan and the template of the first incident, as people see what is wrong before it is applied."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from contract.tree import ROOT


def lint(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "plimsoll", "lint", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("width", [60, 100])
def test_the_plan_of_incident_1_reads_as_reviewed(width: int, golden: Callable[[str, str], None]):
    """One warning: the limit, the price and that this change introduces it."""
    result = lint("terraform", "examples/infrastructure/plan.json", "--width", str(width))

    assert (result.returncode, result.stderr) == (1, "")
    golden(f"infrastructure/plan-{width}.txt", result.stdout)


def test_the_template_of_incident_1_reads_as_reviewed(golden: Callable[[str, str], None]):
    """With the line of the resource, and what was assumed of its parameters."""
    result = lint(
        "cloudformation", "examples/infrastructure/template.yaml", "--region", "us-east-1",
        "--width", "80",
    )  # fmt: skip

    assert (result.returncode, result.stderr) == (1, "")
    golden("infrastructure/template.txt", result.stdout)


def test_a_plan_with_every_finding_reads_as_reviewed(golden: Callable[[str, str], None]):
    """Every kind of finding, and every kind of what was not checked."""
    result = lint("terraform", "tests/fixtures/infrastructure/mixed.json", "--width", "100")

    assert (result.returncode, result.stderr) == (1, "")
    golden("infrastructure/mixed.txt", result.stdout)
