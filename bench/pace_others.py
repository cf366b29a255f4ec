"""Somebody else's clients beside a load, and a watch for a machine that stands still."""

import subprocess
import threading
import time
from pathlib import Path

from plimsoll_lab.servers.postgres import Postgres


class Others:
    """Clients of somebody else: one row read and one updated, at a fixed rate."""

    def __init__(self, server: Postgres, folder: Path, per_s: int) -> None:
        self._folder = folder
        script = folder / "others.sql"
        script.write_text(
            "\\set a random(1, 2000000)\n"
            "select abalance from pgbench_accounts where aid = :a;\n"
            "update pgbench_accounts set abalance = abalance + 1 where aid = :a;\n"
        )
        for old in folder.glob("others.log*"):
            old.unlink()
        self._process = subprocess.Popen(
            [
                *(str(server.program("pgbench")), "-n", "-c", "4", "-T", "100000"),
                *("-R", str(per_s), "-l", "--log-prefix", str(folder / "others.log")),
                *("-f", str(script)),
            ],
            env={"PATH": "/usr/bin:/bin", **server.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def end(self, began_s: float, ended_s: float) -> list[float]:
        """Stop, and return the latencies of an interval, in seconds; `transactions` keeps them with their ends."""
        self._process.terminate()
        self._process.wait()
        self.transactions: list[tuple[float, float]] = []
        for path in self._folder.glob("others.log*"):
            for line in path.read_text().splitlines():
                # client, number, latency in µs, script, epoch seconds, µs, lag of the schedule in µs
                parts = line.split()
                if len(parts) >= 6 and parts[2].isdecimal():
                    moment = int(parts[4]) + int(parts[5]) / 1e6
                    if began_s <= moment <= ended_s:
                        self.transactions.append((moment, int(parts[2]) / 1e6))
        return [wait_s for _, wait_s in self.transactions]


class Watch:
    """Notices when this machine stands still."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._longest_s = 0.0
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        last = time.monotonic()
        while not self._over.wait(0.1):
            now = time.monotonic()
            self._longest_s = max(self._longest_s, now - last - 0.1)
            last = now

    def end(self) -> float:
        """Return the longest pause, in seconds."""
        self._over.set()
        self._thread.join()
        return self._longest_s
