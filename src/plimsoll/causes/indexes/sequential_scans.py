"""
Find tables with large sequential scans, and the statements that cause them.

Rule 1: a table's reads from storage are measured. The part of sequential scans is measured if nothing else read
        the table; otherwise it is bounded by the scanned rows, and marked as an estimate.
Rule 2: a scan is right if most rows are needed, so the remedy depends on the number of rows returned.
"""

import re

from msgspec import Struct

from plimsoll.causes.budget import BYTES_LEAST, SHARE_LEAST, Budget, ranked, rates_of, severity_of
from plimsoll.causes.growth import TableGrowth, whole_tables_of
from plimsoll.causes.named import is_named
from plimsoll.causes.statements.statements import StatementWork, counted, short, work_between
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation, Relation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes, format_bytes_per_s, format_ratio, number

# Judgements: a longer list is not read.
_TABLES_MOST = 10
_STATEMENTS_MOST = 2
# Of more rows than these an index would read most blocks anyway (and in random order); a judgement.
_ROWS_FOR_INDEX = 0.05
# A comparison of a column with a parameter, as pg_stat_statements writes it.
_COMPARED = re.compile(
    r"(?:\b(?P<alias>\w+)\.)?(?P<column>\"[^\"]+\"|\b[a-z_]\w*)\s*"
    r"(?P<how>=|<=|>=|<|>|\bin\s*\(|\bbetween\b)\s*(?:any\s*\(\s*)?\$\d+",
    re.IGNORECASE,
)
_WORDS = frozenset({"and", "or", "not", "where", "on", "limit", "offset", "set", "values", "select"})


class _Scan(Struct, frozen=True, kw_only=True):
    """One table that was scanned."""

    table: TableGrowth
    read_bytes_per_s: float
    is_estimated: bool
    scans: int
    rows_per_scan: float
    works: tuple[StatementWork, ...]


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return tables whose sequential scans read most, each with its statement if known."""
    works = work_between(observation.first.statements, observation.last.statements)
    found = []
    for table in whole_tables_of(observation):
        scan = _scan(table, works, observation)
        if scan is None or scan.read_bytes_per_s < BYTES_LEAST:
            continue
        share = budget.of_load(scan.read_bytes_per_s)
        if share is None or share >= SHARE_LEAST:
            found.append(_cause(scan, observation, budget))
    return ranked(found)[:_TABLES_MOST]


def _scan(table: TableGrowth, works: tuple[StatementWork, ...], observation: Observation) -> _Scan | None:
    """Return what scans read of a table; None if there was no scan or no block was read."""
    scans, rows, read = (table.of(n) for n in ("seq_scans", "seq_rows_read", "heap_blocks_read"))
    if not (scans or rows) or not read:
        return None
    block = observation.server.block_bytes
    blocks = max(table.last.size_bytes, table.first.size_bytes) / block
    # seq_tup_read counts live rows only; a scan of dead rows reads as many blocks.
    went_through = rows / table.rows * blocks if table.last.live_rows else scans * blocks
    others = ("index_scans", "vacuum_count", "autovacuum_count")
    is_vacuumed = any(run.relation_oid == table.last.oid for g in observation.glances for run in g.vacuums)
    is_estimated = is_vacuumed or any(table.of(name) for name in others)
    scanned = min(float(read), went_through) if is_estimated else float(read)
    return _Scan(
        table=table,
        read_bytes_per_s=scanned * block / observation.seconds,
        is_estimated=is_estimated,
        scans=scans,
        rows_per_scan=rows / scans if scans else float(rows),
        works=_works_of(table, works),
    )


def _works_of(table: TableGrowth, works: tuple[StatementWork, ...]) -> tuple[StatementWork, ...]:
    """Return statements that name the table and read, the most blocks first."""
    name = table.last.name
    found = [w for w in works if w.statement.read_blocks and is_named(name, w.statement.text)]
    found.sort(key=lambda w: -w.statement.read_blocks)
    return tuple(found[:_STATEMENTS_MOST])


def _cause(scan: _Scan, observation: Observation, budget: Budget) -> Cause:
    relation, read = scan.table.last, scan.read_bytes_per_s
    share = budget.of_load(read)
    part = f", {format_ratio(share)} of all bytes" if share is not None else ""
    text = f"The table has {format_bytes(relation.size_bytes)}; a scan returned {counted(scan.rows_per_scan, 'row')}."
    if scan.is_estimated:
        text += (
            " It was also read in other ways, so the rate is an estimate from the rows that scans "
            "returned, at most all reads of the table."
        )
    return Cause(
        kind=CauseKind.SEQUENTIAL_SCANS,
        code="SequentialScans",
        severity=severity_of(budget, read),
        subject=relation.name,
        title=f"Sequential scans of {relation.name} read {format_bytes_per_s(read)}{part}; {number(scan.scans)} began.",
        text=text,
        read_bytes_per_s=read,
        is_estimated=scan.is_estimated,
        share_of_load=share,
        share_of_ceiling=budget.of_ceiling(read),
        evidence=_evidence(scan, observation),
        remedies=_remedies(scan),
        refuted_by="The page cache of the system served these reads; or the scans were a dump or another one-time job.",
    )


def _evidence(scan: _Scan, observation: Observation) -> tuple[Evidence, ...]:
    block, seconds = observation.server.block_bytes, observation.seconds
    all_read = scan.table.of("heap_blocks_read") * block / seconds
    found = [
        Evidence(
            kind="table",
            text=f"The table read {format_bytes_per_s(all_read)} in all ways.",
            value=scan.read_bytes_per_s,
            reference=all_read,
        )
    ]
    bulk, _ = rates_of(observation, lambda row: row.context == "bulkread")
    if bulk:
        found.append(
            Evidence(
                kind="io",
                text=f"Large scans of all tables read {format_bytes_per_s(bulk)} (pg_stat_io, bulkread).",
                value=bulk,
            )
        )
    for work in scan.works:
        rate = work.statement.read_blocks * block / seconds
        rows = work.statement.rows / work.statement.calls
        found.append(
            Evidence(
                kind="statement",
                text=f"{format_bytes_per_s(rate)}, {counted(work.statement.calls, 'call')}, "
                f"{counted(rows, 'row')} each: {short(work.statement.text)}",
                value=rate,
                reference=scan.read_bytes_per_s,
            )
        )
    return tuple(found)


def _remedies(scan: _Scan) -> tuple[Remedy, ...]:
    relation = scan.table.last
    saved = f"Most of {format_bytes_per_s(scan.read_bytes_per_s)} is not read."
    if not scan.works:
        return (
            Remedy(
                text="Find the statement: pg_stat_statements counts the blocks that each statement reads; "
                "auto_explain logs plans.",
                commands=("CREATE EXTENSION pg_stat_statements;",),
                expected="The statement, and the columns of its conditions.",
            ),
        )
    for work in scan.works:
        statement = work.statement
        columns = _columns(statement.text)
        if columns and statement.rows / statement.calls <= _ROWS_FOR_INDEX * scan.table.rows:
            return (_index_to_try(relation, columns, saved),)
    return (
        Remedy(
            text="An index does not help a statement that needs most rows. Run it less often, store the result "
            "(a materialized view), partition the table, or use a replica.",
            expected=saved,
        ),
    )


def _index_to_try(table: Relation, columns: tuple[str, ...], saved: str) -> Remedy:
    listed = ", ".join(columns)
    text = (
        "Try an index on the compared columns. Check with EXPLAIN that it is used and returns few "
        "rows, and that no other index begins with the same columns."
    )
    command = f"CREATE INDEX CONCURRENTLY ON {table.name} ({listed});"
    if table.kind == "partitioned table":
        # CONCURRENTLY is refused there.
        command = f"CREATE INDEX ON {table.name} ({listed});"
        text += (
            " On a partitioned table this builds it on every partition and blocks writes. To avoid that, "
            "create it ON ONLY the parent, then CONCURRENTLY on each partition, and attach each "
            "(ALTER INDEX … ATTACH PARTITION)."
        )
    return Remedy(
        text=text,
        commands=(command, "plimsoll explain record DSN --top 5 -o after.json"),
        expected=f"{saved} Every write to the table then maintains one more index.",
    )


def _columns(text: str) -> tuple[str, ...]:
    """
    Return columns that a statement compares with parameters, those with equality first.

    With several tables it is unknown whose columns they are, so there are none.
    """
    if re.search(r"\bjoin\b|\bfrom\s+[\w.\"]+\s+\w*\s*,", text, re.IGNORECASE):
        return ()
    parts = re.split(r"\bwhere\b", text, maxsplit=1, flags=re.IGNORECASE)
    equal: list[str] = []
    ranged: list[str] = []
    for match in _COMPARED.finditer(parts[1] if len(parts) == 2 else ""):
        column = match["column"]
        if column.lower() in _WORDS:
            continue
        (equal if match["how"] == "=" or match["how"].lower().startswith("in") else ranged).append(column)
    return tuple(dict.fromkeys([*equal, *ranged[:1]]))
