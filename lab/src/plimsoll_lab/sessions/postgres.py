"""
Run the lab with PostgreSQL: create tables, mount a gate over them, start a server and its clients behind it.

`session.py` has the steps that all engines share; this file has PostgreSQL's part.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from plimsoll.catalog.load import Catalog
from plimsoll.model.database import Observation
from plimsoll.units import MIB, format_bytes
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.load.dataset import LOADING, Dataset, fill
from plimsoll_lab.load.workload import Clients, Workload
from plimsoll_lab.servers.postgres import Postgres
from plimsoll_lab.sessions.session import (
    Outcome,
    PrintLine,
    ReportProgress,
    RunPlan,
    check_space,
    run_behind_gate,
    without_watch,
)

# RDS gives a quarter of the memory to PostgreSQL: shared_buffers = {DBInstanceClassMemory/32768} pages of
# 8 KiB (RDS User Guide, parameters of PostgreSQL, read 2026-04-13). The rest is page cache here.
_BUFFERS_SHARE = 4

# The kernel skips readahead while three quarters of the allowed background requests are in flight (Linux,
# fuse_readahead), and the reader then requests small pieces. Measured with 16 sequential readers: 16 in
# flight gave reads of 30 KiB on average; 64 gave 127 KiB, as for a single reader.
_READAHEAD_FACTOR = 4

Watch = Callable[[str], Callable[[], Observation | None]]
"""Start observing the database of a DSN; the returned function ends that and returns the observation."""


class PostgresPlan(RunPlan, frozen=True, kw_only=True):
    """Describe a run with PostgreSQL."""

    workload: Workload
    dataset: Dataset
    is_inspected: bool = False
    """Whether the server collects all the statistics it can about itself."""


def sized_setup(setup: GateSetup, workload: Workload, *, cache_bytes: int) -> GateSetup:
    """Return the setup with the page cache and the requests in flight that suit a workload."""
    in_flight = setup.max_background
    # The user's own statements may scan too.
    if workload.tables == "scan" or workload.script is not None:
        in_flight = max(in_flight, _READAHEAD_FACTOR * workload.clients)
    return msgspec.structs.replace(setup, memory_bytes=cache_bytes, max_background=in_flight)


def run_lab(
    plan: PostgresPlan,
    facts: Catalog,
    *,
    report_progress: ReportProgress,
    print_line: PrintLine,
    watch: Watch | None = None,
) -> Outcome:
    """
    Run PostgreSQL behind a gate, and clear up.

    Args:
        plan: what to run.
        facts: the documented limits.
        report_progress: called about once a second while the clients work.
        print_line: called with a sentence before each step.
        watch: observes the database while the clients work; None for no observation.

    Raises:
        UsageError: this machine has no FUSE, or the plan is not possible.
        SourceError: the server, the gate or the clients did not start or ended early.
        DataError: the run was too short for one emulated minute.
    """
    return run_behind_gate(
        plan, _PostgresParts(plan, watch), facts, report_progress=report_progress, print_line=print_line
    )


class _PostgresParts:
    """Provide PostgreSQL's part of a run."""

    def __init__(self, plan: PostgresPlan, watch: Watch | None) -> None:
        self._plan, self._watch = plan, watch
        self._buffers_bytes = plan.memory_bytes // _BUFFERS_SHARE // MIB * MIB
        self._has_statements = False

    def setup(self) -> GateSetup:
        plan = self._plan
        cache_bytes = plan.memory_bytes - self._buffers_bytes
        return sized_setup(plan.setup, plan.workload, cache_bytes=cache_bytes)

    def loader(self, data: Path, also_remove: tuple[Path, ...]) -> Postgres:
        return Postgres(LOADING, binaries=self._plan.binaries, data_directory=data, also_remove=also_remove)

    def make_tables(self, loader: Postgres, folder: Path, print_line: PrintLine) -> None:
        self._has_statements = _make_tables(loader, self._plan, folder, print_line)

    def server(self, loader: Postgres, data: Path) -> Postgres:
        plan = self._plan
        settings = _settings(plan, self._buffers_bytes, has_statements=self._has_statements)
        return loader.relocated(data, settings, plan.group)

    def clients(self, server: Postgres, folder: Path) -> Clients:
        plan = self._plan
        return Clients(
            plan.workload, server, duration_s=plan.duration_s, folder=folder, document_count=plan.dataset.document_count
        )

    def watch(self, server: Postgres) -> Callable[[], Observation | None]:
        return without_watch(server) if self._watch is None else self._watch(server.dsn)


def _make_tables(loader: Postgres, plan: PostgresPlan, folder: Path, print_line: PrintLine) -> bool:
    """Create the tables; return whether the server can also count its statements, if the plan wants that."""
    dataset = plan.dataset
    what = {
        "scan": f"{dataset.table_count} tables to scan",
        "toast": f"a table of {dataset.document_count:,} documents",
        "pgbench": f"pgbench's tables at scale {dataset.scale:,}",
    }[dataset.kind]
    size = dataset.size_bytes
    print_line(f"making {what}, about {format_bytes(size)}, in PostgreSQL {loader.version}; no limit yet")
    check_space(folder, size)
    with loader:
        fill(loader, dataset)
        return plan.is_inspected and _counts_statements(loader)


def _counts_statements(loader: Postgres) -> bool:
    """Return whether the server has `pg_stat_statements`; if so, create the extension."""
    came = "select count(*) from pg_available_extensions where name = 'pg_stat_statements'"
    if loader.run("psql", "-XAtc", came).strip() != "1":
        return False
    loader.run("psql", "-XAtqc", "create extension pg_stat_statements")
    return True


def _settings(plan: PostgresPlan, buffers_bytes: int, *, has_statements: bool) -> dict[str, str]:
    settings = {
        "shared_buffers": f"{buffers_bytes // MIB}MB",
        # Half of the memory: what the planner may assume to be cached.
        "effective_cache_size": f"{plan.memory_bytes // 2 // MIB}MB",
        # Some for us and for other observers.
        "max_connections": str(plan.workload.clients + 20),
    }
    if plan.workload.is_scan:
        # No parallel workers, so that --clients is the number of readers.
        settings["max_parallel_workers_per_gather"] = "0"
    if plan.dataset.kind == "toast":
        # The default of one minute between two rounds could be the whole run.
        settings["autovacuum_naptime"] = "1s"
        # A server that has run for a while recycles its WAL files; a new one would write each of them twice
        # (PostgreSQL, wal_init_zero).
        settings["wal_init_zero"] = "off"
    if has_statements:
        settings["shared_preload_libraries"] = "pg_stat_statements"
    return settings
