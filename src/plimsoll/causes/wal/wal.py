"""
What is written to WAL, of what it consists, and which statements make it.

Rule 1: WAL is the price of changes; its share is a note. More than that is only what could be left out:
        whole pages that checkpoints come too early for.
Rule 2: how much is written is taken from the I/O counters where they count WAL (18 and later), and else
        follows from the number of writes: small commits write a block several times that is generated once,
        and a new log file is filled with zeros before it is used.
"""

from plimsoll.causes.budget import Budget, severity_of, wal_written, wal_zeros
from plimsoll.causes.statements.statements import short, work_between
from plimsoll.causes.wal.pace import WalPace, pace_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes_per_s, format_ratio, number

# Judgements, as for checkpoints: what is below is not worth a line.
_SHARE_LEAST = 0.01
_BYTES_LEAST = 0.1e6
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
    if written < _BYTES_LEAST or (share is not None and share < _SHARE_LEAST):
        return ()
    full_ratio = pace.full_page_bytes_per_s / pace.wal_bytes_per_s
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
            f"{format_ratio(full_ratio)} of it are whole pages.",
            text=_text(pace, written, zeros),
            written_bytes_per_s=written,
            share_of_load=share,
            share_of_ceiling=budget.of_ceiling(written),
            evidence=_evidence(pace, written, zeros, observation),
            remedies=_remedies(pace, written - zeros, full_ratio, observation),
            refuted_by="Another place: where WAL lies on a volume of its own it takes nothing of the "
            "data's.",
        ),
    )


def _text(pace: WalPace, written: float, zeros: float) -> str:
    if pace.is_by_wal:
        return (
            "Checkpoints come before their time, and after each one the pages that are changed are "
            "logged whole. See what is said of checkpoints."
        )
    if pace.wal_bytes_per_s and (written - zeros) / pace.wal_bytes_per_s >= _REWRITTEN_MUCH:
        return (
            f"{format_bytes_per_s(pace.wal_bytes_per_s)} are generated: small commits write the block "
            "that they end in again and again."
        )
    if zeros > _ZEROS_MUCH * written:
        return (
            "A new log file is filled with zeros before it is used, so that its bytes are written twice; "
            "that ends when there are enough to be used again, as min_wal_size keeps them."
        )
    return "Every change is also written to WAL."


def _evidence(
    pace: WalPace, written: float, zeros: float, observation: Observation
) -> tuple[Evidence, ...]:
    has_zeros = zeros >= _SHARE_LEAST * written
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
            text=f"Whole pages at most {format_bytes_per_s(pace.full_page_bytes_per_s)}.",
            value=pace.full_page_bytes_per_s,
            reference=pace.wal_bytes_per_s,
        ),
    ]
    works = work_between(observation.first.statements, observation.last.statements)
    by_wal = sorted(works, key=lambda w: -(w.statement.wal_bytes or 0.0))
    for work in by_wal[:_STATEMENTS_MOST]:
        rate = (work.statement.wal_bytes or 0.0) / observation.seconds
        if rate >= _SHARE_LEAST * pace.wal_bytes_per_s and rate > 0:
            found.append(
                Evidence(
                    kind="statement",
                    text=f"{format_bytes_per_s(rate)} by {short(work.statement.text)}",
                    value=rate,
                    reference=pace.wal_bytes_per_s,
                )
            )
    return tuple(found)


def _remedies(
    pace: WalPace, written: float, full_ratio: float, observation: Observation
) -> tuple[Remedy, ...]:
    found = []
    compression = observation.server.settings.get("wal_compression")
    if compression == "off" and full_ratio >= _FULL_PAGES_MUCH:
        method = "lz4" if observation.server.version_number >= _VERSION_LZ4 else "on"
        found.append(
            Remedy(
                text="Compress whole pages in WAL; it costs processor time, none of it on the disk. A "
                "server that was built without lz4 takes 'pglz'.",
                commands=(
                    f"ALTER SYSTEM SET wal_compression = {method};",
                    "SELECT pg_reload_conf();",
                ),
                expected=f"At most {format_bytes_per_s(pace.full_page_bytes_per_s)} of WAL shrink by "
                "what the pages can be compressed.",
            )
        )
    if pace.wal_bytes_per_s and written / pace.wal_bytes_per_s >= _REWRITTEN_MUCH:
        ratio = number(written / pace.wal_bytes_per_s, 2)
        found.append(
            Remedy(
                text="Put changes that belong together into one transaction. What may be lost in a "
                "crash, and only that, may commit without waiting.",
                # Outside a transaction SET LOCAL does nothing but warn.
                commands=("BEGIN;\nSET LOCAL synchronous_commit = off;\n-- the changes\nCOMMIT;",),
                expected=f"Fewer writes of the same block: now {ratio} bytes are written for one.",
            )
        )
    return tuple(found)
