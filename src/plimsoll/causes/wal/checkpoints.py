"""
Report what checkpoints write, and whether time or the amount of WAL triggers them.

Rule 1: checkpoints must write changed pages; their share is a note.
Rule 2: checkpoints triggered by WAL may be more than a note: after each, changed pages go into WAL as
        full-page images, and the same pages are written again.
"""

from plimsoll.causes.budget import BYTES_LEAST, SHARE_LEAST, Budget, severity_of
from plimsoll.causes.growth import per_s, setting_of
from plimsoll.causes.wal.pace import WalPace, pace_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.postgres import CHECKPOINT_COMPLETION_TARGET
from plimsoll.units import GIB, MIB, format_bytes, format_bytes_per_s, format_duration, format_ratio, number

# More WAL than this is seldom worth its room and its recovery; a judgement.
_WAL_MOST = 64 * GIB
# A longer time between checkpoints makes fewer whole pages, and a longer recovery after a crash.
_LONGER_TIMEOUT_S = 900.0


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return at most one cause: checkpoints brought on by WAL, requested by somebody, or their mere share."""
    written = per_s(observation, "checkpoint_written_bytes")
    if written is None:
        return ()
    pace = pace_of(observation)
    if pace is not None and pace.is_by_wal:
        return (_by_wal(pace, written, observation, budget),)
    share = budget.of_load(written)
    if written < BYTES_LEAST or (share is not None and share < SHARE_LEAST):
        return ()
    return (_writes(pace, written, observation, budget),)


def _by_wal(pace: WalPace, written: float, observation: Observation, budget: Budget) -> Cause:
    assert pace.interval_s is not None
    assert pace.timeout_s is not None
    assert pace.max_wal_bytes is not None
    saved = (pace.full_page_bytes_per_s + written) * pace.saved_ratio
    interval = _interval(pace.interval_s)
    return Cause(
        kind=CauseKind.CHECKPOINTS,
        code="CheckpointsByWal",
        severity=severity_of(budget, saved),
        subject="",
        title=(
            f"WAL of {format_bytes_per_s(pace.wal_bytes_per_s)} triggers a checkpoint every "
            f"{interval} instead of every {format_duration(pace.timeout_s)}; they write "
            f"{format_bytes_per_s(written)}."
        ),
        text=(
            f"With max_wal_size at {format_bytes(pace.max_wal_bytes)} a checkpoint is due after "
            f"{format_bytes(pace.trigger_bytes or 0.0)} of WAL. After each one, changed pages go into WAL as "
            "full-page images, and the next one writes them again: up to "
            f"{format_bytes_per_s(saved)} of that is avoidable."
        ),
        written_bytes_per_s=written,
        share_of_load=budget.of_load(written),
        share_of_ceiling=budget.of_ceiling(written),
        evidence=(*_counted(pace, observation), *_full_pages(pace), *_by_whom(observation)),
        remedies=_larger(pace),
        refuted_by=(
            "The checkpoints were requested by CHECKPOINT, backups or CREATE DATABASE: with log_checkpoints "
            "the log gives the reason, 'wal' in this case."
        ),
    )


def _larger(pace: WalPace) -> tuple[Remedy, ...]:
    assert pace.timeout_s is not None
    needed = pace.max_wal_bytes_for(pace.timeout_s)
    room = min(needed, _WAL_MOST)
    every_s = pace.timeout_s * min(room / needed, 1.0)
    full = format_bytes_per_s(pace.full_page_bytes_per_s)
    least = format_bytes_per_s(pace.full_page_bytes_per_s * (pace.interval_s or 0.0) / every_s)
    text = (
        f"Make room for {format_duration(pace.timeout_s)} of WAL: "
        f"{format_bytes_per_s(pace.wal_bytes_per_s)} × {number(pace.timeout_s)} s × "
        f"(1 + {number(pace.completion_ratio or 0.0)}) plus a tenth"
    )
    if needed > room:
        text += f" is {format_bytes(needed)}; begin with less, since fewer checkpoints mean less WAL"
    found = [
        Remedy(
            text=f"{text}.",
            settings=(("max_wal_size", f"{round(room / MIB)}MB"),),
            expected=(
                f"Checkpoints every {_interval(every_s)}; full-page images in WAL fall from {full} "
                f"to {least} at best. WAL takes up to {format_bytes(room)} of disk, and "
                "recovery after a crash takes longer."
            ),
        )
    ]
    longer = pace.max_wal_bytes_for(_LONGER_TIMEOUT_S)
    if pace.timeout_s < _LONGER_TIMEOUT_S and longer <= _WAL_MOST:
        found.append(
            Remedy(
                text="If a recovery of some minutes is acceptable, make checkpoints rarer still.",
                settings=(("checkpoint_timeout", "15min"), ("max_wal_size", f"{round(longer / MIB)}MB")),
                expected="Even fewer full-page images in WAL, if the same pages change often.",
            )
        )
    return tuple(found)


def _interval(seconds: float) -> str:
    """Return a time between checkpoints; below ten seconds with its fraction."""
    return f"{number(seconds, 2)} s" if seconds < 10 else format_duration(seconds)


def _writes(pace: WalPace | None, written: float, observation: Observation, budget: Budget) -> Cause:
    is_requested = pace is not None and pace.requested > pace.timed
    share = budget.of_load(written)
    part = f", {format_ratio(share)} of all bytes" if share is not None else ""
    text = "Each writes the pages changed since the one before, each page once."
    if pace is not None and is_requested:
        text += _who_asked(pace)
    completion = setting_of(observation, "checkpoint_completion_target")
    is_bursty = completion is not None and completion < CHECKPOINT_COMPLETION_TARGET
    remedy = Remedy(
        text=(
            f"checkpoint_completion_target is {number(completion or 0.0)}: pages are written in that "
            "part of the time between checkpoints. Spread them over more of it."
        ),
        settings=(("checkpoint_completion_target", f"{CHECKPOINT_COMPLETION_TARGET}"),),
        expected=(
            f"The same bytes at {format_ratio((completion or 0.0) / CHECKPOINT_COMPLETION_TARGET)} of the rate "
            "while a checkpoint writes."
        ),
    )
    return Cause(
        kind=CauseKind.CHECKPOINTS,
        code="CheckpointsRequested" if is_requested else "CheckpointWrites",
        severity="note",
        subject="",
        title=f"Checkpoints write {format_bytes_per_s(written)}{part}.",
        text=text,
        written_bytes_per_s=written,
        share_of_load=share,
        share_of_ceiling=budget.of_ceiling(written),
        evidence=(*(_counted(pace, observation) if pace is not None else ()), *_by_whom(observation)),
        remedies=(remedy,) if is_bursty else (),
        refuted_by="The window is a small part of the time between checkpoints, so it shows only a burst or a pause.",
    )


def _who_asked(pace: WalPace) -> str:
    """Return the likely origin of requested checkpoints that WAL does not certainly explain."""
    if pace.interval_s is not None and pace.timeout_s and pace.interval_s < pace.timeout_s:
        return (
            " They were requested, too few to tell whether by a command or by WAL, which at this "
            f"rate triggers one every {_interval(pace.interval_s)}. Inspect for longer."
        )
    return " They were requested, but not by WAL: by CHECKPOINT, a backup or CREATE DATABASE."


def _counted(pace: WalPace, observation: Observation) -> tuple[Evidence, ...]:
    ever = pace.timed_ever + pace.requested_ever
    now = pace.timed + pace.requested
    found = []
    if now:
        found.append(
            Evidence(
                kind="checkpoints",
                text=f"{pace.requested} of {now} checkpoints in {format_duration(observation.seconds)} were requested.",
                value=float(pace.requested),
                reference=float(now),
            )
        )
    if ever:
        found.append(
            Evidence(
                kind="checkpoints",
                text=f"{pace.requested_ever} of {ever} were since the counters began.",
                value=float(pace.requested_ever),
                reference=float(ever),
            )
        )
    return tuple(found)


def _full_pages(pace: WalPace) -> tuple[Evidence, ...]:
    if not pace.full_page_bytes_per_s:
        return ()
    share = pace.full_page_bytes_per_s / pace.wal_bytes_per_s
    return (
        Evidence(
            kind="wal",
            text=f"Full-page images are at most {format_bytes_per_s(pace.full_page_bytes_per_s)} of WAL, "
            f"{format_ratio(share)}.",
            value=pace.full_page_bytes_per_s,
            reference=pace.wal_bytes_per_s,
        ),
    )


def _by_whom(observation: Observation) -> tuple[Evidence, ...]:
    """Return who wrote changed pages: the checkpointer, the background writer, or sessions themselves."""
    rates = [per_s(observation, f"{who}_written_bytes") for who in ("checkpoint", "background", "backend")]
    total = sum(rate or 0.0 for rate in rates)
    if not total or rates[2] is None:
        return ()
    shares = [format_ratio((rate or 0.0) / total) for rate in rates]
    return (
        Evidence(
            kind="writers",
            text=f"Of pages written {shares[0]} are by checkpoints, {shares[1]} by the background "
            f"writer, {shares[2]} by sessions themselves.",
            value=(rates[0] or 0.0) / total,
        ),
    )
