"""
Report logical decoding that spills transactions to files because they exceed its memory.

Rule: a slot that decodes in memory is no cause. `pg_stat_replication_slots` counts spilled bytes; they are read
back once, when the transaction ends.
"""

from math import ceil, log2

from plimsoll.causes.budget import BYTES_LEAST, Budget, ranked, severity_of
from plimsoll.causes.growth import setting_of
from plimsoll.causes.spills import Decoded, decoded_by
from plimsoll.causes.statements.statements import counted
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import GIB, KIB, MIB, format_bytes, format_bytes_per_s, format_ratio

# A judgement: every WAL sender may use this much, so more is rarely available.
_MEMORY_MOST = 1 * GIB
# The version whose subscriptions apply streamed changes with several workers.
_VERSION_PARALLEL = 160_000


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return slots whose decoding went through files, the most bytes first."""
    found = [
        _cause(decoded, observation, budget)
        for decoded in decoded_by(observation)
        if 2 * decoded.spilled >= BYTES_LEAST
    ]
    return ranked(found)


def _cause(decoded: Decoded, observation: Observation, budget: Budget) -> Cause:
    moved = 2 * decoded.spilled
    share = budget.of_load(moved)
    part = f", {format_ratio(share)} of all bytes" if share is not None else ""
    kib = setting_of(observation, "logical_decoding_work_mem")
    holds = "" if kib is None else f", {format_bytes(kib * KIB)},"
    slot = decoded.slot
    return Cause(
        kind=CauseKind.DECODING,
        code="DecodingSpills",
        severity=severity_of(budget, moved),
        subject=slot.name,
        title=f"Logical decoding for slot {slot.name} moves {format_bytes_per_s(moved)} through files{part}.",
        text=f"A transaction larger than logical_decoding_work_mem{holds} is written to files and read back "
        "when it ends, once for each slot. WAL is read in addition.",
        read_bytes_per_s=decoded.spilled,
        written_bytes_per_s=decoded.spilled,
        is_estimated=True,
        share_of_load=share,
        share_of_ceiling=budget.of_ceiling(moved),
        evidence=(
            Evidence(
                kind="spill",
                text=f"{counted(decoded.transactions, 'transaction')} spilled "
                f"{format_bytes(decoded.spilled * observation.seconds)} to files "
                "(pg_stat_replication_slots).",
                value=decoded.spilled,
            ),
        ),
        remedies=_remedies(decoded, observation),
        refuted_by="spill_bytes of the slot does not grow while the same bytes are moved.",
    )


def _remedies(decoded: Decoded, observation: Observation) -> tuple[Remedy, ...]:
    found = []
    each = decoded.spilled * observation.seconds / max(decoded.transactions, 1.0)
    needed = 2.0 ** ceil(log2(max(each / MIB, 1.0))) * MIB
    if needed <= _MEMORY_MOST:
        found.append(
            Remedy(
                text=f"Give decoding {format_bytes(needed)}: a transaction spills {format_bytes(each)} on "
                "average. Every WAL sender may use as much.",
                settings=(("logical_decoding_work_mem", f"{round(needed / MIB)}MB"),),
                expected=f"{format_bytes_per_s(2 * decoded.spilled)} less.",
            )
        )
    if decoded.slot.plugin == "pgoutput":
        how = "parallel" if observation.server.version_number >= _VERSION_PARALLEL else "on"
        found.append(
            Remedy(
                text="Stream large transactions while they run; execute this on the subscriber.",
                commands=(f"ALTER SUBSCRIPTION name SET (streaming = {how});",),
                expected="Changes are sent instead of spilled.",
            )
        )
    if not found:
        found.append(
            Remedy(
                text="Commit in smaller batches: changes of a transaction are kept until it ends.",
                expected="Transactions that fit in memory do not spill.",
            )
        )
    return tuple(found)
