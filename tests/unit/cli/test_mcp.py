"""`plimsoll mcp`: what it refuses before it serves anyone."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--root", "/nowhere"], "root '/nowhere' is not a folder"),
        (["--live", "http://p"], "'http://p' is not a live target"),
        (
            ["--live", "prom:http://u:canary@p"],
            "the address of --live contains a user or a password",
        ),
        (["--timeout", "soon"], "--timeout 'soon' is not a time in whole seconds"),
        (["extra"], "got unexpected extra argument"),
    ],
)
def test_a_bad_option_is_one_sentence(arguments, message):
    """With a hint and status 2; nothing is written to the protocol."""
    found = subprocess.run(
        [sys.executable, "-m", "plimsoll", "mcp", *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert (2, "") == (found.returncode, found.stdout)
    assert found.stderr.startswith(f"error: {message}")
    assert 2 == len(found.stderr.splitlines())
    assert "canary" not in found.stderr
