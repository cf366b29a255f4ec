"""`plimsoll pace`: the printed allowance, the pipe, and what cannot be."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from contract.tree import ROOT
from plimsoll.cli.commands import app
from plimsoll.cli.pace import address_of

CLAIMS = str(ROOT / "examples/claims-pipeline")


def printed(*arguments: str) -> dict:
    result = CliRunner().invoke(app, ["pace", CLAIMS, *arguments, "--format", "json"])
    assert 0 == result.exit_code
    return json.loads(result.stdout)


def test_a_larger_reserve_leaves_less():
    rates = [printed("--reserve", r)["unstepped_bytes_per_s"] for r in ("0", "50", "90")]

    assert rates == sorted(rates, reverse=True)
    assert rates[0] > rates[2]


def test_an_instance_that_is_named_replaces_the_recorded_one():
    """db.m6g.xlarge has a baseline of 150 MB/s instead of 87."""
    found = printed("--class", "db.m6g.xlarge")

    assert 148.5e6 == found["ceilings"][0]["baseline_per_s"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9779", ("127.0.0.1", 9779)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("[::1]:9779", ("::1", 9779)),
        ("db1.internal:9779", ("db1.internal", 9779)),
    ],
)
def test_an_address_is_host_and_port(text, address):
    assert address == address_of(text)


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)


def test_a_pipe_ends_when_its_reader_goes():
    """`| head` is no error that is told, and has exit status 2, as output was lost."""
    command = f"yes | head -c 2000000 | {sys.executable} -m plimsoll pace {CLAIMS} --cat | head -c 10"

    assert "" == shell(f"set -o pipefail; {command} >/dev/null; echo ${{PIPESTATUS[@]}}").stderr


def test_a_closed_standard_input_is_no_batch():
    done = shell(f"{sys.executable} -m plimsoll pace {CLAIMS} --cat <&-")

    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("error: standard input is closed\n")
