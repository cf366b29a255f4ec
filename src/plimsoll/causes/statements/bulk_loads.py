"""
Report tables that COPY fills, with their pages, index entries and WAL.

Rule: a load is intended. Only the second write is avoidable: pages that later readers mark (`hint_bits.py`),
and full-page images in WAL.
"""

import re

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.statements.statements import StatementWork, counted, work_between
from plimsoll.causes.statements.writes import WriterText, cause_of, is_worth_reporting, writes_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation, Relation

_NAME = r'(?:"(?:[^"]|"")+"|[\w$]+)'
_COPY = re.compile(rf"^\s*copy\s+({_NAME}(?:\s*\.\s*{_NAME})?)\s*(?:\([^)]*\)\s*)?from\b", re.IGNORECASE)


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return tables that were loaded, the most bytes first."""
    if observation.seconds <= 0:
        return ()
    found = []
    for work in work_between(observation.first.statements, observation.last.statements):
        match = _COPY.match(work.statement.text)
        if match is None:
            continue
        table = table_named(observation, match[1])
        grown = _grown_blocks(observation, table) if table is not None else 0.0
        own = float(work.statement.written_blocks)
        writes = writes_of(observation, work.statement, own_blocks=own, grown_blocks=min(grown, own))
        if is_worth_reporting(writes, budget):
            name = table.name if table is not None else match[1]
            found.append(cause_of(work, writes, _report(work, name, observation), budget))
    return ranked(found)


def table_named(observation: Observation, named: str) -> Relation | None:
    """Return the table of that name; None if no table or several tables have it, for lack of a schema."""
    parts = [_plain(part) for part in re.findall(_NAME, named)]
    if not parts:
        return None
    found = []
    for relation in observation.last.relations:
        own = [_plain(part) for part in re.findall(_NAME, relation.name)]
        if relation.kind != "toast" and own[-len(parts) :] == parts:
            found.append(relation)
    return found[0] if len(found) == 1 else None


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _grown_blocks(observation: Observation, table: Relation) -> float:
    """Return pages by which the table, its TOAST relation and its indexes grew; of a new one all."""
    was = {one.oid: one.size_bytes for one in observation.first.relations}
    was |= {one.oid: one.size_bytes for one in observation.first.indexes}
    own = [one for one in observation.last.relations if one.oid in (table.oid, table.toast_oid)]
    sizes = {one.oid: one.size_bytes for one in own}
    sizes |= {i.oid: i.size_bytes for i in observation.last.indexes if i.table_oid == table.oid}
    grown = sum(max(size - was.get(oid, 0), 0) for oid, size in sizes.items())
    return grown / observation.server.block_bytes


def _report(work: StatementWork, name: str, observation: Observation) -> WriterText:
    rows = work.statement.rows / observation.seconds
    return WriterText(
        kind=CauseKind.BULK_LOADS,
        code="BulkLoad",
        table=name,
        title=(f"COPY into {name}", f"{counted(rows, 'row')} a second"),
        text="A page is written when the file grows and again when it is full. Its rows and index entries "
        "also go into WAL. Pages left to the next checkpoint are counted when it writes them.",
        remedies=(_frozen(name, observation), _later()),
        refuted_by="The same bytes are written while no COPY runs.",
    )


def _frozen(name: str, observation: Observation) -> Remedy:
    checksums = observation.server.settings.get("data_checksums") == "on"
    hints = observation.server.settings.get("wal_log_hints") == "on" or checksums
    spared = "The first reader and the first vacuum do not write its pages again"
    if hints:
        spared += ", nor log full-page images of them"
    return Remedy(
        text="If the same transaction creates or truncates the table, load frozen rows; create indexes after the load.",
        commands=(f"COPY {name} FROM STDIN WITH (FREEZE);",),
        expected=f"{spared}.",
    )


def _later() -> Remedy:
    return Remedy(
        text="If the load may take longer, split it into batches with pauses. A one-time load needs no change.",
        expected="The same bytes over a longer time.",
    )
