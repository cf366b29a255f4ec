"""
Judge statements by `pg_stat_statements`, between two readings and compared with all earlier calls.

Rule 1: a statement that reads much is judged by its share, like every cause. If a scan or a rewrite already
        explains these reads, it is a note.
Rule 2: data that fits shared buffers is read once and stays there. Reads that may be the first of each block
        are a note, since they end without action.
Rule 3: maintenance (VACUUM, CREATE INDEX …) reads whole tables once. Its share of a ceiling counts, its share
        of the load is a note.
Rule 4: a statement is slow for an external reason if its calls touch as many blocks as before, and each block
        takes several times as long.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget, ranked, severity_by, severity_of
from plimsoll.causes.growth import setting_of
from plimsoll.causes.named import is_named
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation, Statement
from plimsoll.model.diagnosis import Evidence, Missing
from plimsoll.model.explain import Blocks, Capture, Source
from plimsoll.units import format_bytes_per_s, format_latency, format_ratio, number

# Judgements: below a twentieth of the load a statement is not worth a line, and five statements are enough.
_SHARE_LEAST = 0.05
_LINES_MOST = 5
# Judgements. A cached read takes microseconds, and network storage answers within one or two milliseconds. Only
# reads above both, several times as slow as before, and half of the statement's time show slow storage. A
# cache that has only warmed up or cooled down stays below.
_BLOCK_RATIO = 3.0
_BLOCK_LEAST_S = 0.002
_IO_SHARE = 0.5
_BLOCKS_ALIKE = 0.25
_CALLS_LEAST = 10
# A judgement: a lookup touches three or four levels of a B-tree and one block of the table. A call that touches
# more than twice as many blocks per row discards most of what it reads.
_BLOCKS_PER_ROW = 10
_TEXT_MOST = 90
_VACUUM = re.compile(r"\s*vacuum\b", re.IGNORECASE)
# Maintenance reads whole tables once, on purpose; EXPLAIN does not accept these statements.
_MAINTENANCE = re.compile(r"\s*(?:vacuum|analyze|cluster|reindex|create\s+(?:unique\s+)?index)\b", re.IGNORECASE)


class StatementWork(Struct, frozen=True, kw_only=True):
    """What one statement did between two readings."""

    statement: Statement
    """Every counter is the difference."""
    before: Statement | None
    """Everything counted before the first reading; None if nothing."""


def is_vacuum(text: str) -> bool:
    """Return whether a statement is a VACUUM, ignoring case."""
    return _VACUUM.match(text) is not None


def work_between(first: Sequence[Statement] | None, last: Sequence[Statement] | None) -> tuple[StatementWork, ...]:
    """Return the statements called between two readings; reset counters count from their reset."""
    earlier = {statement.query_id: statement for statement in first or ()}
    found = []
    for after in last or ():
        before = earlier.get(after.query_id)
        if before is not None and after.calls < before.calls:
            before = None
        work = _difference(before, after)
        if work.calls > 0:
            found.append(StatementWork(statement=work, before=before if before and before.calls else None))
    return tuple(found)


def capture_of(work: Statement) -> Capture:
    """Return the mean call of a statement."""
    calls = work.calls
    return Capture(
        statement=work.text,
        source=Source.PG_STAT_STATEMENTS,
        query_id=work.query_id,
        execution_s=work.exec_s / calls,
        rows=work.rows / calls,
        calls=calls,
        blocks=Blocks(
            hit=round(work.hit_blocks / calls),
            read=round(work.read_blocks / calls),
            dirtied=round(work.dirtied_blocks / calls),
            written=round(work.written_blocks / calls),
            temp_read=round(work.temp_read_blocks / calls),
            temp_written=round(work.temp_written_blocks / calls),
            read_s=None if work.read_s is None else work.read_s / calls,
            write_s=None if work.write_s is None else work.write_s / calls,
        ),
    )


def short(text: str, most: int = _TEXT_MOST) -> str:
    """Return a statement on one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def counted(count: float, word: str) -> str:
    """Return a number with its noun: `1 row`, `1,204 rows`."""
    return f"{number(count, 3)} {word}{'' if count == 1 else 's'}"


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return the statements that read most, and those that are slow for an external reason."""
    if observation.seconds <= 0:
        return ()
    works = work_between(observation.first.statements, observation.last.statements)
    found = [c for work in works if (c := _waiting(work, observation, budget)) is not None]
    slow = {cause.subject for cause in found}
    readers = [c for work in works if (c := _reader(work, observation, budget)) is not None]
    readers = [cause for cause in ranked(readers) if cause.subject not in slow]
    return ranked([*found, *readers[:_LINES_MOST]])


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """Return that reads are not timed, if statements are counted."""
    settings = observation.server.settings
    if not observation.last.statements or settings.get("track_io_timing") != "off":
        return ()
    return (
        Missing(
            name="I/O timing",
            hides="whether a statement is slow because storage is",
            remedy="track_io_timing is off: switch it on, which needs no restart; pg_test_timing measures "
            "its overhead.",
        ),
    )


_KEPT = Remedy(
    text="Record its plan and blocks now, and compare them when it is slow.",
    commands=("plimsoll explain record DSN --top 5 -o normal.json",),
    expected="Distinguishes a changed plan from slow storage.",
)


_QUIETER = Remedy(
    text="Run it at a quieter hour. VACUUM and ANALYZE can also be slowed down.",
    commands=("SET vacuum_cost_delay = 2;",),
    expected="The same bytes over a longer time.",
)


def _fewer_blocks(statement: Statement) -> Remedy:
    """Return what reduces reads: a better plan if a call discards many rows, else fewer calls or memory."""
    touched = (statement.read_blocks + statement.hit_blocks) / statement.calls
    rows = statement.rows / statement.calls
    if touched > _BLOCKS_PER_ROW * max(rows, 1.0):
        return Remedy(
            text=f"It touches {counted(touched, 'block')} to return {counted(rows, 'row')}. Look for discarded "
            "rows in its plan ('Rows Removed by Filter'). An index on the compared columns avoids "
            "them.",
            commands=("EXPLAIN (ANALYZE, BUFFERS) <the statement>;",),
            expected="The node that reads most, and the rows it discards.",
        )
    return Remedy(
        text="Each call needs few blocks, but different ones, which do not all fit in memory. Call it less "
        "often (cache results, fetch many rows at once), make the data smaller (a covering index), or "
        "give the server more memory.",
        expected="Fewer blocks are read from storage; more are found in shared buffers.",
    )


def _reader(work: StatementWork, observation: Observation, budget: Budget) -> Cause | None:
    statement, seconds = work.statement, observation.seconds
    read = statement.read_blocks * observation.server.block_bytes / seconds
    share = budget.of_load(read)
    if share is None or share < _SHARE_LEAST:
        return None
    per_call = statement.read_blocks / statement.calls
    text = (
        f"It is called {counted(statement.calls / seconds, 'time')} per second and reads "
        f"{counted(per_call, 'block')} per call."
    )
    is_maintenance = _MAINTENANCE.match(statement.text) is not None
    of_ceiling = budget.of_ceiling(read)
    severity = severity_by(read, None, of_ceiling) if is_maintenance else severity_of(budget, read)
    if is_maintenance:
        text += " It is maintenance, and its reads end when it is done."
    is_warming = not is_maintenance and _fills_buffers(statement, observation)
    if is_warming:
        text += (
            " Its data fits in shared buffers and was read once at most: the buffers are filling, "
            "and then the reads end."
        )
    return Cause(
        kind=CauseKind.PLANS,
        code="StatementReads",
        severity="note" if is_warming else severity,
        subject=short(statement.text),
        title=f"One statement reads {format_bytes_per_s(read)}, {format_ratio(share)} of all bytes.",
        text=text,
        read_bytes_per_s=read,
        share_of_load=share,
        share_of_ceiling=of_ceiling,
        evidence=(
            Evidence(kind="statement", text=f"Query identifier {statement.query_id}."),
            Evidence(
                kind="statement",
                text=f"{counted(statement.rows / statement.calls, 'row')} per call.",
                value=statement.rows / statement.calls,
            ),
        ),
        remedies=(_QUIETER,) if is_maintenance else (_fewer_blocks(statement), _KEPT),
        refuted_by="The page cache of the system served these reads, not the disk.",
    )


def _fills_buffers(statement: Statement, observation: Observation) -> bool:
    """Return whether a statement's tables fit in shared buffers, and it read no more than their size."""
    block, buffers = observation.server.block_bytes, setting_of(observation, "shared_buffers")
    last = observation.last
    tables = [r for r in last.relations if is_named(r.name, statement.text)]
    if buffers is None or not tables:
        return False
    oids = {r.oid for r in tables} | {r.toast_oid for r in tables}
    touched = sum(r.size_bytes for r in last.relations if r.oid in oids)
    touched += sum(one.size_bytes for one in last.indexes if one.table_oid in oids)
    return statement.read_blocks * block <= touched <= buffers * block


def _waiting(work: StatementWork, observation: Observation, budget: Budget) -> Cause | None:
    """Return a cause if a call touches as many blocks as before, but each takes several times as long."""
    now, before = work.statement, work.before
    if before is None or min(now.calls, before.calls) < _CALLS_LEAST:
        return None
    # A read time of zero means that reads were not timed.
    if not (now.read_s and before.read_s and now.read_blocks and before.read_blocks):
        return None
    block_s, usual_s = now.read_s / now.read_blocks, before.read_s / before.read_blocks
    touched = [(s.read_blocks + s.hit_blocks) / s.calls for s in (before, now)]
    is_alike = abs(touched[1] - touched[0]) <= max(2.0, _BLOCKS_ALIKE * max(touched))
    is_slow = block_s >= _BLOCK_LEAST_S and block_s >= _BLOCK_RATIO * usual_s
    if not (is_alike and is_slow and now.read_s >= _IO_SHARE * now.exec_s):
        return None
    read = now.read_blocks * observation.server.block_bytes / observation.seconds
    ratio = block_s / usual_s
    return Cause(
        kind=CauseKind.PLANS,
        code="NotTheQuery",
        severity="warning",
        subject=short(now.text),
        title=f"Not the query: a call touches {number(touched[1], 3)} blocks as before "
        f"({number(touched[0], 3)}), but each block read takes {format_latency(block_s)} instead of "
        f"{format_latency(usual_s)}: {number(ratio, 2)} times slower.",
        text="A changed plan would touch a different number of blocks, so storage is slower.",
        read_bytes_per_s=read,
        share_of_load=budget.of_load(read),
        share_of_ceiling=budget.of_ceiling(read),
        evidence=(
            Evidence(
                kind="latency",
                text=f"A call takes {format_latency(now.exec_s / now.calls)} instead of "
                f"{format_latency(before.exec_s / before.calls)} since the counters were reset.",
                value=now.exec_s / now.calls,
                reference=before.exec_s / before.calls,
            ),
        ),
        remedies=(
            Remedy(
                text="Find the ceiling that storage is at, and what uses it.",
                commands=("plimsoll diagnose TARGET",),
                expected="The time per block falls again; the statement needs no change.",
            ),
        ),
        refuted_by="A different plan or different parameters touch as many blocks by chance; compare "
        "recordings of 'plimsoll explain record'.",
    )


def _difference(before: Statement | None, after: Statement) -> Statement:
    if before is None:
        return after

    def whole(name: str) -> int:
        return max(int(getattr(after, name)) - int(getattr(before, name)), 0)

    def real(name: str) -> float | None:
        old, new = getattr(before, name), getattr(after, name)
        return None if old is None or new is None else max(new - old, 0.0)

    return Statement(
        query_id=after.query_id,
        text=after.text,
        calls=whole("calls"),
        rows=whole("rows"),
        exec_s=max(after.exec_s - before.exec_s, 0.0),
        read_blocks=whole("read_blocks"),
        hit_blocks=whole("hit_blocks"),
        dirtied_blocks=whole("dirtied_blocks"),
        written_blocks=whole("written_blocks"),
        temp_read_blocks=whole("temp_read_blocks"),
        temp_written_blocks=whole("temp_written_blocks"),
        read_s=real("read_s"),
        write_s=real("write_s"),
        wal_bytes=real("wal_bytes"),
    )
