"""The tutorial, followed literally: an AWS double stands for the account, this machine for the host behind SSH."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.documents import blocks, commands, is_plimsoll, matches
from fixtures.aws.double import Double, environment
from fixtures.aws.tutorial import INSTANCE, holdings

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
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
# A busy machine takes long.
PATIENCE_S = 600
# `ssh HOST WORDS…` on this machine: like SSH, it hands the words to a shell.
SSH = '#!/bin/sh\nshift\nexec sh -c "$*"\n'


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """The account of the tutorial."""
    with Double(holdings(tmp_path_factory.mktemp("account"))) as double:
        yield double


def started(command: str, folder: Path, variables: dict[str, str]) -> subprocess.Popen[str]:
    """A line of the tutorial in a shell, with the commands of this environment."""
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


def answered(command: str, folder: Path, variables: dict[str, str]) -> tuple[int, str, str]:
    """The exit status of such a line, and what it printed; one that never ends is killed."""
    with started(command, folder, variables) as process:
        try:
            output, errors = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, output, errors


def test_every_line_is_run_by_somebody():
    """Each command of the page is run below, by the contract of the documents, or by the timed installation."""
    assert set(SHELL) == {*INSTALLS, *ON_AWS, *OVER_SSH}
    assert (7, 1) == (len(ON_AWS), len(OVER_SSH))
    assert all(is_plimsoll(one.command) for one in commands(TUTORIAL))


@pytest.mark.parametrize("command", [line for line in ON_AWS if line != SERVICE])
def test_a_command_works_on_an_account(account: Double, tmp_path: Path, command: str):
    """From an account with one instance at its limit each command gives an answer that names it."""
    status, output, errors = answered(command, tmp_path, environment(account.url, tmp_path))

    assert (0 if "check" in command else 1) == status, output + errors
    assert INSTANCE in output + errors
    assert "--html" not in command or (tmp_path / "report.html").stat().st_size > 0


def without_times(lines: list[str]) -> list[str]:
    """The words of lines, with T for each length of time and N for each other number, whatever their widths are."""
    text = re.sub(r"\d+ h(?: \d+ min)?|\d+ min", "T", "\n".join(lines))
    return [" ".join(line.split()) for line in re.sub(r"\d+(?:[.:-]\d+)*", "N", text).splitlines()]


def test_the_table_is_the_one_shown(account: Double, tmp_path: Path):
    """The page shows what the command prints for this account, apart from times and numbers."""
    ((_, shown),) = blocks(TUTORIAL, "text")
    _, output, errors = answered(ON_AWS[0], tmp_path, environment(account.url, tmp_path))

    assert matches(tuple(without_times(shown)), without_times(output.splitlines())), output + errors


def test_the_watch_goes_on_until_it_is_ended(account: Double, tmp_path: Path):
    """The last command serves its page, here on a free port, and ends by SIGTERM."""
    command = f"exec {SERVICE} --web.listen-address 127.0.0.1:0"
    with started(command, tmp_path, environment(account.url, tmp_path)) as process:
        try:
            assert process.stderr is not None
            lines = [process.stderr.readline()]
            while "first reading" not in lines[-1]:
                assert lines[-1], lines
                lines.append(process.stderr.readline())
        finally:
            process.send_signal(signal.SIGTERM)

    assert re.search(r"bound=[1-9]", lines[-1]), lines


@pytest.mark.parametrize("command", OVER_SSH)
def test_a_host_is_diagnosed_through_a_pipe(tmp_path: Path, command: str):
    """With iostat of this machine the pipe ends in a report; four seconds of it say that they are too few."""
    (tmp_path / "ssh").write_text(SSH)
    (tmp_path / "ssh").chmod(0o755)
    shorter = command.replace(" 1 120 ", " 1 4 ")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    status, output, errors = answered(shorter, tmp_path, {**kept, "LC_ALL": "C.UTF-8"})

    assert command != shorter
    assert 2 == status, output + errors
    assert "Measure for at\n    least 1 min" in output
    assert "1 volume" in output
