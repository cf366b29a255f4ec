"""
Estimate what the server wrote because of a statement: pages, by any process, and WAL.

Theory of operation. A statement itself writes pages when files grow and when it needs a free buffer. The
checkpointer and the background writer write the other changed pages. `pg_stat_statements` counts the pages that the
statement wrote and those that it was the first to change. The share of changed pages that other processes wrote
between the readings is assumed equal for all statements. WAL is the statement's own, multiplied by the bytes
written per byte of generated WAL.
"""

from msgspec import Struct

from plimsoll.causes.budget import BYTES_LEAST, SHARE_LEAST, Budget, grown_bytes, severity_of, wal_written
from plimsoll.causes.growth import per_s
from plimsoll.causes.statements.statements import StatementWork, counted, short, work_between
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation, Statement
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes_per_s, format_ratio


class Writes(Struct, frozen=True, kw_only=True):
    """What the server writes because of one statement, bytes/s."""

    pages: float
    wal: float

    @property
    def all(self) -> float:
        """Pages and WAL together."""
        return self.pages + self.wal


def writes_of(observation: Observation, statement: Statement, *, own_blocks: float, grown_blocks: float) -> Writes:
    """
    Return what was written because of a statement between the readings.

    Args:
        observation: two readings with the counters of checkpoints.
        statement: the statement, with the differences of its counters.
        own_blocks: number of its own pages that it wrote itself.
        grown_blocks: number of these pages by which files grew.
    """
    block, seconds = observation.server.block_bytes, observation.seconds
    left = max(statement.dirtied_blocks - max(own_blocks - grown_blocks, 0.0), 0.0)
    pages = own_blocks + left * _settled_ratio(observation, left)
    generated, written = per_s(observation, "wal_bytes"), wal_written(observation)
    ratio = max(written / generated, 1.0) if generated and written else 1.0
    return Writes(pages=pages * block / seconds, wal=(statement.wal_bytes or 0.0) * ratio / seconds)


class WriterText(Struct, frozen=True, kw_only=True):
    """What a detector reports about a writing statement, besides its bytes."""

    kind: CauseKind
    code: str
    table: str
    title: tuple[str, str]
    """The writer and its rate: (`COPY into orders`, `1,204 rows a second`)."""
    text: str
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...]
    refuted_by: str


def is_worth_reporting(writes: Writes, budget: Budget) -> bool:
    """Return whether a statement writes enough to be reported."""
    share = budget.of_load(writes.all)
    return writes.all >= BYTES_LEAST and (share is None or share >= SHARE_LEAST)


def cause_of(work: StatementWork, writes: Writes, report: WriterText, budget: Budget) -> Cause:
    """Return the finding, with the bytes and shares of what a statement writes."""
    share = budget.of_load(writes.all)
    part = f", {format_ratio(share)} of all bytes" if share is not None else ""
    who, often = report.title
    calls = work.statement.calls
    return Cause(
        kind=report.kind,
        code=report.code,
        severity=severity_of(budget, writes.all),
        subject=report.table,
        title=f"{who} writes {format_bytes_per_s(writes.all)}{part}: {often}.",
        text=report.text,
        written_bytes_per_s=writes.all,
        is_estimated=True,
        share_of_load=share,
        share_of_ceiling=budget.of_ceiling(writes.all),
        evidence=(
            Evidence(
                kind="bytes",
                text=f"Pages {format_bytes_per_s(writes.pages)}, WAL {format_bytes_per_s(writes.wal)}.",
                value=writes.all,
            ),
            *report.evidence,
            Evidence(
                kind="statement", text=f"{counted(calls, 'call')}: {short(work.statement.text)}", value=float(calls)
            ),
        ),
        remedies=report.remedies,
        refuted_by=report.refuted_by,
    )


def _settled_ratio(observation: Observation, least: float) -> float:
    """Return the share of pages left changed by statements that other processes wrote between the readings, 0–1."""
    block = observation.server.block_bytes
    works = work_between(observation.first.statements, observation.last.statements)
    changed = sum(work.statement.dirtied_blocks for work in works)
    written = sum(work.statement.written_blocks for work in works)
    left = changed - max(written - grown_bytes(observation) / block, 0.0)
    names = ("checkpoint_written_bytes", "background_written_bytes")
    settled = sum((per_s(observation, name) or 0.0) for name in names) * observation.seconds / block
    left = max(left, least)
    return min(settled / left, 1.0) if left > 0 else 0.0
