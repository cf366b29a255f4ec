"""The tutorial, followed literally: an AWS double stands for the account, this machine for the host behind SSH."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.documents import blocks, commands, is_plimsoll, matches
from fixtures.aws import simulated
from fixtures.aws.double import Double, environment
from fixtures.aws.holdings import hold, write

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
INSTANCE = "orders-primary"
SHELL = [line for _, lines in blocks(TUTORIAL, "sh") for line in lines]
ON_AWS = [line for line in SHELL if is_plimsoll(line) and "rds:" in line]
SERVICE = "plimsoll watch 'rds:*'"
OVER_SSH = [line for line in SHELL if line.startswith("ssh ")]
# Run with a wheel by bench/tutorial.py, which needs the network.
INSTALLS = (
    "export PATH=~/.local/bin:$PATH",
    "python3 -m pip install --user uv",
    "uv tool install --python 3.12 plimsoll-db",
    "uv tool install --python 3.12 plimsoll-db",
    "pipx install plimsoll-db",
    "python3 -m venv plimsoll && plimsoll/bin/pip install plimsoll-db",
)
# `ssh HOST WORDS…` on this machine: like SSH, it hands the words to a shell.
SSH = '#!/bin/sh\nshift\nexec sh -c "$*"\n'
HOURS_OF_THE_EXAMPLE = 36
# The claims pipeline is at its baseline 20 hours before its end, and for hours around it.
BEFORE_END_S = 20 * simulated.HOUR_S


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """
    A simulated instance that has been at its baseline for hours and is now, and a quiet one.
    """
    folder = tmp_path_factory.mktemp("account")
    hour_s = int(time.time() // simulated.HOUR_S + 1) * simulated.HOUR_S
    days = simulated.repeated(
        simulated.example("claims-pipeline"), 3 * HOURS_OF_THE_EXAMPLE * simulated.HOUR_S
    )
    held = [
        hold(folder, simulated.moved(days, hour_s + BEFORE_END_S, identifier=INSTANCE)),
        hold(folder, simulated.moved(simulated.example("quiet"), hour_s, identifier="quiet")),
    ]
    with Double(write(folder, held)) as double:
        yield double


def started(command: str, folder: Path, variables: dict[str, str]) -> subprocess.Popen[str]:
    """
    A line of the tutorial in a shell, with the commands of this environment.
    """
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env={**variables, "PATH": path, "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_every_line_is_run_by_somebody():
    """
    Each command of the page is run below, by the contract of the documents, or by the timed installation.
    """
    assert set(SHELL) == {*INSTALLS, *ON_AWS, *OVER_SSH}
    assert (7, 1) == (len(ON_AWS), len(OVER_SSH))
    assert all(is_plimsoll(one.command) for one in commands(TUTORIAL))


@pytest.mark.parametrize("command", [line for line in ON_AWS if line != SERVICE])
def test_a_command_works_on_an_account(account: Double, tmp_path: Path, command: str):
    """
    From an account with one instance at its limit each command gives an answer that names it.
    """
    process = started(command, tmp_path, environment(account.url, tmp_path))
    output, errors = process.communicate(timeout=120)

    assert (0 if "check" in command else 1) == process.returncode, output + errors
    assert INSTANCE in output + errors
    assert "--html" not in command or (tmp_path / "report.html").stat().st_size > 0


def test_the_table_is_the_one_shown(account: Double, tmp_path: Path):
    """
    The page shows what the command prints for this account, apart from times.
    """
    ((_, shown),) = blocks(TUTORIAL, "text")
    process = started(ON_AWS[0], tmp_path, environment(account.url, tmp_path))
    output, errors = process.communicate(timeout=120)

    printed = [line.rstrip() for line in output.splitlines()]
    assert matches(tuple(line.rstrip() for line in shown), printed), output + errors


def test_the_watch_goes_on_until_it_is_ended(account: Double, tmp_path: Path):
    """
    The last command serves its page, here on a free port, and ends by SIGTERM.
    """
    command = f"exec {SERVICE} --web.listen-address 127.0.0.1:0"
    process = started(command, tmp_path, environment(account.url, tmp_path))
    try:
        assert process.stderr is not None
        lines = [process.stderr.readline()]
        while "first reading" not in lines[-1]:
            assert lines[-1], lines
            lines.append(process.stderr.readline())
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    assert re.search(r"bound=[1-9]", lines[-1]), lines


@pytest.mark.parametrize("command", OVER_SSH)
def test_a_host_is_diagnosed_through_a_pipe(tmp_path: Path, command: str):
    """
    With iostat of this machine the pipe ends in a report; four seconds of it say that they are too few.
    """
    (tmp_path / "ssh").write_text(SSH)
    (tmp_path / "ssh").chmod(0o755)
    shorter = command.replace(" 1 120 ", " 1 4 ")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    process = started(shorter, tmp_path, {**kept, "LC_ALL": "C.UTF-8"})
    output, errors = process.communicate(timeout=120)

    assert command != shorter
    assert 2 == process.returncode, output + errors
    assert "Measure for at\n    least 1 min" in output
    assert "1 volume" in output
