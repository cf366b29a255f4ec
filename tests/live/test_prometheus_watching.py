"""`diagnose prom:URL --watch` against a double of Prometheus: read as often as asked, printed once."""

import signal
import subprocess
import sys
import time

from fixtures.prometheus.expositions import history
from fixtures.prometheus.servers import Double

DEADLINE_S = 60.0
MINUTES = 180


def test_a_server_is_read_every_second_and_a_failure_is_told():
    """One report for one verdict; the server goes away, and a line says so; Ctrl-C ends with 130."""
    now_s = int(time.time()) // 60 * 60
    minutes_ms = [1000 * (now_s - 60 * ago) for ago in range(MINUTES, 0, -1)]
    with Double(history("cloudwatch_exporter", minutes_ms)) as double:
        command = subprocess.Popen(
            [
                *(sys.executable, "-m", "plimsoll", "diagnose", f"prom:{double.url}"),
                *("--watch", "1s", "--last", "2h", "--class", "db.m5.large"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert command.stdout is not None
        assert command.stderr is not None
        reported = [command.stdout.readline() for _ in range(2)]
        first = len(double.requests)
        deadline = time.monotonic() + DEADLINE_S
        while len(double.requests) < 2 * first and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(double.requests) >= 2 * first
    remarks = ""
    for line in command.stderr:
        remarks += line
        if "reading failed, the last verdict is" in line:
            break
    command.send_signal(signal.SIGINT)
    out, errors = command.communicate(timeout=DEADLINE_S)

    assert 130 == command.returncode, remarks + errors
    assert reported[0].endswith(" UTC\n")
    assert reported[1][0] in "▲◆●○"
    assert not [line for line in out.splitlines() if line.startswith("20")]  # no second report
    assert "Reads every 1 s\n" in remarks
