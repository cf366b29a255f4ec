"""
A run of the lab with MariaDB: tables made, a gate mounted over them, a server and its clients behind it.

It goes as with PostgreSQL (`session.py`): the tables are made in the folder behind the gate before the
gate is there, and the server then finds its data behind the limits.
"""

import time
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.errors import DataError
from plimsoll.lab.class_group import ClassGroup
from plimsoll.lab.gate import Gate
from plimsoll.lab.gate_config import MEMORY_MIN_BYTES, GateSetup, stages_of
from plimsoll.lab.gate_place import check_machine
from plimsoll.lab.gate_record import snapshot_of, truth_of
from plimsoll.lab.mysql import MariaDb
from plimsoll.lab.mysql_load import LOADING, MySqlLoad, SysbenchClients, fill
from plimsoll.lab.session import (
    PATIENCE_S,
    Outcome,
    Say,
    Tell,
    Work,
    behind_cache,
    check_memory,
    check_space,
    new_folder,
    within,
)
from plimsoll.units import MIB, format_bytes

# RDS gives MariaDB and MySQL three quarters of the memory: innodb_buffer_pool_size =
# {DBInstanceClassMemory*3/4} (RDS User Guide, best practices for MySQL storage engines, read 2026-04-13).
_POOL_SHARE = 3 / 4


class MySqlPlan(Struct, frozen=True, kw_only=True):
    """What is to be run."""

    setup: GateSetup
    """What is emulated; its bound on the page cache is set from `memory_bytes`."""
    load: MySqlLoad
    duration_s: int
    """Real seconds for which the clients work."""
    memory_bytes: int
    """What the emulated instance has for caching: buffer pool and page cache together."""
    binaries: Path | None = None
    """Folder of MariaDB's programs; None for what is installed."""
    keeps: bool = False
    """Whether the tables stay on the disk afterwards."""
    group: ClassGroup | None = None
    """The server's processors and memory; None for all of this machine's."""


def run_mysql(plan: MySqlPlan, facts: Catalog, *, tell: Tell, say: Say) -> Outcome:
    """
    Run it, and clear up.

    Args:
        plan: what is to be run.
        facts: the documented limits.
        tell: called about once a second while the clients work.
        say: called with a sentence at every step before and after.

    Raises:
        UsageError: this machine has no FUSE or no MariaDB, or the plan cannot be.
        SourceError: server, gate or clients did not start or ended too early.
        DataError: the run was too short for one emulated minute.
    """
    check_memory(plan.memory_bytes)
    check_machine()
    pool_bytes = int(plan.memory_bytes * _POOL_SHARE) // MIB * MIB
    cache_bytes = max(plan.memory_bytes - pool_bytes, MEMORY_MIN_BYTES)
    setup = behind_cache(plan.setup, cache_bytes=cache_bytes)
    stages_of(setup, facts)  # What cannot be emulated is refused before tables are made for it.
    with ExitStack() as stack:
        folder = new_folder(stack, keeps=plan.keeps)
        lent = () if plan.keeps else (folder,)
        loader = MariaDb(
            LOADING, data_directory=folder / "disk/data", binaries=plan.binaries, lent=lent
        )
        loader.program("sysbench")
        _make_tables(loader, plan, folder, say)
        gate = stack.enter_context(
            Gate(setup, folder / "disk", folder / "mount", facts=facts, lent=lent)
        )
        if plan.group is not None:
            stack.enter_context(plan.group)
        settings = _settings(plan, pool_bytes)
        server = loader.elsewhere(folder / "mount/data", settings, plan.group)
        stack.enter_context(server)
        clients = SysbenchClients(plan.load, server, duration_s=plan.duration_s, folder=folder)
        stack.callback(clients.end, 0.0)
        began_s = time.time()
        was_interrupted = Work(plan.duration_s, gate, clients).watch(tell)
        ended_s = time.time()
        pace = None if was_interrupted else clients.end(PATIENCE_S)
        clients.end(0.0)
        server.stop()
        gate.stop()
        lines = within(gate.lines(), began_s, ended_s)
        changes = gate.changes()
    try:
        snapshot = snapshot_of(lines, setup, changes=changes)
    except DataError as error:
        raise DataError(error.message, "Give a longer --for, or a larger --clock.") from error
    return Outcome(
        setup=setup,
        snapshot=snapshot,
        truth=truth_of(lines),
        changes=changes,
        pace=pace,
        was_interrupted=was_interrupted,
        kept=folder / "disk/data" if plan.keeps else None,
    )


def _make_tables(loader: MariaDb, plan: MySqlPlan, folder: Path, say: Say) -> None:
    (folder / "disk").mkdir(mode=0o711)
    loader.account.own(folder / "disk")
    load = plan.load
    count = "a table" if load.table_count == 1 else f"{load.table_count} tables"
    size = format_bytes(load.size_bytes)
    say(f"making {count} of {size} in MariaDB {loader.version}; no limit yet")
    check_space(folder, load.size_bytes)
    with loader:
        fill(loader, load)


def _settings(plan: MySqlPlan, pool_bytes: int) -> dict[str, str]:
    return {
        "innodb-buffer-pool-size": str(pool_bytes),
        "innodb-log-file-size": "256M",
        "max-connections": str(plan.load.clients + 20),
        # What a former run had in memory would be read in at the start, as after no crash.
        "innodb-buffer-pool-load-at-startup": "0",
    }
