"""
Report vacuums that read and write while clients wait.

Rule 1: a vacuum's severity follows from its shares, like every other cause. Its share of the load is of the
        whole window, its share of the ceiling of the time it ran.
Rule 2: its share of the load alone makes only a note if almost nothing else was read or written, so that no
        client waited, or if it ran once for minutes, so that its share is chance. Then the text says so.
"""

from collections.abc import Sequence

from plimsoll.causes.budget import (
    BYTES_LEAST,
    CRITICAL_SHARE,
    SHARE_LEAST,
    SMALL_BYTES_PER_S,
    Budget,
    ranked,
    rates_of,
    severity_by,
)
from plimsoll.causes.vacuum.pace import VacuumPace
from plimsoll.causes.vacuum.runs import Bytes, ObservedVacuum, by_autovacuum, bytes_of, pace_of_run, runs_of
from plimsoll.causes.vacuum.toast_options import afterwards, set_command
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence, Missing
from plimsoll.model.severity import Severity
from plimsoll.units import format_bytes, format_bytes_per_s, format_clock, format_duration, format_ratio

# A shorter vacuum is not a large part of a day's load, unless it repeats. A judgement.
_SHORT_S = 600.0
# Of vacuums that ended in a plateau, those of smaller relations are not reported. A judgement.
_LARGE_BYTES = 1024**3

Plateaus = Sequence[tuple[float, float]]


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return vacuums that ran, and what autovacuum read and wrote; with their overlap with plateaus."""
    plateaus = budget.plateaus
    runs = runs_of(observation)
    every = [_of_run(observation, budget, run, runs, plateaus) for run in runs]
    found = [
        cause
        for run, cause in zip(runs, every, strict=True)
        if run.is_running
        or (cause.bytes_per_s is None and not _is_small(observation, budget, run))
        or _is_worth_reporting(cause.bytes_per_s, cause.share_of_load, cause.share_of_ceiling)
    ]
    if not any(run.last.is_automatic for run in runs):
        found += _short_runs(observation, budget)
    found += _ended_in(observation, plateaus, {run.last.relation_oid for run in runs})
    return ranked(found)


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """Return the missing data of this detector."""
    if observation.last.io is not None or not runs_of(observation):
        return ()
    return (
        Missing(
            name="pg_stat_io",
            hides="what ended vacuums read and wrote; it is estimated from blocks",
            remedy="PostgreSQL 16 and later have it.",
        ),
    )


def overlap_s(start_s: float, end_s: float, plateaus: Plateaus) -> float:
    """Return seconds of the plateaus that lie in [start, end)."""
    return sum(max(min(end_s, b) - max(start_s, a), 0.0) for a, b in plateaus)


def _is_worth_reporting(moved: float | None, of_load: float | None, of_ceiling: float | None) -> bool:
    """Return whether an ended vacuum moved enough to be reported; yes if no share is known."""
    known = [share for share in (of_load, of_ceiling) if share is not None]
    return moved is not None and (not known or max(known) >= SHARE_LEAST)


def _is_small(observation: Observation, budget: Budget, run: ObservedVacuum) -> bool:
    """Return whether runs of unknown bytes are too small to report, even if each pass wrote all that it read."""
    if run.relation is None or observation.seconds <= 0:
        return False
    oid, block_bytes = run.relation.oid, observation.server.block_bytes
    # The vacuum may have truncated the file, so the size now can be smaller.
    heap = max(run.relation.size_bytes, run.last.total_blocks * block_bytes)
    indexes = sum(one.size_bytes for one in observation.last.indexes if one.table_oid == oid)
    # A vacuum reads the table twice, each index once per round, and each index once more at the end.
    read = 2 * heap + (1 + max(run.last.index_rounds, 1)) * indexes
    rate = 2 * read * len(run.spans) / observation.seconds
    of_load = budget.of_load(rate)
    return rate < BYTES_LEAST or (of_load is not None and of_load < SHARE_LEAST)


def _of_run(
    observation: Observation, budget: Budget, run: ObservedVacuum, runs: Sequence[ObservedVacuum], plateaus: Plateaus
) -> Cause:
    found = bytes_of(observation, run, runs)
    read, written, moved = found.read, found.written, found.moved
    rate = f"; {format_bytes_per_s(moved, 3)}" if moved is not None else ""
    pace = pace_of_run(observation, run)
    of_load, of_ceiling = _share_of_load(budget, found), budget.of_ceiling(moved)
    why = _reason_to_lower(budget, found.mean, of_load, is_brief=_is_brief(run))
    severity, note = _weigh(moved, (of_load, of_ceiling), why)
    return Cause(
        kind=CauseKind.VACUUM,
        code="VacuumRunning",
        severity=severity,
        subject=run.subject,
        title=f"{_title(run)}{rate}",
        text=_joined(_text(run, found.how), note),
        read_bytes_per_s=read,
        written_bytes_per_s=written,
        uncounted_bytes_per_s=found.uncounted,
        is_estimated=not found.is_counted,
        share_of_load=of_load,
        share_of_ceiling=of_ceiling,
        evidence=(*_overlap(run, plateaus), *_limits(budget, run, pace, (read or 0.0, written or 0.0)), *_delays(run)),
        remedies=_remedies(budget, run, pace, (read or 0.0, written or 0.0)),
        refuted_by="Latency stays as it is while this vacuum is paused or cancelled.",
    )


def _share_of_load(budget: Budget, found: Bytes) -> float | None:
    """
    Return the share of all bytes between the readings, 0–1; None where either is not known.

    An estimate covers only the time in which the vacuum was seen, which may be a small part of the window. The
    server's counters do not include running vacuums, so their bytes are added to the load.
    """
    load = budget.load_bytes_per_s
    if found.mean is None or load is None:
        return None
    whole = load + max(found.uncounted - budget.uncounted_bytes_per_s, 0.0)
    return min(found.mean / whole, 1.0) if whole > 0 else None


def _weigh(moved: float | None, shares: tuple[float | None, float | None], why: str) -> tuple[Severity, str]:
    """Return the severity, and `why` if ignoring the share of the load lowers it."""
    of_load, of_ceiling = shares
    by_rule, lowered = (severity_by(moved, of, of_ceiling) for of in (of_load, None))
    if not why or by_rule == lowered:
        return by_rule, ""
    return lowered, why


def _reason_to_lower(budget: Budget, mean: float | None, of_load: float | None, *, is_brief: bool) -> str:
    """Return why its share of the load is not meaningful; empty if it is."""
    if mean and of_load and mean * (1 / of_load - 1) < SMALL_BYTES_PER_S:
        return "Almost nothing else was read or written at that time, so nobody had to wait."
    if is_brief and budget.ceiling_bytes_per_s is None:
        return (
            "It ran once, for minutes at most, so its share of this short window is chance and it is only a "
            "note. Inspect for longer, or give --against to compare it with a ceiling."
        )
    return ""


def _is_brief(run: ObservedVacuum) -> bool:
    return len(run.spans) == 1 and run.last.running_s + (run.left_s or 0.0) < _SHORT_S


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _title(run: ObservedVacuum) -> str:
    """Describe the vacuum, its duration and its progress."""
    who = "autovacuum" if run.last.is_automatic else "VACUUM"
    lasted = format_duration(run.last.running_s)
    if len(run.spans) > 1:
        return f"{who} of {run.subject} ran {len(run.spans)} times during the window"
    if not run.is_running:
        return f"{who} of {run.subject} ran for {lasted} and has ended"
    progress = f", {format_ratio(run.progress)}" if run.progress is not None else ""
    left = f", {format_duration(run.left_s)} left" if run.left_s is not None else ""
    return f"{who} of {run.subject} has run for {lasted}: {run.last.phase}{progress}{left}"


def _text(run: ObservedVacuum, how: str) -> str:
    parts = [f"Bytes are {how}."]
    if run.owner is not None:
        parts.append(f"{run.last.relation} stores the large values of {run.owner.name}.")
    if run.last.index_rounds > 1:
        parts.append(
            f"It has scanned the indexes {run.last.index_rounds} times, because its dead rows do not fit "
            "autovacuum_work_mem."
        )
    if run.is_running and run.last.phase == "scanning heap":
        parts.append("After this scan it scans the indexes, and then the pages with dead rows again.")
    if run.last.is_wraparound:
        parts.append("It prevents wraparound: do not cancel it, only slow it down.")
    return " ".join(parts)


def _overlap(run: ObservedVacuum, plateaus: Plateaus) -> list[Evidence]:
    total_s = sum(end - start for start, end in plateaus)
    shared_s = sum(overlap_s(start_s, end_s, plateaus) for start_s, end_s in run.spans)
    if not total_s:
        return []
    return [
        Evidence(
            kind="overlap",
            text=f"it ran during {format_duration(shared_s)} of the {format_duration(total_s)} that "
            f"were spent at a ceiling ({format_ratio(shared_s / total_s)})",
            value=shared_s,
            reference=total_s,
        )
    ]


def _limits(budget: Budget, run: ObservedVacuum, pace: VacuumPace | None, moved: tuple[float, float]) -> list[Evidence]:
    """Compare the rate that its cost limits allow with the ceiling, and state how long it takes."""
    if pace is None:
        return []
    allowed = pace.bytes_per_s_max(*moved)
    ceiling = budget.ceiling_bytes_per_s
    if allowed is None:
        text = "no cost limit slows it down"
    else:
        text = (
            f"its cost limits allow {format_bytes_per_s(allowed, 4)}: {pace.limit:.0f} per "
            f"{pace.delay_s * 1000:g} ms, with {pace.page_miss:g} for a page read and "
            f"{pace.page_dirty:g} for one dirtied; at that rate the whole relation takes "
            f"{format_duration(_lasting(run, pace, allowed, moved))}"
        )
    if ceiling is not None:
        keeps = allowed is not None and allowed < ceiling
        text += f"; that is {'below' if keeps else 'not below'} the ceiling of {format_bytes_per_s(ceiling, 4)}"
    return [Evidence(kind="cost_limit", text=text, value=allowed, reference=ceiling)]


def _delays(run: ObservedVacuum) -> list[Evidence]:
    # 0 where track_cost_delay_timing is off, as it is by default.
    if not run.last.delay_s or run.last.running_s <= 0:
        return []
    share = run.last.delay_s / run.last.running_s
    return [
        Evidence(
            kind="delay",
            text=f"it slept {format_ratio(share)} of its time because of its cost limit",
            value=run.last.delay_s,
            reference=run.last.running_s,
        )
    ]


def _remedies(
    budget: Budget, run: ObservedVacuum, pace: VacuumPace | None, moved: tuple[float, float]
) -> tuple[Remedy, ...]:
    found = []
    target = (budget.ceiling_bytes_per_s or 0.0) * CRITICAL_SHARE
    allowed = pace.bytes_per_s_max(*moved) if pace is not None else None
    if pace is not None and target > 0 and (allowed is None or allowed > target):
        limit, delay_ms = pace.limit_for(target, *moved)
        lasts = _lasting(run, pace, target, moved)
        commands, told = _limited(run, limit, delay_ms)
        found.append(
            Remedy(
                text=f"Limit it to a quarter of the ceiling ({format_bytes_per_s(target, 3)}), from its "
                f"next run on.{told}",
                commands=commands,
                expected=f"the whole relation takes at least {format_duration(lasts)}",
            )
        )
    if run.is_running and not run.last.is_wraparound:
        found.append(
            Remedy(
                text="To test whether others wait for it, cancel it once. Autovacuum restarts it at the next check.",
                commands=(f"SELECT pg_cancel_backend({run.last.pid});",),
            )
        )
    if run.last.is_automatic and len(run.spans) > 1:
        found.append(
            Remedy(
                text="It returns as often as dead rows accumulate. First check the updates and deletes in "
                "pg_stat_all_tables, then its trigger."
            )
        )
    return tuple(found)


def _limited(run: ObservedVacuum, limit: int, delay_ms: int) -> tuple[tuple[str, ...], str]:
    """Return the commands that limit its next run, and what else they do; none for another database's relation."""
    if run.relation is None:
        # The server gives only the number of a relation of another database.
        return (), f" Set its parameters in its own database ({run.last.relation})."
    table = run.owner or run.relation
    if not run.last.is_automatic:
        settings = (f"SET vacuum_cost_limit = {limit};", f"SET vacuum_cost_delay = {delay_ms};")
        return (*settings, f"VACUUM {table.name};"), ""
    changes = {"autovacuum_vacuum_cost_limit": f"{limit}", "autovacuum_vacuum_cost_delay": f"{delay_ms}"}
    return (set_command(run.relation, table, changes),), afterwards(run.relation, table, None)


def _lasting(run: ObservedVacuum, pace: VacuumPace, target: float, moved: tuple[float, float]) -> float:
    """Return seconds to read the whole relation once at that rate, with writes in the observed proportion."""
    read, written = moved
    ratio = 1 + written / read if read > 0 else 1.0
    return run.last.total_blocks * pace.block_bytes * ratio / target


def _short_runs(observation: Observation, budget: Budget) -> list[Cause]:
    """Return what autovacuum did in runs too short for any glance."""
    read, written = rates_of(observation, by_autovacuum)
    moved = None if read is None or written is None else read + written
    if not moved or not _is_worth_reporting(moved, budget.of_load(moved), budget.of_ceiling(moved)):
        return []
    before = {relation.oid: relation.autovacuum_count for relation in observation.first.relations}
    done = [
        relation
        for relation in observation.last.relations
        if relation.autovacuum_count > before.get(relation.oid, relation.autovacuum_count)
    ]
    names = {relation.oid: relation.name for relation in observation.last.relations}
    ended = [
        f"{names.get(relation.owner_oid or 0, relation.name)}{' (TOAST)' if relation.owner_oid else ''}"
        for relation in sorted(done, key=lambda r: -r.size_bytes)[:5]
    ]
    of_load, of_ceiling = budget.of_load(moved), budget.of_ceiling(moved)
    largest = max(done, key=lambda relation: relation.size_bytes, default=None)
    is_brief = largest is None or largest.autovacuum_count - before[largest.oid] == 1
    why = _reason_to_lower(budget, moved, of_load, is_brief=is_brief)
    severity, why = _weigh(moved, (of_load, of_ceiling), why)
    sentence = f"It ended with: {', '.join(ended)}." if ended else ""
    return [
        Cause(
            kind=CauseKind.VACUUM,
            code="AutovacuumIo",
            severity=severity,
            subject=ended[0] if len(ended) == 1 else "",
            title=f"autovacuum moved {format_bytes_per_s(moved, 3)} in short runs",
            text=_joined(sentence, why),
            read_bytes_per_s=read,
            written_bytes_per_s=written,
            share_of_load=of_load,
            share_of_ceiling=of_ceiling,
            refuted_by="pg_stat_io shows no reads or writes of autovacuum workers.",
        )
    ]


def _ended_in(observation: Observation, plateaus: Plateaus, seen: set[int]) -> list[Cause]:
    """Return vacuums of large relations that ended while storage was at a ceiling."""
    names = {relation.oid: relation.name for relation in observation.last.relations}
    found = []
    for relation in observation.last.relations:
        ended_s = relation.last_autovacuum_s
        if ended_s is None or relation.size_bytes < _LARGE_BYTES or relation.oid in seen:
            continue
        if not any(start <= ended_s <= end for start, end in plateaus):
            continue
        owner = names.get(relation.owner_oid or 0)
        subject = f"{owner} (TOAST)" if owner else relation.name
        found.append(
            Cause(
                kind=CauseKind.VACUUM,
                code="VacuumDuringPlateau",
                severity="note",
                subject=subject,
                title=f"the last autovacuum of {subject} ({format_bytes(relation.size_bytes)}) ended at "
                f"{format_clock(ended_s)} UTC, while storage was at a ceiling",
                text="Its start is not recorded; log_autovacuum_min_duration = 0 logs it.",
                remedies=(
                    Remedy(
                        text="Log what autovacuum reads, writes and how long it takes.",
                        settings=(("log_autovacuum_min_duration", "0"),),
                    ),
                ),
                refuted_by="The log shows that it began just before it ended.",
            )
        )
    return found
