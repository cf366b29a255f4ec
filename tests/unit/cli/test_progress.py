"""What people see while a command waits, on a real terminal."""

import os
import pty
import subprocess
import sys
import time
from types import SimpleNamespace

from plimsoll.app.read import waiting_for
from plimsoll.cli.progress import progress_while
from plimsoll.model.overview import Usage
from plimsoll.sources.files.standard_input import InputProgress


def seen_until(master: int, wanted: bytes, limit_s: float = 60.0) -> bytes:
    """What a terminal showed until it showed something."""
    seen, deadline = b"", time.monotonic() + limit_s
    while wanted not in seen and time.monotonic() < deadline:
        seen += os.read(master, 4096)
    return seen


def test_a_pipe_shows_what_came_so_far():
    """The newest line and how to end, while nothing is diagnosed yet; then the line is gone."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "plimsoll", "diagnose", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=slave,
    ) as command:
        os.close(slave)
        assert command.stdin is not None
        command.stdin.write(b"Linux 6.1.0 (db1) \t11/20/26 \t_x86_64_\t(2 CPU)\n\nDevice r/s\n")
        command.stdin.flush()
        seen = seen_until(master, b"Device r/s")
        command.stdin.close()
        rest = seen_until(master, b"error:")
        assert 2 == command.wait(60)
    os.close(master)

    assert b"3 lines so far, Ctrl-C ends: Device r/s" in seen
    assert b"\r" + b" " * 40 in rest


def test_what_came_is_counted_by_lines():
    """The newest whole line; a part of one is not shown, and nothing that a terminal would obey."""
    input_progress = InputProgress()
    assert "waiting for standard input" == input_progress.text()
    input_progress.add(b"a\n\x1b[31mb\nhalf")

    assert "2 lines so far, Ctrl-C ends: ?[31mb" == input_progress.text()


def test_a_reading_from_aws_says_what_it_waits_for():
    """Nothing before the first request: a person may be typing a code then."""
    account = SimpleNamespace(usage=Usage(calls=(), metrics_requested=0), is_waiting_for="")
    assert "" == waiting_for(account)
    account.usage = Usage(calls=(("rds:DescribeEvents", 12),), metrics_requested=0)
    account.is_waiting_for = "rds:DescribeEvents"

    assert "12 requests to AWS, the last one for rds:DescribeEvents" == waiting_for(account)


def test_a_log_gets_nothing(monkeypatch, capsys):
    """Standard error that is no terminal stays as it was."""
    monkeypatch.setattr("plimsoll.cli.progress.FIRST_S", 0.0)
    with progress_while(lambda: "asking"):
        time.sleep(0.05)

    assert "" == capsys.readouterr().err
