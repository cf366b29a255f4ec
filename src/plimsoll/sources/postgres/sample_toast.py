"""
Sample real updates by logical decoding, to see whether unchanged values are sent again.

Rule 1: only where somebody asked for it. A slot keeps WAL and old catalog rows, a snapshot keeps old
        rows; both last as long as the sample, which ends by time or by WAL, whichever is first.
Rule 2: the slot is temporary, and dropped at the end; a session that dies takes it along.
Rule 3: no slot is made where one would have to wait long, and none is taken from somebody.
Rule 4: values are compared by hash in this process, and never leave it; keys do, to find the row as it was.

Whether a value is the one that was stored is known by a snapshot taken before the slot: a row is read
as it was, then followed through the sample. A change that falls between snapshot and slot makes a value
look changed that was not, never the other way round.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from plimsoll.errors import AccessDenied, SourceError, UsageError
from plimsoll.model.toast import ToastSample
from plimsoll.sources.postgres.decoded import DecodedChange, change_of
from plimsoll.sources.postgres.named_table import table_named
from plimsoll.sources.postgres.pg_stat import first_line
from plimsoll.sources.postgres.scratch import connected
from plimsoll.sources.postgres.statements import decoding
from plimsoll.sources.postgres.statements.terms import DECODING, END

if TYPE_CHECKING:
    import psycopg

# A judgement: a slot keeps WAL and dead rows, but a minute does not harm a healthy server.
SECONDS_MAX = 60
# WAL that is decoded at most; its text is about as long. A judgement: some seconds of work.
WAL_BYTES_MAX = 64 * 1024**2
# Rows that are looked up as they were; further ones are counted as unknown. A judgement.
_ROWS_MAX = 2_000
# How often the amount of WAL is looked at.
_EVERY_S = 0.25


class _SampledColumn(Struct, frozen=True, kw_only=True):
    name: str
    quoted: str
    type: str
    may_be_out_of_line: bool
    is_key: bool
    is_comparable: bool
    """Whether comparing a value with text runs nobody's code but the server's."""


class _Tally(Struct, kw_only=True):
    untouched: int = 0
    same: int = 0
    changed: int = 0
    unknown: int = 0
    sent_bytes: int = 0

    @property
    def sent(self) -> int:
        return self.same + self.changed + self.unknown


def sample_toast(
    dsn: str,
    table: str,
    *,
    seconds: float,
    wal_bytes_max: int = WAL_BYTES_MAX,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[ToastSample, ...]:
    """
    Decode changes of a table for some seconds; return a sample for each out-of-line column.

    Args:
        dsn: libpq connection string or URI; the role needs REPLICATION (on RDS, rds_replication) and
            SELECT on the table.
        table: `schema.table`.
        seconds: at most 60.
        wal_bytes_max: of the whole server; the sample ends when it is reached.
        clock: seconds that only grow.
        sleep: waits so many seconds.

    Raises:
        UsageError: no such table, or the server does not log what decoding needs.
        AccessDenied: a right is missing.
        SourceError: no slot is free, or transactions run that a slot has to wait for.
    """
    import psycopg

    assert 0 < seconds <= SECONDS_MAX
    try:
        with connected(dsn, DECODING) as decoder, connected(dsn, DECODING) as past:
            for connection in (decoder, past):
                connection.execute(decoding.KEEP_OUT_OF_LOG)
            _refuse_what_cannot_be(decoder)
            named, columns, has_old_rows = _described(decoder, table, decoder.path)
            # No id is assigned to a transaction that only reads, so the slot need not wait for it.
            past.execute(DECODING.begin.encode())
            past.execute(decoding.TAKE_SNAPSHOT)
            slot = f"plimsoll_{decoder.info.backend_pid}"
            begun_s = clock()
            lines, is_whole = _decoded(decoder, slot, named, (seconds, wal_bytes_max), (clock, sleep))
            elapsed_s = clock() - begun_s
            known = _Past(past, named, columns)
            tallies = _tallied(lines, columns, known, has_old_rows=has_old_rows)
            past.execute(END.encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise AccessDenied(
            f"the role lacks a right to decode: {first_line(error, dsn)}",
            "It needs the attribute REPLICATION (on RDS: GRANT rds_replication), and SELECT on the table.",
        ) from None
    except psycopg.errors.ConfigurationLimitExceeded as error:
        raise SourceError(
            f"there is no free replication slot: {first_line(error, dsn)}", "Raise max_replication_slots."
        ) from None
    except psycopg.Error as error:
        raise SourceError(
            f"the sample could not be taken: {first_line(error, dsn)}",
            "A slot waits for writing transactions to end; try again when none is long.",
        ) from None
    return tuple(
        ToastSample(
            table=named,
            column=name,
            seconds=elapsed_s,
            untouched=tally.untouched,
            resent_same=tally.same,
            resent_changed=tally.changed,
            resent_unknown=tally.unknown,
            value_bytes_mean=tally.sent_bytes / tally.sent if tally.sent else None,
            is_whole=is_whole,
        )
        for name, tally in tallies.items()
    )


def _refuse_what_cannot_be(connection: "psycopg.Connection[tuple[Any, ...]]") -> None:
    row = connection.execute(decoding.CAN_DECODE).fetchone()
    assert row is not None
    if row[0] != "logical":
        raise UsageError(
            f"logical decoding is not possible: wal_level is {row[0]}",
            "Set wal_level = logical (on RDS: rds.logical_replication = 1) and restart, or use a copy "
            "of the database that replays the same load.",
        )
    if row[1]:
        raise UsageError("the server is a standby", "Take the sample on the primary.")


def _described(
    connection: "psycopg.Connection[tuple[Any, ...]]", table: str, path: Sequence[str]
) -> tuple[str, tuple[_SampledColumn, ...], bool]:
    """Return the table's quoted name, its columns, and whether old rows are logged completely."""
    found = table_named(connection, table, path)
    if found is None or found.is_partitioned:
        raise UsageError(
            f"there is no table '{table}' in this database",
            "Name it with its schema, for example public.documents; of a partitioned table, one partition.",
        )
    columns = tuple(
        _SampledColumn(name=n, quoted=q, type=t, may_be_out_of_line=o, is_key=k, is_comparable=c)
        for n, q, t, o, k, c in connection.execute(decoding.COLUMNS, (found.oid,)).fetchall()
    )
    return found.name, columns, found.replica_identity == "f"


def _decoded(
    connection: "psycopg.Connection[tuple[Any, ...]]",
    slot: str,
    named: str,
    bounds: tuple[float, int],
    edges: tuple[Callable[[], float], Callable[[float], None]],
) -> tuple[Sequence[str], bool]:
    """Return the decoded lines about the table, and whether the sample ran for its full time."""
    (seconds, wal_bytes_max), (clock, sleep) = bounds, edges
    made = connection.execute(decoding.MAKE_SLOT, (slot,)).fetchone()
    assert made is not None
    try:
        until_s = clock() + seconds
        is_whole = True
        while is_whole and (left_s := until_s - clock()) > 0:
            sleep(min(_EVERY_S, left_s))
            grown = connection.execute(decoding.IS_WITHIN, (made[0], wal_bytes_max)).fetchone()
            is_whole = bool(grown and grown[0])
        rows = connection.execute(decoding.CHANGES, (slot, f"table {named}: ")).fetchall()
    finally:
        if not connection.closed:
            connection.execute(decoding.DROP_SLOT, (slot,))
    return [row[0] for row in rows], is_whole


class _Past:
    """Reads rows as they were before the sample."""

    def __init__(
        self, connection: "psycopg.Connection[tuple[Any, ...]]", named: str, columns: Sequence[_SampledColumn]
    ) -> None:
        self._connection = connection
        keys = [c for c in columns if c.is_key]
        self._keys = keys if all(key.is_comparable for key in keys) else []
        self._values = [c for c in columns if c.may_be_out_of_line]
        self._asked = 0
        self._query = decoding.row_before(
            named,
            keys=[(c.quoted, c.type) for c in self._keys],
            columns=[c.quoted for c in self._values],
            version_number=connection.info.server_version,
        )

    def key_of(self, row: DecodedChange) -> tuple[str | None, ...] | None:
        """Return the primary key of a row; None if the table has none."""
        values = tuple(row.new.get(c.name) for c in self._keys)
        return values if values and None not in values else None

    def row(self, key: tuple[str | None, ...]) -> dict[str, tuple[str | None, bool]]:
        """Return for each column the hash of the value (None for null) and whether it is out of line."""
        if self._asked >= _ROWS_MAX or not self._values:
            return {}
        self._asked += 1
        found = self._connection.execute(self._query.encode(), key).fetchone()
        if found is None:
            return {}
        return {
            column.name: (None if found[3 * n + 1] else found[3 * n], found[3 * n + 2])
            for n, column in enumerate(self._values)
        }


def _tallied(
    lines: Sequence[str], columns: Sequence[_SampledColumn], past: _Past, *, has_old_rows: bool
) -> dict[str, _Tally]:
    """Count what happened to each column's values, without columns that were never out of line."""
    names = [column.name for column in columns if column.may_be_out_of_line]
    tallies = {name: _Tally() for name in names}
    rows: dict[tuple[str | None, ...], dict[str, tuple[str | None, bool]]] = {}
    for change in (change for line in lines if (change := change_of(line)) is not None):
        key = past.key_of(change)
        if change.action != "UPDATE":
            if key is not None:
                rows[key] = _as_sent(change, names) if change.action == "INSERT" else {}
            continue
        if key is not None and key not in rows:
            rows[key] = past.row(key)
        before = dict(rows.get(key, {}) if key is not None else {})
        if has_old_rows:
            before |= {name: _hashed(change.old[name]) for name in names if name in change.old}
        for name in names:
            _count(tallies[name], change, name, before.get(name))
        if key is not None:
            rows[key] = {**before, **_as_sent(change, names)}
    return {name: tally for name, tally in tallies.items() if tally.untouched or tally.sent}


def _count(tally: _Tally, change: DecodedChange, name: str, before: tuple[str | None, bool] | None) -> None:
    if name in change.untouched:
        tally.untouched += 1
        return
    value = change.new.get(name)
    if value is None:
        return
    size = len(value.encode())
    is_out = before[1] if before is not None else size >= decoding.OUT_OF_LINE_BYTES
    if not is_out:
        return
    tally.sent_bytes += size
    if before is None:
        tally.unknown += 1
    elif before[0] == _hashed(value)[0]:
        tally.same += 1
    else:
        tally.changed += 1


def _as_sent(change: DecodedChange, names: Sequence[str]) -> dict[str, tuple[str | None, bool]]:
    return {name: _hashed(change.new[name]) for name in names if name in change.new}


def _hashed(value: str | None) -> tuple[str | None, bool]:
    """Return the hash of a value as the server computes it, and whether it is so long that it is out of line."""
    if value is None:
        return None, False
    content = value.encode()
    return hashlib.md5(content, usedforsecurity=False).hexdigest(), len(content) >= decoding.OUT_OF_LINE_BYTES
