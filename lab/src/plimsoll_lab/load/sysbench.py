"""
Run clients against a MariaDB, on tables that are larger than the buffer pool.

All workloads use sysbench: one way to start and end clients, one format of progress.
"""

import os
import re
from contextlib import suppress
from math import ceil
from pathlib import Path

from msgspec import Struct

from plimsoll.errors import SourceError, UsageError
from plimsoll.sources.host.child_command import ChildCommand
from plimsoll.units import MIB
from plimsoll_lab.load.workload import CLIENTS_MAX, RATE_MAX, LoadPace
from plimsoll_lab.servers.mysql import DATABASE, USER, MariaDb

NAMES = ("oltp", "select", "scan")

# Fifteen rows in each page of 16 KiB; InnoDB fills pages to 15/16 when rows arrive in order
# (MySQL 8.0 Reference Manual, 15.6.2.2). Measured: 1,092 bytes of file for each row.
_PAD_BYTES = 950
_ROW_BYTES = 1_092
# About 100 MiB in one statement: few statements, and undo logs that fit the small pool.
_ROWS_AT_ONCE = 100_000

# Least ratio of tables to memory, as for PostgreSQL. Random reads find part of their pages in the buffer
# pool; a scan of tables in turn finds nothing once the tables exceed it at all (LRU).
_RATIO = {"scan": 2.0, "oltp": 4.0, "select": 4.0}
# About as much as PostgreSQL's tables at the largest scale (dataset.py).
SIZE_MAX_BYTES = 150_000 * MIB

LOADING = {
    # Tables lost in a crash are simply made again, so nothing needs to be durable during filling.
    "innodb-flush-log-at-trx-commit": "0",
    "innodb-doublewrite": "0",
    "innodb-log-file-size": "256M",
    "innodb-buffer-pool-size": "256M",
}
"""Settings of the server while the tables are filled."""

# A transaction reads four rows and changes two, all at random places; a scan reads a whole table.
_SCRIPT = """\
sysbench.cmdline.options = {{}}
local rows, tables, kind = {rows}, {tables}, "{kind}"
function thread_init()
  con = sysbench.sql.driver():connect()
  own = sysbench.tid % tables + 1
end
local function row() return sysbench.rand.uniform(1, rows) end
function event()
  if kind == "scan" then
    con:query("select count(pad) from t" .. own)
  elseif kind == "select" then
    con:query("select pad from t1 where id = " .. row())
  else
    con:query("begin")
    for _ = 1, 4 do con:query("select pad from t1 where id = " .. row()) end
    for _ = 1, 2 do con:query("update t1 set k = k + 1 where id = " .. row()) end
    con:query("commit")
  end
end
"""

# "[ 1s ] thds: 4 tps: 812.31 qps: 6498.5 (r/w/o: …) lat (ms,95%): 7.30 err/s: 0.00 reconn/s: 0.00"
_PROGRESS = re.compile(r"^\[ \d+s \] thds: \d+ tps: ([\d.]+)", re.MULTILINE)
_SUMMARY = re.compile(r"transactions: +\d+ +\(([\d.]+) per sec|^ +avg: +([\d.]+)", re.MULTILINE)
# A line of progress has some hundred bytes; messages may stand between the lines.
_TAIL_BYTES = 4000


class MySqlLoad(Struct, frozen=True, kw_only=True):
    """Describe the workload, its clients and its tables."""

    name: str
    """One of `NAMES`."""
    clients: int
    rate_per_s: float | None
    size_bytes: int

    @property
    def table_count(self) -> int:
        """Return the number of tables: one for each scanning client, so that none finds another's pages."""
        return self.clients if self.name == "scan" else 1

    @property
    def row_count(self) -> int:
        """Return the number of rows in each table."""
        return max(ceil(self.size_bytes / _ROW_BYTES / self.table_count), 1)


def load_of(
    name: str, *, clients: int, rate_per_s: float | None, memory_bytes: int, size_bytes: int | None
) -> MySqlLoad:
    """
    Return the load for a command line.

    Args:
        name: one of `NAMES`.
        clients: connections at work at once, 1 ≤ x ≤ CLIENTS_MAX.
        rate_per_s: transactions of all clients together, 0 < x ≤ RATE_MAX; None for as many as possible.
        memory_bytes: everything that may cache the tables.
        size_bytes: size of all tables; None chooses one that exceeds the memory enough.

    Raises:
        UsageError: the name is unknown, or a number is not possible.
    """
    if name not in NAMES:
        raise UsageError(f"unknown workload '{name}'", f"Use {', '.join(NAMES)}.")
    if not 1 <= clients <= CLIENTS_MAX:
        raise UsageError(f"{clients} clients are not possible", f"Give --clients 1 to {CLIENTS_MAX}.")
    if rate_per_s is not None and not 0 < rate_per_s <= RATE_MAX:
        raise UsageError(
            f"{rate_per_s:g} transactions a second are not possible", f"Give --rate above 0 and up to {RATE_MAX:,.0f}."
        )
    size = ceil(_RATIO[name] * memory_bytes) if size_bytes is None else size_bytes
    if size > SIZE_MAX_BYTES:
        raise UsageError(
            f"tables of {size // MIB:,} MiB are too large for a run of the lab",
            f"Give less --memory; the largest size is {SIZE_MAX_BYTES // MIB:,} MiB.",
        )
    return MySqlLoad(name=name, clients=clients, rate_per_s=rate_per_s, size_bytes=size)


def fill(server: MariaDb, load: MySqlLoad) -> None:
    """
    Create the tables in a server that runs with `LOADING`.

    Raises:
        SourceError: the server refused, for example because the disk is full.
    """
    server.run(f"create database {DATABASE};")
    for number in range(1, load.table_count + 1):
        table = f"{DATABASE}.t{number}"
        made = "id int primary key, k int not null, pad varchar(1000) not null"
        statements = [f"use {DATABASE}; create table {table} ({made}) engine=innodb default charset=latin1;"]
        for first in range(1, load.row_count + 1, _ROWS_AT_ONCE):
            last = min(first + _ROWS_AT_ONCE - 1, load.row_count)
            values = f"seq, 0, repeat(char(97 + seq % 26), {_PAD_BYTES})"
            statements.append(f"insert into {table} select {values} from seq_{first}_to_{last};")  # noqa: S608
        # Otherwise the first statement would gather these statistics, during the measurement.
        statements.append(f"analyze table {table};")
        server.run("\n".join(statements))


class SysbenchClients:
    """Run the clients of one load."""

    def __init__(self, load: MySqlLoad, server: MariaDb, *, duration_s: float, folder: Path) -> None:
        """
        Prepare the clients; nothing runs yet.

        Args:
            load: workload of the clients.
            server: server with the tables of the load.
            duration_s: how long the clients work.
            folder: folder for their output.

        Raises:
            UsageError: sysbench is not installed.
        """
        self._load = load
        self._output, self._failed = folder / "load.out", folder / "load.err"
        script = folder / "load.lua"
        script.write_text(_SCRIPT.format(rows=load.row_count, tables=load.table_count, kind=load.name))
        self._argv = [
            *(str(server.program("sysbench")), str(script), "--db-driver=mysql"),
            *(f"--mysql-socket={server.socket}", f"--mysql-user={USER}", f"--mysql-db={DATABASE}"),
            # One second longer than we watch them, so that none ends before.
            *(f"--threads={load.clients}", f"--time={ceil(duration_s) + 1}"),
            *("--report-interval=1", "--db-ps-mode=disable", "--forced-shutdown=1"),
            # sysbench accepts only whole transactions a second.
            *([] if load.rate_per_s is None else [f"--rate={ceil(load.rate_per_s)}"]),
            "run",
        ]
        self._command: ChildCommand | None = None

    def start(self) -> None:
        """
        Start the clients.

        Raises:
            UsageError: the system cannot run sysbench.
        """
        with self._output.open("w") as output, self._failed.open("w") as failed:
            self._command = ChildCommand(self._argv, output=output, errors=failed)
            self._command.start()

    def pace(self) -> LoadPace | None:
        """Return the rate of the last second; None before the first second is over."""
        found = _PROGRESS.findall(_tail(self._output))
        return LoadPace(transactions_per_s=float(found[-1]), latency_s=None) if found else None

    def is_over(self) -> bool:
        """Return whether the clients have ended by themselves."""
        return self._command is not None and self._command.is_over()

    def failure(self) -> SourceError:
        """Return the error that ended the clients early."""
        lines = (_tail(self._output) + _tail(self._failed)).splitlines()
        errors = [line for line in lines if line.startswith("FATAL: ")]
        cause = errors[0].removeprefix("FATAL: ") if errors else "no reason given"
        return SourceError(
            f"the workload '{self._load.name}' ended early: {cause}",
            "Check the memory and the free space of this machine.",
        )

    def end(self, patience_s: float) -> LoadPace | None:
        """
        End the clients, after waiting for those that are about to end.

        Returns:
            The rate over the whole time; None if it was cut short.
        """
        if self._command is None:
            return None
        # A scan takes too long to wait for its end.
        if self._load.name != "scan":
            self._command.wait(patience_s)
        self._command.stop()
        numbers = _SUMMARY.findall(_tail(self._output))
        per_s = next((float(tps) for tps, _ in numbers if tps), None)
        latency = next((float(ms) / 1e3 for _, ms in numbers if ms), None)
        return None if per_s is None else LoadPace(transactions_per_s=per_s, latency_s=latency)


def _tail(path: Path) -> str:
    with suppress(FileNotFoundError), path.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0))
        return file.read().decode(errors="replace")
    return ""
