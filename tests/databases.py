"""Observations of a database, by hand: every figure is simulated."""

from collections.abc import Mapping, Sequence

import msgspec

from plimsoll.causes.budget import Budget
from plimsoll.model.database import (
    Counters,
    DatabaseReading,
    Glance,
    Index,
    IoRow,
    Observation,
    Relation,
    ServerInfo,
    Session,
    Statement,
    ToastableColumn,
    VacuumRun,
)

START_S = 1_700_000_000.0
WINDOW_S = 60.0
BLOCK_BYTES = 8192
CHUNK_BYTES = 1996

SETTINGS = {
    "autovacuum_vacuum_scale_factor": "0.2",
    "autovacuum_vacuum_threshold": "50",
    "autovacuum_vacuum_insert_scale_factor": "0.2",
    "autovacuum_vacuum_insert_threshold": "1000",
    "autovacuum_vacuum_max_threshold": "100000000",
    "autovacuum_vacuum_cost_delay": "2",
    "autovacuum_vacuum_cost_limit": "-1",
    "autovacuum_max_workers": "3",
    "vacuum_cost_delay": "0",
    "vacuum_cost_limit": "200",
    "vacuum_cost_page_hit": "1",
    "vacuum_cost_page_miss": "2",
    "vacuum_cost_page_dirty": "20",
    "autovacuum": "on",
    "track_io_timing": "off",
}
"""PostgreSQL 18's defaults, of the settings that detectors look at."""


def server(**changes) -> ServerInfo:
    """A PostgreSQL 18 with default settings, read with `pg_monitor`."""
    plain = ServerInfo(
        place="127.0.0.1:5432/orders",
        role="watcher",
        version="18.6",
        version_number=180006,
        is_standby=False,
        block_bytes=BLOCK_BYTES,
        toast_chunk_bytes=CHUNK_BYTES,
        connection_max=100,
        reserved_connections=3,
        settings=SETTINGS,
        rights=("pg_monitor",),
    )
    return msgspec.structs.replace(plain, **changes)


def with_settings(server_info: ServerInfo, changes: Mapping[str, str]) -> ServerInfo:
    """The server with other settings."""
    return msgspec.structs.replace(server_info, settings={**server_info.settings, **changes})


def counters(**changes) -> Counters:
    """Counters of a server that does nothing."""
    plain = Counters(committed=0, rolled_back=0, temp_files=0, temp_bytes=0, blocks_read=0, blocks_hit=0)
    return msgspec.structs.replace(plain, **changes)


def table(oid: int, name: str, **changes) -> Relation:
    """A table that nobody has written to."""
    return msgspec.structs.replace(Relation(oid=oid, name=name, kind="table"), **changes)


def toast_of(owner: Relation, **changes) -> tuple[Relation, Relation]:
    """A table with its TOAST relation, which has the oid of the table plus one."""
    oid = owner.oid + 1
    toast = Relation(oid=oid, name=f"pg_toast.pg_toast_{owner.oid}", kind="toast", owner_oid=owner.oid)
    return (msgspec.structs.replace(owner, toast_oid=oid), msgspec.structs.replace(toast, **changes))


def column(name: str, **changes) -> ToastableColumn:
    """A text column whose values are out of line: what is left in the row is a pointer of 18 bytes."""
    plain = ToastableColumn(name=name, type="text", storage="extended", mean_width_bytes=18.0)
    return msgspec.structs.replace(plain, **changes)


def reading(time_s: float = START_S, **changes) -> DatabaseReading:
    """One reading of a server without tables."""
    return msgspec.structs.replace(DatabaseReading(time_s=time_s, counters=counters()), **changes)


def io_row(backend_type: str, context: str = "normal", **changes) -> IoRow:
    """A row of `pg_stat_io` for relations."""
    plain = IoRow(
        backend_type=backend_type,
        object="relation",
        context=context,
        read_bytes=0.0,
        written_bytes=0.0,
        extended_bytes=0.0,
    )
    return msgspec.structs.replace(plain, **changes)


def observation(
    before: DatabaseReading, after: DatabaseReading, server_info: ServerInfo | None = None, **changes
) -> Observation:
    """Two readings of one server."""
    plain = Observation(server=server_info or server(), first=before, last=after)
    return msgspec.structs.replace(plain, **changes)


def seen(
    before: Sequence[Relation],
    after: Sequence[Relation],
    server_info: ServerInfo | None = None,
    *,
    seconds: float = WINDOW_S,
    **changes,
) -> Observation:
    """Two readings of relations, `seconds` apart."""
    return observation(
        reading(START_S, relations=tuple(before)),
        reading(START_S + seconds, relations=tuple(after)),
        server_info,
        **changes,
    )


def budget(read: float | None = 0.0, written: float | None = 0.0, **changes) -> Budget:
    """Rates of the whole server, bytes/s, without a ceiling."""
    plain = Budget(read_bytes_per_s=read, written_bytes_per_s=written)
    return msgspec.structs.replace(plain, **changes)


def session(**changes) -> Session:
    """A client's session that does nothing."""
    plain = Session(
        pid=100,
        backend_type="client backend",
        user="app",
        database="orders",
        application="web",
        address="10.0.0.1",
        state="idle",
        wait_event_type="Client",
        wait_event="ClientRead",
        connected_s=60.0,
        transaction_s=None,
        state_s=1.0,
    )
    return msgspec.structs.replace(plain, **changes)


def vacuum(relation: Relation, **changes) -> VacuumRun:
    """An autovacuum of a relation that has just begun to scan it."""
    plain = VacuumRun(
        pid=200,
        relation_oid=relation.oid,
        relation=relation.name,
        phase="scanning heap",
        total_blocks=relation.size_bytes // BLOCK_BYTES,
        scanned_blocks=0,
        vacuumed_blocks=0,
        index_rounds=0,
        is_automatic=True,
        is_wraparound=False,
        running_s=0.0,
    )
    return msgspec.structs.replace(plain, **changes)


def glance(offset_s: float, **changes) -> Glance:
    """Sessions and vacuums so many seconds after the first reading."""
    return msgspec.structs.replace(Glance(time_s=START_S + offset_s, sessions=()), **changes)


def index(oid: int, owner: Relation, name: str, **changes) -> Index:
    """An index that nothing has looked into, plain and valid."""
    plain = Index(
        oid=oid,
        name=name,
        table_oid=owner.oid,
        size_bytes=0,
        scans=0,
        blocks_read=0,
        blocks_hit=0,
        is_unique=False,
        is_constraint=False,
        definition=f"CREATE INDEX ON {owner.name} (a)",
    )
    return msgspec.structs.replace(plain, **changes)


def statement(text: str = "select 1", **changes) -> Statement:
    """A statement of `pg_stat_statements` that was never called, with I/O timed."""
    plain = Statement(
        query_id=sum(text.encode()),
        text=text,
        calls=0,
        rows=0,
        exec_s=0.0,
        read_blocks=0,
        hit_blocks=0,
        dirtied_blocks=0,
        written_blocks=0,
        temp_read_blocks=0,
        temp_written_blocks=0,
        read_s=0.0,
        write_s=0.0,
        wal_bytes=0.0,
    )
    return msgspec.structs.replace(plain, **changes)
