"""
Test what became of a delivery, against its manifest.

Rule 1: a failure is one sentence with the numbers of both sides.
Rule 2: amounts are compared as decimals, exactly.
Rule 3: a cause is said once. Sums of a file are not compared if rows of it are missing.
Rule 4: a manifest foresees that deliveries are loaded in the order of their months. In another order the first record of
        two equal ones is the later month's. Rows and duplicates are then compared together, in counts and in sums: the
        quarantine has each duplicate's row.
Rule 5: content that was loaded under another name is not loaded again. Its rows are those of the file with that name,
        whose manifest foresaw other duplicates; so they are compared as in Rule 4.
"""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from psycopg import Connection, sql

from claims_pipeline.database.tables import BENEFICIARIES, SCHEMA, partition
from claims_pipeline.layout import Record, record, records
from claims_pipeline.manifest import DUPLICATE, SUPERSEDED, DeliveredFile, Manifest, class_of

# By its name, else by its content, as the loader looks for it (`ledger.loaded_before`).
_LEDGER = """
SELECT file_id, kind, sha256, bytes, records, rows, quarantined, duplicates, replaced, name
  FROM claims.files WHERE organisation = %s AND (name = %s OR sha256 = %s) ORDER BY name <> %s LIMIT 1
"""
_DISORDER = """
SELECT EXISTS (SELECT FROM claims.files AS mine JOIN claims.files AS other USING (organisation, kind)
                WHERE mine.file_id = %s
                  AND other.file_id <> mine.file_id
                  AND ((other.month, other.delivered_at) < (mine.month, mine.delivered_at))
                      <> (other.loaded_at < mine.loaded_at))
"""
_REASONS = "SELECT reason, count(*) FROM claims.quarantine WHERE file_id = %s GROUP BY reason"
# Lines of the quarantine that are rows: PostgreSQL wrote them, in the order of the table's columns.
_IS_ROW = "reason LIKE 'duplicate %%' OR reason LIKE 'superseded %%'"
_BELOW = {
    "part_a_lines": "part_a_claims",
    "part_a_diagnoses": "part_a_claims",
    "part_a_claims": BENEFICIARIES,
    "part_b_lines": BENEFICIARIES,
    "part_d_events": BENEFICIARIES,
}
"""By kind, the kind whose rows its rows refer to."""
# A damaged header or beneficiary is in the quarantine, and its raw record begins with the identifier. Of a duplicate the
# quarantine has the row as text instead, but then the record that it repeats is a row of the parent.
_ORPHANS = """
SELECT count(*)
  FROM {table} AS child
 WHERE NOT EXISTS (SELECT FROM {parent} AS parent WHERE parent.{key} = child.{key})
   AND NOT EXISTS (SELECT FROM claims.quarantine AS line JOIN claims.files AS file USING (file_id)
                    WHERE file.organisation = %s AND file.kind = %s
                      AND line.reason NOT LIKE 'duplicate %%' AND line.reason NOT LIKE 'superseded %%'
                      AND ltrim(left(line.raw, %s)) = child.{key}::text)
"""


class Ledger:
    """What the ledger says of a file."""

    def __init__(self, row: tuple[Any, ...]) -> None:
        """Name the columns of `_LEDGER`."""
        self.file_id, self.kind, self.sha256, self.bytes, self.records = row[:5]
        self.rows, self.quarantined, self.duplicates, self.replaced, self.name = row[5:]


def failures(connection: Connection, manifest: Manifest) -> Iterator[str]:
    """Return a sentence for each test that fails."""
    for file in manifest.files:
        yield from _file(connection, manifest.organisation, file)
    for layout in records().values():
        yield from _keys(connection, layout, manifest.organisation)
        yield from _partition(connection, layout, manifest.organisation)
        yield from _orphans(connection, layout, manifest.organisation)


def _file(connection: Connection, organisation: str, file: DeliveredFile) -> Iterator[str]:
    wanted = (organisation, file.name, file.sha256, file.name)
    found = connection.execute(_LEDGER, wanted).fetchone()
    if found is None:
        yield f"'{file.name}' is in the manifest and was not loaded"
        return
    ledger = Ledger(found)
    has_own_name = ledger.name == file.name
    row = connection.execute(_DISORDER, (ledger.file_id,)).fetchone()
    in_order = has_own_name and row is not None and not row[0]
    loaded_as = "" if has_own_name else f" (it was loaded as '{ledger.name}')"
    for sentence in _content(file, ledger, in_order=in_order):
        yield sentence + loaded_as
    if ledger.kind != file.kind:
        return
    for sentence in _rows(connection, organisation, file, ledger, in_order=in_order):
        yield sentence + loaded_as
    for sentence in _quarantine(connection, file, ledger, in_order=in_order):
        yield sentence + loaded_as


def _content(file: DeliveredFile, ledger: Ledger, *, in_order: bool) -> Iterator[str]:
    for name in ("kind", "sha256", "bytes", "records", *(["rows"] if in_order else [])):
        said, loaded = getattr(file, name), getattr(ledger, name)
        if said != loaded:
            yield f"'{file.name}': {name} is {loaded} in the ledger and {said} in the manifest"
    if file.formatted.rows != ledger.rows + ledger.duplicates and not in_order:
        yield (
            f"'{file.name}': {ledger.rows} rows and {ledger.duplicates} duplicates are in the ledger,"
            f" {file.formatted.rows} both in the manifest"
        )
    if ledger.records != ledger.rows + ledger.quarantined:
        yield (
            f"'{file.name}': {ledger.records} records are not {ledger.rows} rows and"
            f" {ledger.quarantined} quarantined lines"
        )


def _rows(
    connection: Connection, organisation: str, file: DeliveredFile, ledger: Ledger, *, in_order: bool
) -> Iterator[str]:
    """Compare rows and sums of a file's part of the table; rows that a newer delivery replaced are not there."""
    amounts = record(file.kind).amounts
    sums = [sql.SQL("coalesce(sum({}), 0)").format(sql.Identifier(name)) for name in amounts]
    row = connection.execute(
        sql.SQL("SELECT {} FROM {} WHERE file_id = %s").format(
            sql.SQL(", ").join([sql.SQL("count(*)"), *sums]), _table(file.kind, organisation)
        ),
        (ledger.file_id,),
    ).fetchone()
    assert row is not None
    if row[0] != ledger.rows - ledger.replaced:
        yield (
            f"'{file.name}': the table has {row[0]} rows of it; the ledger says"
            f" {ledger.rows}, of which {ledger.replaced} were replaced"
        )
        return
    if in_order and row[0] == file.rows:
        for name, value in zip(amounts, row[1:], strict=True):
            if name in file.sums and Decimal(file.sums[name]) != value:
                yield f"'{file.name}': {name} sums to {value} and should to {file.sums[name]}"
    elif not in_order and not ledger.replaced:
        yield from _sums_with_duplicates(connection, file, ledger, row[1:])


def _sums_with_duplicates(
    connection: Connection, file: DeliveredFile, ledger: Ledger, in_table: tuple[Decimal, ...]
) -> Iterator[str]:
    """Compare sums over a file's rows and its duplicates, of which the quarantine has the row as text."""
    amounts, kind = record(file.kind).amounts, sql.Identifier(SCHEMA, file.kind)
    sums = [sql.SQL("coalesce(sum((raw::{}).{}), 0)").format(kind, sql.Identifier(name)) for name in amounts]
    row = connection.execute(
        sql.SQL("SELECT {} FROM claims.quarantine WHERE file_id = %s AND ({})").format(
            sql.SQL(", ").join([sql.SQL("count(*)"), *sums]), sql.SQL(_IS_ROW)
        ),
        (ledger.file_id,),
    ).fetchone()
    assert row is not None
    if row[0] != ledger.duplicates:
        return
    for name, rows, duplicates in zip(amounts, in_table, row[1:], strict=True):
        said = file.formatted.sums.get(name)
        if said is not None and Decimal(said) != rows + duplicates:
            yield (
                f"'{file.name}': {name} sums to {rows} in the table and {duplicates} in its duplicates,"
                f" and should to {said} together"
            )


def _quarantine(connection: Connection, file: DeliveredFile, ledger: Ledger, *, in_order: bool) -> Iterator[str]:
    found: Counter[str] = Counter()
    for reason, lines in connection.execute(_REASONS, (ledger.file_id,)).fetchall():
        found[class_of(reason)] += lines
    if found.total() != ledger.quarantined:
        yield f"'{file.name}': {found.total()} lines are quarantined, the ledger says {ledger.quarantined}"
        return
    names = found.keys() | file.defects.keys()
    for name in sorted(names if in_order else names - {DUPLICATE, SUPERSEDED}):
        if found[name] != file.defects.get(name, 0):
            yield f"'{file.name}': {found[name]} lines have '{name}', the manifest says {file.defects.get(name, 0)}"


def _keys(connection: Connection, layout: Record, organisation: str) -> Iterator[str]:
    key = sql.SQL(", ").join(map(sql.Identifier, layout.key))
    row = connection.execute(
        sql.SQL("SELECT count(*) FROM (SELECT FROM {} GROUP BY {} HAVING count(*) > 1) AS keys").format(
            _table(layout.kind, organisation), key
        )
    ).fetchone()
    if row and row[0]:
        yield f"{layout.kind}: {row[0]} keys of {organisation} occur more than once"


def _partition(connection: Connection, layout: Record, organisation: str) -> Iterator[str]:
    row = connection.execute(
        sql.SQL(
            "SELECT count(*) FROM {} AS line LEFT JOIN claims.files AS file USING (file_id)"
            " WHERE line.organisation <> %(id)s OR file.organisation IS DISTINCT FROM %(id)s"
        ).format(_table(layout.kind, organisation)),
        {"id": organisation},
    ).fetchone()
    if row and row[0]:
        yield f"{layout.kind}: {row[0]} rows in the partition of {organisation} are from no file of it"


def _orphans(connection: Connection, layout: Record, organisation: str) -> Iterator[str]:
    parent = _BELOW.get(layout.kind)
    if parent is None:
        return
    key = record(parent).key[0]
    query = sql.SQL(_ORPHANS).format(
        table=_table(layout.kind, organisation), parent=_table(parent, organisation), key=sql.Identifier(key)
    )
    width = record(parent).field(key).width
    row = connection.execute(query, (organisation, parent, width)).fetchone()
    if row and row[0]:
        yield f"{layout.kind}: {row[0]} rows of {organisation} have no row in {parent}, damaged or not"


def _table(kind: str, organisation: str) -> sql.Identifier:
    return sql.Identifier(SCHEMA, partition(kind, organisation))
