"""
Report SELECTs that write: the first reader after a load marks rows as committed, which changes pages.

Theory of operation. A new row does not show whether its transaction committed. The first reader looks that up
and stores it in the row (a hint bit), or prunes dead rows. That changes the page, so it is written. With data
checksums or wal_log_hints, the first such change after a checkpoint also writes a full-page image to WAL. A
vacuum after the load does the same once, at a chosen time.

Rule: only a SELECT is reported that changed pages, and that names one table with rows inserted or dead since
its last vacuum. A function that writes has the same effect; `refuted_by` says so.
"""

import re

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.growth import tables_of
from plimsoll.causes.named import is_named
from plimsoll.causes.statements.statements import StatementWork, counted, work_between
from plimsoll.causes.statements.writes import WriterText, Writes, cause_of, is_worth_reporting, writes_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation, Relation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes_per_s

_READS = re.compile(r"^[\s(]*(?:select|with|table)\b", re.IGNORECASE)
_WRITES = re.compile(
    r"\b(?:insert|update|delete|merge|into|for\s+(?:no\s+key\s+)?(?:update|share|key\s+share)|nextval)\b", re.IGNORECASE
)


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return tables of which readers write pages, the most bytes first."""
    found = []
    for work in work_between(observation.first.statements, observation.last.statements):
        statement = work.statement
        if not statement.dirtied_blocks or not _READS.match(statement.text):
            continue
        table = _table_of(observation, statement.text) if not _WRITES.search(statement.text) else None
        if table is None:
            continue
        own = float(min(statement.written_blocks, statement.dirtied_blocks))
        writes = writes_of(observation, statement, own_blocks=own, grown_blocks=0.0)
        if is_worth_reporting(writes, budget):
            report = _report(work, table, writes, observation.seconds)
            found.append(cause_of(work, writes, report, budget))
    return ranked(found)


def _table_of(observation: Observation, text: str) -> Relation | None:
    """Return the only named table that may have rows without hint bits; None if there is none or several."""
    new = {relation.oid for relation in observation.first.relations}
    tables = [table.last for table in tables_of(observation)]
    tables += [one for one in observation.last.relations if one.oid not in new]
    found = [
        one
        for one in tables
        if one.kind != "toast" and (one.inserted_since_vacuum or one.dead_rows) and is_named(one.name, text)
    ]
    return found[0] if len(found) == 1 else None


def _report(work: StatementWork, table: Relation, writes: Writes, seconds: float) -> WriterText:
    text = (
        "The first reader of rows written since the last vacuum marks each as committed (hint bits), and "
        "the marked pages are written."
    )
    if writes.wal:
        text += (
            " With data checksums or wal_log_hints each page also goes into WAL as a full-page image, once after "
            "each checkpoint."
        )
    pages = work.statement.dirtied_blocks
    return WriterText(
        kind=CauseKind.HINT_BITS,
        code="HintBits",
        table=table.name,
        title=(f"Reading {table.name}", f"{counted(pages / seconds, 'page')} per second are marked"),
        text=text,
        evidence=(
            Evidence(
                kind="rows",
                text=f"{counted(table.inserted_since_vacuum, 'row')} inserted since the last vacuum, "
                f"{counted(table.dead_rows, 'row')} dead; {counted(pages, 'page')} changed.",
                value=float(table.inserted_since_vacuum),
            ),
        ),
        remedies=(
            Remedy(
                text="Vacuum after a load, before readers: it marks all rows once.",
                commands=(f"VACUUM (FREEZE, ANALYZE) {table.name};",),
                expected=f"SELECT no longer writes {format_bytes_per_s(writes.all)}.",
            ),
            Remedy(
                text="If the transaction of the load creates or truncates the table, it can load frozen rows, "
                "which need no marks.",
                commands=(f"COPY {table.name} FROM STDIN WITH (FREEZE);",),
                expected="Neither readers nor vacuum write its pages again.",
            ),
        ),
        refuted_by="A second run of the same SELECT changes as many pages, so a function in it writes.",
    )
