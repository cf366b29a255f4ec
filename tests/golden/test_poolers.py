"""The pooled cluster of 2021, as people see what was wrong with its pooler."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from contract.tree import ROOT

CONFIG = "examples/pooled-cluster/pgpool.conf"


def lint(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "plimsoll", "lint", "pooler", CONFIG, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("width", [80, 120])
def test_the_pooled_cluster_reads_as_reviewed(width: int, golden: Callable[[str, str], None]):
    """With the version of its time and a server of 1,000 connections, the findings are what was reviewed."""
    result = lint("--version", "4.1.2", "--max-connections", "1000", "--width", str(width))

    assert (result.returncode, result.stderr) == (1, "")
    golden(f"pooler/pooled-cluster-{width}.txt", result.stdout)


def test_the_version_is_not_needed(golden: Callable[[str, str], None]):
    """The file alone is enough to be warned; what hangs on the version says so."""
    result = lint("--width", "80")

    assert (result.returncode, result.stderr) == (1, "")
    golden("pooler/pooled-cluster-alone.txt", result.stdout)


def test_a_mended_release_keeps_what_does_not_hang_on_it():
    """In 4.1.4 the timers work; ten clients a child are still few."""
    report = json.loads(lint("--version", "4.1.9", "--format", "json").stdout)

    assert [finding["code"] for finding in report["findings"]] == ["ChildrenShortLived", "IdleLimitContradicts"]
