"""
The stories' databases as an inspection would have seen them, by hand: every figure is simulated.

`rewriting` is the search service of 2021 in a slow hour: a program that sends unchanged values again,
while autovacuum works on the relation that these values lie in. `piling_up` is the pooled cluster of
2021: connections that a Pgpool-II with `serialize_accept` keeps although their time is over.
"""

from collections.abc import Sequence

from msgspec.structs import replace

import databases
from plimsoll.model.database import CachedServer, Observation, PoolerReading, Relation, Session

WINDOW_S = 60.0
BLOCK_BYTES = databases.BLOCK_BYTES
GIB = 1024**3

# A thousand updates a second, each sending a value of 10 kB (10,000 bytes less a few) in five chunks.
UPDATES = 60_000
CHUNKS = 5 * UPDATES
ROWS = 50_000_000

STATEMENT = "UPDATE items SET name = $1, status = $2, body = $3, price = $4, updated_at = $5 WHERE id = $6"


def rewriting(*, is_mended: bool = False) -> Observation:
    """The search service's database; mended, statements leave out what did not change."""
    chunks = 0 if is_mended else CHUNKS
    table, toast = databases.toast_of(
        databases.table(
            16_384,
            "public.items",
            size_bytes=12 * GIB,
            row_estimate=float(ROWS),
            live_rows=ROWS,
            updated=900_000_000,
            columns=(databases.column("body"),),
        ),
        size_bytes=500 * GIB,
        row_estimate=float(5 * ROWS),
        live_rows=5 * ROWS,
        inserted=5_000_000_000,
        deleted=4_700_000_000,
        dead_rows=61_000_000,
    )
    after = replace(table, updated=table.updated + UPDATES, dead_rows=UPDATES)
    toast_after = replace(
        toast, inserted=toast.inserted + chunks, deleted=toast.deleted + chunks, dead_rows=toast.dead_rows + chunks
    )
    statement = databases.statement(STATEMENT, query_id=7, calls=10_000_000)
    return databases.observation(
        databases.reading(relations=(table, toast), io=_io(0.0), statements=(statement,)),
        databases.reading(
            databases.START_S + WINDOW_S,
            relations=(after, toast_after),
            io=_io(WINDOW_S),
            statements=(replace(statement, calls=statement.calls + UPDATES),),
        ),
        glances=tuple(
            databases.glance(
                float(second), sessions=(databases.session(state="active"),), vacuums=(_vacuum(toast, second),)
            )
            for second in range(0, 61, 10)
        ),
        query_count=164,
        received_bytes=182_000,
        asked_s=0.41,
    )


def _io(seconds: float) -> tuple:
    """
    What the server asked the system for by then: 89 MB/s read and 71 MB/s written, without the
    vacuum, which is counted when it ends.
    """
    return (
        databases.io_row(
            "client backend", read_bytes=89e6 * seconds, written_bytes=12e6 * seconds, extended_bytes=10e6 * seconds
        ),
        databases.io_row("checkpointer", written_bytes=34e6 * seconds),
        databases.io_row("autovacuum worker", "vacuum", read_bytes=7e12, written_bytes=2e12),
        databases.io_row("walwriter", written_bytes=15e6 * seconds),
    )


def _vacuum(toast: Relation, second: int):
    """Autovacuum four hours into the TOAST relation, 5,000 blocks further each second."""
    return databases.vacuum(toast, scanned_blocks=34_000_000 + 5_000 * second, running_s=14_400.0 + second)


def piling_up() -> Observation:
    """The pooled cluster: from 1,000 to 2,400 connections within a minute, most of them idle."""
    changed = replace(
        databases.server(), place="10.0.0.11:5432/orders", version="15.18", version_number=150_018, connection_max=2_500
    )
    return databases.observation(
        databases.reading(counters=databases.counters(sessions=400_000, committed=90_000_000)),
        databases.reading(
            databases.START_S + WINDOW_S, counters=databases.counters(sessions=401_500, committed=90_009_000)
        ),
        changed,
        glances=tuple(
            databases.glance(float(second), sessions=tuple(_sessions(1_000 + 28 * second)))
            for second in range(0, 60, 10)
        ),
        poolers=tuple(_pgpool(second) for second in (0, 30, 60)),
        missing=(("io", "PostgreSQL 16 has the view pg_stat_io."),),
        query_count=120,
        received_bytes=2_400_000,
        asked_s=0.9,
    )


def _sessions(count: int) -> Sequence[Session]:
    """So many connections through the pooler: a fifth active, a fifth in transactions, the rest idle."""
    states = ("active", "idle in transaction", "idle", "idle", "idle")
    return [
        databases.session(
            pid=1_000 + n,
            application="PostgreSQL JDBC Driver",
            user=("orders", "payments", "stock")[n % 3],
            address="10.0.0.21",
            state=states[n % 5],
            connected_s=300.0 + n / 10,
            transaction_s=12.0 if n % 5 == 1 else None,
            state_s=240.0 if n % 5 > 1 else 12.0,
            wait_event_type=None if n % 5 == 0 else "Client",
            wait_event=None if n % 5 == 0 else "ClientRead",
        )
        for n in range(count)
    ]


def _pgpool(second: int) -> PoolerReading:
    """Pgpool-II 4.1.3 with the cluster's settings; what it caches has been idle for minutes."""
    return PoolerReading(
        kind="pgpool",
        place="10.0.0.21:9999",
        version="4.1.3",
        time_s=databases.START_S + second,
        settings={
            "serialize_accept": "on",
            "num_init_children": "2400",
            "max_pool": "4",
            "connection_life_time": "60",
            "child_life_time": "0",
            "child_max_connections": "10",
            "client_idle_limit": "120",
        },
        cached=tuple(
            CachedServer(
                child_pid=5_000 + n,
                database="orders",
                user="orders",
                backend=0,
                age_s=400.0 + second,
                idle_s=240.0 + second,
                is_connected=False,
            )
            for n in range(40)
        ),
        clients=600,
    )
