"""
Statements by what `pg_stat_statements` counts between two readings, and beside all it counted before.

Rule 1: a statement that reads much is judged by its share, as every cause is; where a scan or a rewrite
        that is judged already made these reads, it is another view of them, and a note.
Rule 2: what fits the shared buffers is read once and stays: reads that may be the first of each block are a
        note, for they end by themselves.
Rule 3: upkeep (VACUUM, CREATE INDEX …) reads whole tables and then ends: by its share of a ceiling it is
        judged, by its share of the load it is a note.
Rule 4: one whose calls touch as many blocks as ever and wait for each several times as long is told to
        be slow for another reason than itself.
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

# Judgements: below a twentieth of the load a statement is not worth a line, and five are enough.
_SHARE_LEAST = 0.05
_LINES_MOST = 5
# A cached read takes microseconds and network storage answers within a millisecond or two: only what is
# beyond both, several times what it was, and much of the statement's time, tells of storage that is
# pressed. A workload that has only warmed up or cooled down stays below.
_BLOCK_RATIO = 3.0
_BLOCK_LEAST_S = 0.002
_IO_SHARE = 0.5
_BLOCKS_ALIKE = 0.25
_CALLS_LEAST = 10
# A look-up goes down three or four levels of a B-tree, of which the upper ones stay in memory, to one block
# of the table. More than twice of that for each row it gives, and a call passes over most of what it reads.
_BLOCKS_PER_ROW = 10
_TEXT_MOST = 90
_VACUUM = re.compile(r"\s*vacuum\b", re.IGNORECASE)
# They read whole tables once, because somebody wants that; EXPLAIN does not take them.
_UPKEEP = re.compile(
    r"\s*(?:vacuum|analyze|cluster|reindex|create\s+(?:unique\s+)?index)\b", re.IGNORECASE
)


class StatementWork(Struct, frozen=True, kw_only=True):
    """What one statement did between two readings."""

    statement: Statement
    """Every counter is the difference."""
    before: Statement | None
    """Everything counted before the first reading; None where that is nothing."""


def is_vacuum(text: str) -> bool:
    """Return whether a statement is a VACUUM, in whatever case."""
    return _VACUUM.match(text) is not None


def work_between(
    first: Sequence[Statement] | None, last: Sequence[Statement] | None
) -> tuple[StatementWork, ...]:
    """Return what was called between two readings; a counter that was reset counts from its reset."""
    earlier = {statement.query_id: statement for statement in first or ()}
    found = []
    for after in last or ():
        before = earlier.get(after.query_id)
        if before is not None and after.calls < before.calls:
            before = None
        work = _difference(before, after)
        if work.calls > 0:
            found.append(
                StatementWork(statement=work, before=before if before and before.calls else None)
            )
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
    """Return a statement in one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def counted(count: float, word: str) -> str:
    """Return `1 row`, `1,204 rows`."""
    return f"{number(count, 3)} {word}{'' if count == 1 else 's'}"


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return statements that read most, and those that are slow for another reason than themselves."""
    if observation.seconds <= 0:
        return ()
    works = work_between(observation.first.statements, observation.last.statements)
    found = [c for work in works if (c := _waiting(work, observation, budget)) is not None]
    slow = {cause.subject for cause in found}
    readers = [c for work in works if (c := _reader(work, observation, budget)) is not None]
    readers = [cause for cause in ranked(readers) if cause.subject not in slow]
    return ranked([*found, *readers[:_LINES_MOST]])


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """That reads are not timed, where statements are counted and that alone is missing."""
    settings = observation.server.settings
    if not observation.last.statements or settings.get("track_io_timing") != "off":
        return ()
    return (
        Missing(
            name="I/O timing",
            hides="whether a statement is slow because storage is",
            remedy="track_io_timing is off: ALTER SYSTEM SET track_io_timing = on; SELECT "
            "pg_reload_conf(); pg_test_timing tells what it costs.",
        ),
    )


_KEPT = Remedy(
    text="Keep its plan and blocks now, to compare them with when it is slow.",
    commands=("plimsoll explain record DSN --top 5 -o normal.json",),
    expected="Tells a changed plan from slow storage.",
)


_QUIETER = Remedy(
    text="Run it in a quieter hour; VACUUM and ANALYZE also go slower on request.",
    commands=("SET vacuum_cost_delay = 2;",),
    expected="The same bytes over a longer time.",
)


def _fewer_blocks(statement: Statement) -> Remedy:
    """Return what would spare reads: another plan where a call passes over much, else fewer calls or more memory."""
    touched = (statement.read_blocks + statement.hit_blocks) / statement.calls
    rows = statement.rows / statement.calls
    if touched > _BLOCKS_PER_ROW * max(rows, 1.0):
        return Remedy(
            text=f"It goes through {counted(touched, 'block')} to give {counted(rows, 'row')}: look in its "
            "plan for what it passes over ('Rows Removed by Filter'). An index on what it compares spares "
            "that.",
            commands=("EXPLAIN (ANALYZE, BUFFERS) <the statement>;",),
            expected="The node that reads most, and the rows it threw away.",
        )
    return Remedy(
        text="Each call wants few blocks, but so many different ones that memory does not hold them: call it "
        "less often (keep results, ask for many rows at once), make what it reads smaller (an index that has "
        "all columns it wants), or give the server more memory.",
        expected="Fewer blocks are read; they are found among the shared buffers instead.",
    )


def _reader(work: StatementWork, observation: Observation, budget: Budget) -> Cause | None:
    statement, seconds = work.statement, observation.seconds
    read = statement.read_blocks * observation.server.block_bytes / seconds
    share = budget.of_load(read)
    if share is None or share < _SHARE_LEAST:
        return None
    per_call = statement.read_blocks / statement.calls
    text = (
        f"It is called {counted(statement.calls / seconds, 'time')} a second and reads "
        f"{counted(per_call, 'block')} each time."
    )
    is_upkeep = _UPKEEP.match(statement.text) is not None
    of_ceiling = budget.of_ceiling(read)
    severity = severity_by(read, None, of_ceiling) if is_upkeep else severity_of(budget, read)
    if is_upkeep:
        text += " It is upkeep that somebody ran, and reads no more when it is done."
    is_warming = not is_upkeep and _fills_buffers(statement, observation)
    if is_warming:
        text += (
            " What it touches fits the shared buffers and was read once at most: they are filling, "
            "and then it reads no more."
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
                text=f"{counted(statement.rows / statement.calls, 'row')} each call.",
                value=statement.rows / statement.calls,
            ),
        ),
        remedies=(_QUIETER,) if is_upkeep else (_fewer_blocks(statement), _KEPT),
        refuted_by="The page cache of the system served these reads, so that no disk did.",
    )


def _fills_buffers(statement: Statement, observation: Observation) -> bool:
    """Return whether all that a statement may touch fits the shared buffers, and it read no more than that."""
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
    """Return the cause where a call reads as many blocks as ever, each several times as slowly."""
    now, before = work.statement, work.before
    if before is None or min(now.calls, before.calls) < _CALLS_LEAST:
        return None
    # Reads in no time at all were not timed.
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
        f"{format_latency(usual_s)}, {number(ratio, 2)} times.",
        text="A plan that had changed would touch other blocks: the storage answers more slowly.",
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
                text="Look for the ceiling that the storage is at, and for who spends it.",
                commands=("plimsoll diagnose TARGET",),
                expected="The time for each block falls back; the statement needs no change.",
            ),
        ),
        refuted_by="Another plan or other parameters that happen to touch as many blocks; compare "
        "captures of 'plimsoll explain record'.",
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
