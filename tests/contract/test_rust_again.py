"""The runner of the tests in Rust forgives one failure of a target, and nothing else: .ci/rust-tests."""

import os
import subprocess
from pathlib import Path

import pytest

from contract.tree import ROOT

# What `cargo test --no-fail-fast` writes at the end when targets failed.
LIST = "error: 2 targets failed:\n    `-p gate --test rates`\n    `-p core --doc`\n"
CARGO = """#!/bin/sh
echo "$*" >> "$CALLS"
case "$*" in
  *--no-fail-fast*) printf '%s' "$SAID"; exit "$FIRST" ;;
  *--doc*) exit "$DOC" ;;
esac
"""


@pytest.mark.parametrize(
    ("first", "said", "doc", "status", "again"),
    [
        ("0", "", "1", 0, []),
        ("101", LIST, "0", 0, ["-p gate --test rates", "-p core --doc"]),
        ("101", LIST, "101", 1, ["-p gate --test rates", "-p core --doc"]),
        # It does not compile, so nothing is listed.
        ("101", "error: could not compile `gate`\n", "0", 1, []),
    ],
)
def test_what_fails_twice_is_a_failure(
    tmp_path: Path, first: str, said: str, doc: str, status: int, again: list[str]
):
    """Each target that cargo lists is run again, whole; the last one decides here."""
    cargo, calls = tmp_path / "cargo", tmp_path / "calls"
    cargo.write_text(CARGO)
    cargo.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "CALLS": str(calls), "FIRST": first, "SAID": said, "DOC": doc}
    done = subprocess.run(
        [ROOT / ".ci/rust-tests"], env=environment, capture_output=True, text=True, check=False
    )

    ran = [call.removeprefix("test --locked ") for call in calls.read_text().splitlines()]
    assert (status, again) == (done.returncode, ran[1:]), done.stderr
