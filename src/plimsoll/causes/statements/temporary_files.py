"""
Report sorts, hashes and others that exceed their memory and use temporary files.

Rule 1: `spills.py` computes the bytes, which are part of the load.
Rule 2: advice to raise work_mem comes with its cost: that much for every active session. It follows from the
        size of a file, not from how often it was written.
"""

from collections.abc import Sequence
from math import ceil, floor, log2

from plimsoll.causes.budget import Budget, severity_of
from plimsoll.causes.growth import setting_of
from plimsoll.causes.spills import MEMORY_PER_FILE_BYTE, Spill, temporary
from plimsoll.causes.statements.statements import StatementWork, counted, short, work_between
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import GIB, KIB, MIB, format_bytes, format_bytes_per_s, format_duration, format_ratio, number

# A judgement: more memory for one statement endangers the server.
_WORK_MEM_MOST = 1 * GIB
_STATEMENTS_MOST = 3
# A judgement: a second merge pass for a part of the rows is not worth a line.
_PASSES_MUCH = 1.5
_MAINTENANCE = ("create index", "reindex", "alter table", "cluster", "vacuum", "refresh")


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return at most one cause: what went through temporary files, with the statements that did it."""
    spill = temporary(observation)
    if spill is None:
        return ()
    works = _works(observation)
    total = spill.written + spill.read
    share = budget.of_load(total)
    part = f", {format_ratio(share)} of all bytes" if share is not None else ""
    mean = spill.files / spill.file_count if spill.file_count else None
    return (
        Cause(
            kind=CauseKind.TEMPORARY_FILES,
            code="TemporaryFiles",
            severity=severity_of(budget, total),
            subject=short(works[0].statement.text) if works else "",
            title=f"Temporary files take {format_bytes_per_s(total)}{part}: "
            f"{format_bytes_per_s(spill.written)} written, {format_bytes_per_s(spill.read)} read back"
            f"{'' if spill.is_counted else ' by estimate'}.",
            text=_text(observation, mean),
            read_bytes_per_s=spill.read,
            written_bytes_per_s=spill.written,
            is_estimated=not spill.is_counted,
            share_of_load=share,
            share_of_ceiling=budget.of_ceiling(total),
            evidence=_evidence(spill, mean, works, observation),
            remedies=_remedies(spill, mean, works, observation),
            refuted_by="The files were deleted before the system wrote them to disk: then the device's "
            "write counters do not show them.",
        ),
    )


def _works(observation: Observation) -> tuple[StatementWork, ...]:
    """Return the statements that wrote temporary files, the most blocks first; empty if unknown."""
    works = [
        work
        for work in work_between(observation.first.statements, observation.last.statements)
        if work.statement.temp_written_blocks
    ]
    works.sort(key=lambda work: -work.statement.temp_written_blocks)
    return tuple(works[:_STATEMENTS_MOST])


def _text(observation: Observation, mean: float | None) -> str:
    work_mem = _work_mem(observation)
    if work_mem is None or mean is None:
        return "A sort or hash that exceeds its memory uses files."
    hashes = setting_of(observation, "hash_mem_multiplier") or 1.0
    return (
        f"A sort may use work_mem, {format_bytes(work_mem)}, and a hash {number(hashes)} times that, "
        f"for each node of a plan and each worker. Larger ones use files, here of "
        f"{format_bytes(mean)} each."
    )


def _evidence(
    spill: Spill, mean: float | None, works: Sequence[StatementWork], observation: Observation
) -> tuple[Evidence, ...]:
    found = []
    if mean is not None:
        count = spill.file_count * observation.seconds
        found.append(
            Evidence(
                kind="files",
                text=f"{counted(count, 'file')} of {format_bytes(mean)} in {format_duration(observation.seconds)}.",
                value=mean,
                reference=_work_mem(observation),
            )
        )
    if spill.passes >= _PASSES_MUCH:
        how = "Each byte was" if spill.is_counted else "Estimated from file sizes, each byte was"
        found.append(
            Evidence(
                kind="passes",
                text=f"{how} written {number(spill.passes, 2)} times: with so little memory sorts need "
                "several merge passes.",
                value=spill.passes,
                reference=1.0,
            )
        )
    found += [
        Evidence(
            kind="statement",
            text=f"{format_bytes(_per_call(work, observation))} written per call, "
            f"{counted(work.statement.calls, 'call')}: {short(work.statement.text)}",
            value=_per_call(work, observation),
        )
        for work in works
    ]
    return tuple(found)


def _remedies(
    spill: Spill, mean: float | None, works: Sequence[StatementWork], observation: Observation
) -> tuple[Remedy, ...]:
    # Several merge passes write a file several times, but only its size needs memory.
    per_call = [_per_call(work, observation) / spill.passes for work in works]
    largest = max(per_call, default=mean or 0.0)
    if not largest:
        return ()
    needed = _needed(largest)
    top = works[0].statement.text.lstrip().lower() if works else ""
    if top.startswith(_MAINTENANCE):
        return (
            Remedy(
                text="It is maintenance, so raise maintenance_work_mem, for this session only.",
                commands=(f"SET maintenance_work_mem = '{_megabytes(needed)}';",),
                expected="The sort stays in memory, or needs fewer merge passes.",
            ),
        )
    if needed <= _WORK_MEM_MOST:
        found = [_more_memory(spill, largest, needed, observation)]
    else:
        found = [
            Remedy(
                text=f"In memory it would need about {format_bytes(needed)} per session. Sort or "
                "join fewer rows, or use an index for the order.",
                expected="Without the sort there are no files.",
            )
        ]
    if not works:
        found.append(
            Remedy(
                text="Find the statements: the log can show each with the size of its files.",
                settings=(("log_temp_files", "10MB"),),
                expected="The statements in the log, or in pg_stat_statements.",
            )
        )
    return tuple(found)


def _more_memory(spill: Spill, largest: float, needed: float, observation: Observation) -> Remedy:
    sessions = _active_most(observation)
    return Remedy(
        text=f"Give the statement {format_bytes(needed)}: {format_bytes(largest)} in files need "
        f"about {number(MEMORY_PER_FILE_BYTE)} times that in memory. With "
        f"{counted(sessions, 'active session')} that is up to {format_bytes(needed * sessions)}, "
        "so set it only in the transaction of the statement.",
        # Outside a transaction SET LOCAL only gives a warning (manual, SET).
        commands=(f"BEGIN;\nSET LOCAL work_mem = '{_megabytes(needed)}';\n-- the statement\nCOMMIT;",),
        expected=f"{format_bytes_per_s(spill.written + spill.read)} less; EXPLAIN (ANALYZE) then "
        "shows 'Memory' instead of 'Disk'.",
    )


def _needed(file_bytes: float) -> float:
    """Return the memory for files of this size, rounded up to an eighth of a power of two of MiB."""
    mib = max(file_bytes * MEMORY_PER_FILE_BYTE / MIB, 1.0)
    step = max(2.0 ** (floor(log2(mib)) - 3), 1.0)
    return ceil(mib / step) * step * MIB


def _megabytes(size: float) -> str:
    return f"{round(size / MIB)}MB"


def _per_call(work: StatementWork, observation: Observation) -> float:
    statement = work.statement
    return statement.temp_written_blocks * observation.server.block_bytes / statement.calls


def _work_mem(observation: Observation) -> float | None:
    kib = setting_of(observation, "work_mem")
    return None if kib is None else kib * KIB


def _active_most(observation: Observation) -> int:
    """Return the most sessions that were active at one glance, at least one."""
    active = [
        sum(1 for s in glance.sessions if s.state == "active" and s.backend_type == "client backend")
        for glance in observation.glances
    ]
    return max([1, *active])
