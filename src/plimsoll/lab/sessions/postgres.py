"""
A run of the lab with PostgreSQL: tables made, a gate mounted over them, a server and its clients behind it.

It goes as every run does (`session.py`); here is what PostgreSQL brings to it.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from plimsoll.catalog.load import Catalog
from plimsoll.gate.config import GateSetup
from plimsoll.lab.load.dataset import LOADING, Dataset, fill
from plimsoll.lab.load.workload import Clients, Workload
from plimsoll.lab.servers.postgres import Postgres
from plimsoll.lab.sessions.session import (
    Outcome,
    RunPlan,
    Say,
    Tell,
    check_space,
    run_behind_gate,
    unwatched,
)
from plimsoll.model.database import Observation
from plimsoll.units import MIB, format_bytes

# RDS gives PostgreSQL a quarter of the memory: shared_buffers = {DBInstanceClassMemory/32768} pages of
# 8 KiB (RDS User Guide, parameters of PostgreSQL, read 2026-04-13). The rest is page cache here.
_BUFFERS_SHARE = 4

# The kernel skips reading ahead while three quarters of the requests it may have in flight are (Linux,
# fuse_readahead), and the reader then asks for small pieces: measured with 16 readers in order, 16 in
# flight gave reads of 30 KiB on average, 64 gave 127 KiB, as one reader alone gets.
_AHEAD = 4

Watch = Callable[[str], Callable[[], Observation | None]]
"""Begin to observe the database of a DSN; what it gives ends that and has what was seen, once or again."""


class PostgresPlan(RunPlan, frozen=True, kw_only=True):
    """What is to be run with PostgreSQL."""

    workload: Workload
    dataset: Dataset
    is_inspected: bool = False
    """Whether the server shall tell all it can of itself."""


def behind(setup: GateSetup, workload: Workload, *, cache_bytes: int) -> GateSetup:
    """Return the setup with the page cache and the requests in flight that fit a workload."""
    in_flight = setup.max_background
    # Statements of the user's may scan too.
    if workload.tables == "scan" or workload.script is not None:
        in_flight = max(in_flight, _AHEAD * workload.clients)
    return msgspec.structs.replace(setup, memory_bytes=cache_bytes, max_background=in_flight)


def run_lab(
    plan: PostgresPlan, facts: Catalog, *, tell: Tell, say: Say, watch: Watch | None = None
) -> Outcome:
    """
    Run PostgreSQL, and clear up.

    Args:
        plan: what is to be run.
        facts: the documented limits.
        tell: called about once a second while the clients work.
        say: called with a sentence at every step before and after.
        watch: observes the database while the clients work, if that is wanted.

    Raises:
        UsageError: this machine has no FUSE, or the plan cannot be.
        SourceError: server, gate or clients did not start or ended too early.
        DataError: the run was too short for one emulated minute.
    """
    return run_behind_gate(plan, _PostgresParts(plan, watch), facts, tell=tell, say=say)


class _PostgresParts:
    """PostgreSQL's part in a run."""

    def __init__(self, plan: PostgresPlan, watch: Watch | None) -> None:
        self._plan, self._watch = plan, watch
        self._buffers_bytes = plan.memory_bytes // _BUFFERS_SHARE // MIB * MIB
        self._has_statements = False

    def setup(self) -> GateSetup:
        plan = self._plan
        cache_bytes = plan.memory_bytes - self._buffers_bytes
        return behind(plan.setup, plan.workload, cache_bytes=cache_bytes)

    def loader(self, data: Path, lent: tuple[Path, ...]) -> Postgres:
        return Postgres(LOADING, binaries=self._plan.binaries, data_directory=data, lent=lent)

    def make_tables(self, loader: Postgres, folder: Path, say: Say) -> None:
        self._has_statements = _make_tables(loader, self._plan, folder, say)

    def server(self, loader: Postgres, data: Path) -> Postgres:
        plan = self._plan
        settings = _settings(plan, self._buffers_bytes, has_statements=self._has_statements)
        return loader.elsewhere(data, settings, plan.group)

    def clients(self, server: Postgres, folder: Path) -> Clients:
        plan = self._plan
        return Clients(
            plan.workload,
            server,
            duration_s=plan.duration_s,
            folder=folder,
            document_count=plan.dataset.document_count,
        )

    def watch(self, server: Postgres) -> Callable[[], Observation | None]:
        return unwatched(server) if self._watch is None else self._watch(server.dsn)


def _make_tables(loader: Postgres, plan: PostgresPlan, folder: Path, say: Say) -> bool:
    """Make them; whether the server can also count its statements, where that is wanted."""
    dataset = plan.dataset
    what = {
        "scan": f"{dataset.table_count} tables to scan",
        "toast": f"a table of {dataset.document_count:,} documents",
        "pgbench": f"pgbench's tables at scale {dataset.scale:,}",
    }[dataset.kind]
    size = dataset.size_bytes
    say(f"making {what}, about {format_bytes(size)}, in PostgreSQL {loader.version}; no limit yet")
    check_space(folder, size)
    with loader:
        fill(loader, dataset)
        return plan.is_inspected and _counts_statements(loader)


def _counts_statements(loader: Postgres) -> bool:
    """Return whether `pg_stat_statements` came with the server; then it is there from now on."""
    came = "select count(*) from pg_available_extensions where name = 'pg_stat_statements'"
    if loader.run("psql", "-XAtc", came).strip() != "1":
        return False
    loader.run("psql", "-XAtqc", "create extension pg_stat_statements")
    return True


def _settings(plan: PostgresPlan, buffers_bytes: int, *, has_statements: bool) -> dict[str, str]:
    settings = {
        "shared_buffers": f"{buffers_bytes // MIB}MB",
        # Half of the memory: what the planner may take for cached.
        "effective_cache_size": f"{plan.memory_bytes // 2 // MIB}MB",
        # Some for us and for whoever looks on.
        "max_connections": str(plan.workload.clients + 20),
    }
    if plan.workload.is_scan:
        # One reader for each client, so that --clients says how many read at once.
        settings["max_parallel_workers_per_gather"] = "0"
    if plan.dataset.kind == "toast":
        # A minute of waiting between two looks would be all of a run.
        settings["autovacuum_naptime"] = "1s"
        # A server that has run for a while uses its log files again; a new one writes each of them twice.
        settings["wal_init_zero"] = "off"
    if has_statements:
        settings["shared_preload_libraries"] = "pg_stat_statements"
    return settings
