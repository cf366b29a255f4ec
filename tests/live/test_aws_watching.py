"""`diagnose rds:NAME --watch` against a double of AWS: on a terminal it redraws, Ctrl-C ends it with 130."""

import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.aws import proxy, simulated
from fixtures.aws.double import Double, environment
from fixtures.aws.holdings import hold, write
from fixtures.aws.proxy import Proxy, Rule

NAME = "simulated-claims"
DEADLINE_S = 60.0
PROGRAM = "import plimsoll.cli.diagnose.repeat as r; r.CLOUDWATCH_S = 1\nfrom plimsoll.cli.main import main; main()"
"""The command, with the shortest time between readings of CloudWatch cut to a second."""
COMMAND = (sys.executable, "-c", PROGRAM, "diagnose", f"rds:{NAME}", "--watch", "1s")


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """An account with one instance that is behind a ceiling for hours."""
    folder = tmp_path_factory.mktemp("account")
    snapshot = simulated.moved(simulated.example("claims-pipeline"), simulated.recent_end_s(), identifier=NAME)
    with Double(write(folder, [hold(folder, snapshot)])) as running:
        yield running


def test_a_terminal_is_redrawn_and_a_failure_leaves_the_verdict(double: Double):
    """The report is drawn again in place; AWS fails, the verdict is stale; Ctrl-C ends with 130."""
    rules = [Rule(action="rds:DescribeDBInstances", fault=proxy.denied, skip=2, times=None)]
    master, slave = pty.openpty()
    with tempfile.TemporaryDirectory(prefix="plimsoll-aws-") as place, Proxy(double.port, rules) as between:
        variables = environment(between.url, Path(place), TERM="xterm", COLUMNS="80")
        command = subprocess.Popen(
            COMMAND,
            cwd=place,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        try:
            seen = _until(master, b"Reading failed: ")
            command.send_signal(signal.SIGINT)
            status = _ended(command, master)
        finally:
            command.kill()
            command.wait()
            os.close(master)
    text = seen.decode()

    assert 130 == status, text
    assert text.count("Was at a limit") > 1
    assert "SIMULATED" not in text  # the account's instance does not say so
    assert "\x1b[1A" in text  # the cursor goes up: nothing scrolls
    assert "STALE: Read at " in text
    assert "requests to AWS a day" in text


def test_a_pipe_gets_one_report(double: Double):
    """However often it is read, the same verdict is printed once."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-aws-") as place, Proxy(double.port, []) as between:
        command = subprocess.Popen(
            COMMAND,
            cwd=place,
            env=environment(between.url, Path(place)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline and between.counts().get("cloudwatch:GetMetricData", 0) < 3:
            time.sleep(0.1)
        command.send_signal(signal.SIGINT)
        out, errors = command.communicate(timeout=DEADLINE_S)

    assert 130 == command.returncode, errors
    assert 1 == out.count("Was at a limit"), out
    assert "a report is printed when the verdict changes" in errors
    assert "interrupted" in errors


def _until(master: int, wanted: bytes) -> bytes:
    """What the terminal showed until it showed something."""
    seen, deadline = b"", time.monotonic() + DEADLINE_S
    while wanted not in seen and time.monotonic() < deadline:
        try:
            seen += os.read(master, 4096)
        except OSError:
            break
    return seen


def _ended(command: subprocess.Popen[bytes], master: int) -> int:
    """The exit status; the terminal is read so that nothing waits to be written."""
    try:
        while os.read(master, 4096):
            pass
    except OSError:
        pass
    return command.wait(DEADLINE_S)
