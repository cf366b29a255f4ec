"""Real servers of the tests, and waiting for what they do."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from pooled_cluster.services import Counts

ROOT = Path(__file__).parents[2]
WAIT_S = 120.0


def wait_for(what: str, is_so: Callable[[], object], timeout_s: float = WAIT_S) -> None:
    """Poll until it is so."""
    end = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < end, f"waited {timeout_s} s for {what}"
        time.sleep(0.02)


class Server:
    """A server that `plimsoll lab servers` started."""

    def __init__(self, name: str) -> None:
        words = (os.environ.get("PLIMSOLL") or shutil.which("plimsoll") or "").split()
        assert words, "set PLIMSOLL to the command that starts servers"
        self._program = subprocess.Popen([*words, "lab", "servers", "--start", name], stdout=subprocess.PIPE, text=True)
        for line in self._program.stdout:
            if " answers at " in line:
                self.address = line.rpartition(" ")[2].strip()
                return
        raise AssertionError(f"{name} did not start: status {self._program.wait()}")

    def stop(self) -> None:
        self._program.send_signal(signal.SIGINT)
        self._program.communicate(timeout=60)


class Database:
    """A database, and how to look at it past the services."""

    def __init__(self, address: str) -> None:
        self.address = address
        parts = urlsplit(address)
        self.host, self.port = parts.hostname, parts.port
        self.target = {"database": parts.path[1:], "user": parts.username, "password": parts.password}

    def rows(self, text: str, *values: object) -> list[tuple]:
        """Run a statement, and return its rows."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            found = connection.execute(text, values or None)
            return found.fetchall() if found.description else []

    def count(self, text: str, *values: object) -> int:
        """Return the one number that a statement returns."""
        return self.rows(text, *values)[0][0]

    def sessions(self, state: str = "%") -> int:
        """Return how many connections of pgjdbc are in a state."""
        return self.count(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name ~ '-[0-9]+$' AND state LIKE %s", state
        )

    def end_sessions(self, which: str) -> int:
        """
        End the sessions of pgjdbc for which a condition on pg_stat_activity holds; return how many there were.
        """
        return self.count(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            f" WHERE application_name ~ '-[0-9]+$' AND {which}"
        )


def is_over(counts: Counts) -> bool:
    """Return whether each business transaction that arrived has ended, and no request is served."""
    ended = counts.done + sum(counts.failed.values())
    return counts.arrivals == ended and counts.now.in_service + counts.now.queued == 0


def is_running(process: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
