"""
A ledger that tells whether acknowledged commits survive a crash.

Clients append numbered rows over SQL and write each number down on their own side, outside the
mount, only once COMMIT was acknowledged. After a crash the table must have every number that was
written down, none twice, none that was never sent, and of those without an acknowledgement at most
the one that each client was waiting for. Beside the rows each client has a sum, kept in the same
transactions: rows and sums disagree if half a transaction survived.
"""

import contextlib
import itertools
import os
import signal
import threading
import time
from pathlib import Path

import psycopg
from msgspec import Struct

from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.servers.postgres import Postgres

PATIENCE_S = 60.0
VICTIMS = ("gate", "postgres", "both")
CLIENTS = 4

# Small, so that pages leave PostgreSQL's memory, checkpoints run, and a crash finds both under way.
SETTINGS = {
    "shared_buffers": "8MB",
    "checkpoint_timeout": "30s",
    "max_wal_size": "32MB",
    "wal_buffers": "256kB",
    "max_connections": "20",
    # In the data directory, so that a server that is killed leaves nothing in /dev/shm.
    "dynamic_shared_memory_type": "mmap",
}
# Rows of 900 bytes fill pages quickly; of random letters, so that nothing compresses them.
SCHEMA = """
create table ledger (number bigint primary key, client int not null, amount int not null, page text);
create table sums (client int primary key, amount bigint not null);
insert into sums select g, 0 from generate_series(0, 63) g;
"""
CHECKS = {
    "a number is there twice": "select count(*) - count(distinct number) from ledger",
    "the index and the table differ": (
        "select (select count(*) from ledger where number >= 0) - count(*) from (select 1 from ledger offset 0) t"
    ),
    "sums and rows differ": (
        "select count(*) from sums s where amount <>"
        " (select coalesce(sum(l.amount), 0) from ledger l where l.client = s.client)"
    ),
}


class Sent(Struct, kw_only=True):
    """What one client sent before the crash."""

    client: int
    acknowledged: list[int]
    """Numbers whose COMMIT was acknowledged."""
    unsettled: int | None = None
    """The number it waited for when the connection was lost."""


class Writer(threading.Thread):
    """One client: a row and a sum in each transaction, until the server is gone."""

    def __init__(self, dsn: str, sent: Sent, numbers: "itertools.count[int]", log: Path) -> None:
        super().__init__(daemon=True)
        self._dsn, self.sent, self._numbers, self._log = dsn, sent, numbers, log
        self.begun = threading.Event()

    def run(self) -> None:
        """Append until it fails."""
        sent = self.sent
        with (
            contextlib.suppress(psycopg.Error),
            self._log.open("a") as log,
            psycopg.connect(self._dsn, connect_timeout=10) as connection,
        ):
            while True:
                sent.unsettled = next(self._numbers)
                self._append(connection, sent.unsettled)
                log.write(f"{sent.unsettled}\n")
                log.flush()
                sent.acknowledged.append(sent.unsettled)
                self.begun.set()

    def _append(self, connection: psycopg.Connection, number: int) -> None:
        client, amount = self.sent.client, number % 97
        connection.execute(
            "insert into ledger select %s, %s, %s, string_agg(md5(random()::text), '') from generate_series(1, 28)",
            (number, client, amount),
        )
        connection.execute("update sums set amount = amount + %s where client = %s", (amount, client))
        connection.commit()


class Ledger:
    """One database in a folder behind a gate, and what its clients know of it."""

    def __init__(self, folder: Path, setup: GateSetup) -> None:
        """
        Make the database beside the gate: the laboratory's initdb leaves all to the page cache, and
        kill -9 of a gate is to its page cache what a power cut is to that of a disk.
        """
        self.folder, self.setup = folder, setup
        folder.chmod(0o711)
        (folder / "data").mkdir()
        with Postgres(SETTINGS, data_directory=folder / "data" / "pg") as server:
            (folder / "data").chmod(0o711)
            server.account.own(folder / "data")
            server.run("psql", "-Xqc", SCHEMA)
            self._made = server
        self._numbers = itertools.count(1)
        self.acknowledged: dict[int, int] = {}
        """Number to client."""
        self.unsettled: dict[int, int] = {}

    def crash(self, victim: str, seconds: float) -> int:
        """
        One round: mount, start, write, kill -9, check.

        Args:
            victim: one of VICTIMS.
            seconds: how long is written before the crash.

        Returns:
            Commits that were acknowledged in this round.

        Raises:
            AssertionError: the ledger of the rounds before is not whole.
        """
        with Gate(self.setup, self.folder / "data", self.folder / "disk") as gate:
            server = self._made.relocated(gate.mount / "pg", SETTINGS)
            with server:
                self.check(server)
                postmaster = postmaster_of(server)
                writers = self._write(server)
                time.sleep(seconds)
                family = [postmaster, *children_of(postmaster)]
                if victim != "postgres":
                    kill(gate.daemon_pid)
                # Of a server without postmaster nobody ends those who wait for a lock that one held
                # whom the dead mount ended; so with the gate all of it is killed.
                for pid in {"gate": [], "postgres": family[:1], "both": family}[victim]:
                    kill(pid)
                for writer in writers:
                    writer.join(PATIENCE_S)
                    assert not writer.is_alive()
                if victim != "postgres":
                    assert gate.wait(PATIENCE_S)
                    for pid in family:
                        kill(pid)
            wait_for_end(family)
        return self._note(writers)

    def settle(self) -> None:
        """
        A last start, with PostgreSQL's own checks of every page and index.

        Raises:
            AssertionError: something was lost, or is there twice.
            SourceError: a page or an index is broken.
        """
        with Gate(self.setup, self.folder / "data", self.folder / "disk") as gate:
            with self._made.relocated(gate.mount / "pg", SETTINGS) as server:
                self.check(server)
                server.run("pg_amcheck", "--install-missing", "--heapallindexed", "postgres")
            server.run("pg_checksums", "--check", "-D", str(gate.mount / "pg"))
        # The same from the disk itself: an orderly end left nothing in the mount's memory alone.
        server.run("pg_checksums", "--check", "-D", str(self.folder / "data" / "pg"))

    def check(self, server: Postgres) -> None:
        """
        Compare the table with what the clients wrote down.

        Raises:
            AssertionError: with how many are missing, and the first of them.
        """
        with psycopg.connect(server.dsn) as connection:
            connection.execute("set enable_indexscan = off")
            connection.execute("set enable_indexonlyscan = off")
            rows = connection.execute("select number, client, amount from ledger").fetchall()
            connection.execute("reset all")
            for wrong, query in CHECKS.items():
                assert connection.execute(query).fetchone() == (0,), wrong
        found = {number: client for number, client, _ in rows}
        lost = sorted(self.acknowledged.keys() - found.keys())
        assert not lost, f"{len(lost)} acknowledged commits are lost, the first is {lost[0]}"
        for number, client in self.acknowledged.items():
            assert found[number] == client
        strange = found.keys() - self.acknowledged.keys() - self.unsettled.keys()
        assert not strange, f"{len(strange)} rows were never sent"
        assert all(amount == number % 97 for number, _, amount in rows)

    def _write(self, server: Postgres) -> list[Writer]:
        writers = [
            Writer(server.dsn, Sent(client=client, acknowledged=[]), self._numbers, self.folder / f"log-{client}")
            for client in range(CLIENTS)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            assert writer.begun.wait(PATIENCE_S)
        return writers

    def _note(self, writers: list[Writer]) -> int:
        for writer in writers:
            sent = writer.sent
            self.acknowledged.update(dict.fromkeys(sent.acknowledged, sent.client))
            if sent.unsettled is not None:
                self.unsettled[sent.unsettled] = sent.client
        return sum(len(writer.sent.acknowledged) for writer in writers)


def postmaster_of(server: Postgres) -> int:
    """Process id of the server."""
    return int((server.data_directory / "postmaster.pid").read_text().splitlines()[0])


def kill(pid: int) -> None:
    """Kill -9; nothing for what has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def children_of(postmaster: int) -> list[int]:
    """Process ids of a server's processes but for the postmaster itself."""
    found = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text()
    return [int(pid) for pid in found.split()]


def wait_for_end(pids: list[int]) -> None:
    """
    Until none of a killed server's processes runs any more: they notice within a moment.

    They hold its shared memory, and a new server refuses to start before it is let go.
    """
    end = time.monotonic() + PATIENCE_S
    while running := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < end, f"processes {running} of PostgreSQL did not end"
        signal.sigtimedwait([], 0.02)
