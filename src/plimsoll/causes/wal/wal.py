"""
Report what is written to WAL, what it consists of, and which statements generate it.

Rule 1: every change needs WAL, so its share is a note. Only the avoidable part can be more: full-page images
        due to too frequent checkpoints.
Rule 2: how much is written is taken from the I/O counters where they count WAL (18 and later), and else
        follows from the number of writes: small commits write a block several times that is generated once,
        and a new log file is filled with zeros before it is used.
"""

from plimsoll.causes.budget import BYTES_LEAST, SHARE_LEAST, Budget, severity_of, wal_written, wal_zeros
from plimsoll.causes.statements.statements import short, work_between
from plimsoll.causes.wal.pace import WalPace, pace_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes_per_s, format_ratio, number

# From a third on compressing whole pages is worth its processor time.
_FULL_PAGES_MUCH = 1 / 3
# Written so many times what is generated, commits are small.
_REWRITTEN_MUCH = 2.0
# From a quarter on, zeros are most of what is written beyond what was generated. A judgement.
_ZEROS_MUCH = 1 / 4
_STATEMENTS_MOST = 3
_VERSION_LZ4 = 150_000


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return at most one cause: the share of WAL, with what it is made of."""
    pace = pace_of(observation)
    if pace is None:
        return ()
    written = wal_written(observation) or pace.wal_bytes_per_s
    share = budget.of_load(written)
    if written < BYTES_LEAST or (share is not None and share < SHARE_LEAST):
        return ()
    # New files can be filled before any of the WAL in them is counted.
    generated = pace.wal_bytes_per_s
    full_ratio = pace.full_page_bytes_per_s / generated if generated else 0.0
    avoidable = pace.full_page_bytes_per_s * pace.saved_ratio if pace.is_by_wal else None
    part = f", {format_ratio(share)} of all bytes" if share is not None else ""
    zeros = wal_zeros(observation)
    return (
        Cause(
            kind=CauseKind.WAL,
            code="WalFullPages" if avoidable else "WalWrites",
            severity=severity_of(budget, avoidable),
            subject="",
            title=f"WAL takes {format_bytes_per_s(written)}{part}; at most "
            f"{format_ratio(full_ratio)} of it are full-page images.",
            text=_text(pace, written, zeros),
            written_bytes_per_s=written,
            share_of_load=share,
            share_of_ceiling=budget.of_ceiling(written),
            evidence=_evidence(pace, written, zeros, observation),
            remedies=_remedies(pace, written - zeros, full_ratio, observation),
            refuted_by="WAL is on its own volume, so it does not use the throughput of the data volume.",
        ),
    )


def _text(pace: WalPace, written: float, zeros: float) -> str:
    if pace.is_by_wal:
        return (
            "Checkpoints are too frequent, and after each one changed pages go into WAL as full-page "
            "images. See the finding about checkpoints."
        )
    if pace.wal_bytes_per_s and (written - zeros) / pace.wal_bytes_per_s >= _REWRITTEN_MUCH:
        return (
            f"{format_bytes_per_s(pace.wal_bytes_per_s)} are generated: small commits write the same WAL "
            "block several times."
        )
    if zeros > _ZEROS_MUCH * written:
        return (
            "New WAL files are filled with zeros before use, so their bytes are written twice. "
            "That ends when there are enough files to recycle (min_wal_size)."
        )
    return "Every change is also written to WAL."


def _evidence(pace: WalPace, written: float, zeros: float, observation: Observation) -> tuple[Evidence, ...]:
    has_zeros = zeros >= SHARE_LEAST * written
    filled = f", {format_bytes_per_s(zeros)} of it zeros of new files" if has_zeros else ""
    found = [
        Evidence(
            kind="wal",
            text=f"Generated {format_bytes_per_s(pace.wal_bytes_per_s)}, written "
            f"{format_bytes_per_s(written)}{filled}.",
            value=written,
            reference=pace.wal_bytes_per_s,
        ),
        Evidence(
            kind="wal",
            text=f"Full-page images at most {format_bytes_per_s(pace.full_page_bytes_per_s)}.",
            value=pace.full_page_bytes_per_s,
            reference=pace.wal_bytes_per_s,
        ),
    ]
    works = work_between(observation.first.statements, observation.last.statements)
    by_wal = sorted(works, key=lambda w: -(w.statement.wal_bytes or 0.0))
    for work in by_wal[:_STATEMENTS_MOST]:
        rate = (work.statement.wal_bytes or 0.0) / observation.seconds
        if rate >= SHARE_LEAST * pace.wal_bytes_per_s and rate > 0:
            found.append(
                Evidence(
                    kind="statement",
                    text=f"{format_bytes_per_s(rate)} by {short(work.statement.text)}",
                    value=rate,
                    reference=pace.wal_bytes_per_s,
                )
            )
    return tuple(found)


def _remedies(pace: WalPace, written: float, full_ratio: float, observation: Observation) -> tuple[Remedy, ...]:
    found = []
    compression = observation.server.settings.get("wal_compression")
    if compression == "off" and full_ratio >= _FULL_PAGES_MUCH:
        method = "lz4" if observation.server.version_number >= _VERSION_LZ4 else "on"
        found.append(
            Remedy(
                text="Compress full-page images in WAL; this costs CPU time. A server built without lz4 needs 'pglz'.",
                settings=(("wal_compression", method),),
                expected=f"At most {format_bytes_per_s(pace.full_page_bytes_per_s)} of WAL shrink as far as "
                "the pages can be compressed.",
            )
        )
    if pace.wal_bytes_per_s and written / pace.wal_bytes_per_s >= _REWRITTEN_MUCH:
        ratio = number(written / pace.wal_bytes_per_s, 2)
        found.append(
            Remedy(
                text="Put related changes into one transaction. Use asynchronous commit only for changes that "
                "may be lost in a crash.",
                # Outside a transaction SET LOCAL does nothing but warn.
                commands=("BEGIN;\nSET LOCAL synchronous_commit = off;\n-- the changes\nCOMMIT;",),
                expected=f"Fewer writes of the same block: now {ratio} bytes are written for each byte generated.",
            )
        )
    return tuple(found)
