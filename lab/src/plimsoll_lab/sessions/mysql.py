"""
Run the lab with MariaDB: create tables, mount a gate over them, start a server and its clients behind it.

`session.py` has the steps that all engines share; this file has MariaDB's part.
"""

from collections.abc import Callable
from pathlib import Path

from plimsoll.catalog.load import Catalog
from plimsoll.model.database import Observation
from plimsoll.units import MIB, format_bytes
from plimsoll_lab.gate.config import MEMORY_MIN_BYTES, GateSetup
from plimsoll_lab.load.sysbench import LOADING, MySqlLoad, SysbenchClients, fill
from plimsoll_lab.servers.mysql import MariaDb
from plimsoll_lab.sessions.session import (
    Outcome,
    PrintLine,
    ReportProgress,
    RunPlan,
    check_space,
    run_behind_gate,
    with_page_cache,
    without_watch,
)

# RDS gives three quarters of the memory to MariaDB's and MySQL's buffer pool: innodb_buffer_pool_size =
# {DBInstanceClassMemory*3/4} (RDS User Guide, best practices for MySQL storage engines, read 2026-04-13).
_POOL_SHARE = 3 / 4


class MySqlPlan(RunPlan, frozen=True, kw_only=True):
    """Describe a run with MariaDB."""

    load: MySqlLoad


def run_mysql(plan: MySqlPlan, facts: Catalog, *, report_progress: ReportProgress, print_line: PrintLine) -> Outcome:
    """
    Run MariaDB behind a gate, and clear up.

    Args:
        plan: what to run.
        facts: the documented limits.
        report_progress: called about once a second while the clients work.
        print_line: called with a sentence before each step.

    Raises:
        UsageError: this machine has no FUSE or no MariaDB, or the plan is not possible.
        SourceError: the server, the gate or the clients did not start or ended early.
        DataError: the run was too short for one emulated minute.
    """
    return run_behind_gate(plan, _MariaDbParts(plan), facts, report_progress=report_progress, print_line=print_line)


class _MariaDbParts:
    """Provide MariaDB's part of a run."""

    def __init__(self, plan: MySqlPlan) -> None:
        self._plan = plan
        self._pool_bytes = int(plan.memory_bytes * _POOL_SHARE) // MIB * MIB

    def setup(self) -> GateSetup:
        # The gate needs its minimum for readahead and writeback, however large the pool is.
        cache_bytes = max(self._plan.memory_bytes - self._pool_bytes, MEMORY_MIN_BYTES)
        return with_page_cache(self._plan.setup, cache_bytes=cache_bytes)

    def loader(self, data: Path, also_remove: tuple[Path, ...]) -> MariaDb:
        server = MariaDb(LOADING, data_directory=data, binaries=self._plan.binaries, also_remove=also_remove)
        server.program("sysbench")
        return server

    def make_tables(self, loader: MariaDb, folder: Path, print_line: PrintLine) -> None:
        load = self._plan.load
        count = "a table" if load.table_count == 1 else f"{load.table_count} tables"
        size = format_bytes(load.size_bytes)
        print_line(f"making {count} of {size} in MariaDB {loader.version}; no limit yet")
        check_space(folder, load.size_bytes)
        with loader:
            fill(loader, load)

    def server(self, loader: MariaDb, data: Path) -> MariaDb:
        plan = self._plan
        return loader.relocated(data, _settings(plan, self._pool_bytes), plan.group)

    def clients(self, server: MariaDb, folder: Path) -> SysbenchClients:
        plan = self._plan
        return SysbenchClients(plan.load, server, duration_s=plan.duration_s, folder=folder)

    def watch(self, server: MariaDb) -> Callable[[], Observation | None]:
        return without_watch(server)


def _settings(plan: MySqlPlan, pool_bytes: int) -> dict[str, str]:
    return {
        "innodb-buffer-pool-size": str(pool_bytes),
        "innodb-log-file-size": "256M",
        # Some for us and for other observers.
        "max-connections": str(plan.load.clients + 20),
        # Otherwise the pages that an earlier run had in memory would be loaded at the start.
        "innodb-buffer-pool-load-at-startup": "0",
    }
