"""
Sorts, hashes and the like that do not fit their memory and go through files.

Rule 1: the server counts what it wrote; that it was read back once is an estimate where no statement
        tells. `pg_stat_io` counts none of it, so the load is widened by it before shares are taken.
Rule 2: advice to raise work_mem is a number with its price: that times every session at work.
"""

from math import ceil, log2

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.causes.budget import Budget, severity_of
from plimsoll.causes.growth import per_s, setting_of
from plimsoll.causes.statements import Work, counted, short, work_between
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import (
    GIB,
    KIB,
    MIB,
    format_bytes,
    format_bytes_per_s,
    format_duration,
    format_ratio,
    number,
)

# What takes so much in a file takes more in memory, where rows have headers and pointers: twice as
# much, a judgement (documentation of EXPLAIN shows both for a sort; the factor depends on the rows).
_MEMORY_PER_FILE_BYTE = 2.0
# Beyond this, memory is no remedy but the next problem.
_WORK_MEM_MOST = 1 * GIB
_STATEMENTS_MOST = 3
_MAINTENANCE = ("create index", "reindex", "alter table", "cluster", "vacuum", "refresh")


class _Spill(Struct, frozen=True, kw_only=True):
    """What went through temporary files, per second."""

    written: float
    read: float
    is_read_known: bool
    file_count: float
    works: tuple[Work, ...]
    """Statements that wrote them, the most first; empty where it is not known."""


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """At most one: what went through temporary files, with the statements that did it."""
    spill = _spill(observation)
    if spill is None:
        return ()
    total = spill.written + spill.read
    wider = budget
    if budget.read_bytes_per_s is not None and budget.written_bytes_per_s is not None:
        wider = replace(
            budget,
            read_bytes_per_s=budget.read_bytes_per_s + spill.read,
            written_bytes_per_s=budget.written_bytes_per_s + spill.written,
        )
    share = wider.of_load(total)
    part = f", {format_ratio(share)} of all bytes" if share is not None else ""
    mean = spill.written / spill.file_count if spill.file_count else None
    return (
        Cause(
            kind=CauseKind.TEMPORARY_FILES,
            code="TemporaryFiles",
            severity=severity_of(wider, total),
            subject=short(spill.works[0].statement.text) if spill.works else "",
            title=f"Temporary files take {format_bytes_per_s(total)}{part}: "
            f"{format_bytes_per_s(spill.written)} written, {format_bytes_per_s(spill.read)} read back"
            f"{'' if spill.is_read_known else ' by estimate'}.",
            text=_text(observation, mean),
            read_bytes_per_s=spill.read,
            written_bytes_per_s=spill.written,
            is_estimated=not spill.is_read_known,
            share_of_load=share,
            share_of_ceiling=wider.of_ceiling(total),
            evidence=_evidence(spill, mean, observation),
            remedies=_remedies(spill, mean, observation),
            refuted_by="Files that are gone before the system writes them out never reach the disk: "
            "the device's own writes would then not show them.",
        ),
    )


def _spill(observation: Observation) -> _Spill | None:
    written = per_s(observation, "temp_bytes")
    if not written:
        return None
    block = observation.server.block_bytes
    works = [
        work
        for work in work_between(observation.first.statements, observation.last.statements)
        if work.statement.temp_written_blocks
    ]
    works.sort(key=lambda work: -work.statement.temp_written_blocks)
    wrote = sum(w.statement.temp_written_blocks for w in works) * block / observation.seconds
    read = sum(w.statement.temp_read_blocks for w in works) * block / observation.seconds
    # Statements that wrote most of it tell how often it was read.
    is_known = wrote >= written / 2
    return _Spill(
        written=written,
        read=read * written / wrote if is_known else written,
        is_read_known=is_known,
        file_count=per_s(observation, "temp_files") or 0.0,
        works=tuple(works[:_STATEMENTS_MOST]),
    )


def _text(observation: Observation, mean: float | None) -> str:
    work_mem = _work_mem(observation)
    if work_mem is None or mean is None:
        return "A sort or hash that does not fit its memory goes through files."
    hashes = setting_of(observation, "hash_mem_multiplier") or 1.0
    return (
        f"A sort may take work_mem, {format_bytes(work_mem)}, and a hash {number(hashes)} times that, "
        f"each step of a plan and each worker anew; what is larger goes through files, here of "
        f"{format_bytes(mean)} each."
    )


def _evidence(spill: _Spill, mean: float | None, observation: Observation) -> tuple[Evidence, ...]:
    found = []
    if mean is not None:
        count = spill.file_count * observation.seconds
        found.append(
            Evidence(
                kind="files",
                text=f"{counted(count, 'file')} of {format_bytes(mean)} in "
                f"{format_duration(observation.seconds)}.",
                value=mean,
                reference=_work_mem(observation),
            )
        )
    found += [
        Evidence(
            kind="statement",
            text=f"{format_bytes(_per_call(work, observation))} each call, "
            f"{counted(work.statement.calls, 'call')}: {short(work.statement.text)}",
            value=_per_call(work, observation),
        )
        for work in spill.works
    ]
    return tuple(found)


def _remedies(spill: _Spill, mean: float | None, observation: Observation) -> tuple[Remedy, ...]:
    largest = max((_per_call(work, observation) for work in spill.works), default=mean or 0.0)
    found = []
    if not largest:
        return ()
    top = spill.works[0].statement.text.lstrip().lower() if spill.works else ""
    if top.startswith(_MAINTENANCE):
        return (
            Remedy(
                text="It is maintenance: its memory is maintenance_work_mem, for this session alone.",
                commands=(f"SET maintenance_work_mem = '{_megabytes(_needed(largest))}';",),
                expected="The sort stays in memory, or takes fewer rounds over its files.",
            ),
        )
    needed = _needed(largest)
    if needed <= _WORK_MEM_MOST:
        sessions = _at_work(observation)
        found.append(
            Remedy(
                text=f"Give the statement {format_bytes(needed)}: {format_bytes(largest)} in files take "
                f"about {number(_MEMORY_PER_FILE_BYTE)} times that in memory. With "
                f"{counted(sessions, 'session')} at work at once it is up to {format_bytes(needed * sessions)}, so set it where it is "
                "needed and not for all.",
                commands=(f"SET LOCAL work_mem = '{_megabytes(needed)}';",),
                expected=f"{format_bytes_per_s(spill.written + spill.read)} less; EXPLAIN (ANALYZE) then "
                "says 'Memory' instead of 'Disk'.",
            )
        )
    else:
        found.append(
            Remedy(
                text=f"In memory it would take about {format_bytes(needed)} for each session: sort or "
                "join fewer rows, or let an index give the order.",
                expected="The files go with the sort.",
            )
        )
    if not spill.works:
        found.append(
            Remedy(
                text="Find the statements: the log can name each with the size of its files.",
                commands=("ALTER SYSTEM SET log_temp_files = '10MB';", "SELECT pg_reload_conf();"),
                expected="The statements in the log, or in pg_stat_statements.",
            )
        )
    return tuple(found)


def _needed(file_bytes: float) -> float:
    """Memory for what took so much in files, as a power of two of MiB."""
    return float(2 ** ceil(log2(max(file_bytes * _MEMORY_PER_FILE_BYTE / MIB, 1.0))) * MIB)


def _megabytes(size: float) -> str:
    return f"{round(size / MIB)}MB"


def _per_call(work: Work, observation: Observation) -> float:
    statement = work.statement
    return statement.temp_written_blocks * observation.server.block_bytes / statement.calls


def _work_mem(observation: Observation) -> float | None:
    kib = setting_of(observation, "work_mem")
    return None if kib is None else kib * KIB


def _at_work(observation: Observation) -> int:
    """Most sessions that were active at one glance; at least one."""
    active = [
        sum(
            1 for s in glance.sessions if s.state == "active" and s.backend_type == "client backend"
        )
        for glance in observation.glances
    ]
    return max([1, *active])
