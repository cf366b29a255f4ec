"""
Logical decoding whose transactions do not fit their memory: they go through files before they are sent.

Rule: a slot that decodes in memory is no cause. `pg_stat_replication_slots` counts what was spilled; it is read
back once, when the transaction ends.
"""

from math import ceil, log2

from plimsoll.causes.budget import Budget, ranked, severity_of
from plimsoll.causes.growth import setting_of
from plimsoll.causes.spills import Decoded, decoded_by
from plimsoll.causes.statements.statements import counted
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import GIB, KIB, MIB, format_bytes, format_bytes_per_s, format_ratio

# A judgement: less than 0.1 MB/s of spills is lost in any load.
_BYTES_LEAST = 0.1e6
# More for every sender is seldom what a machine has to give; a judgement.
_MEMORY_MOST = 1 * GIB
# The version whose subscriptions apply streamed changes with several workers.
_VERSION_PARALLEL = 160_000


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return slots whose decoding went through files, the most bytes first."""
    found = [
        _cause(decoded, observation, budget)
        for decoded in decoded_by(observation)
        if 2 * decoded.spilled >= _BYTES_LEAST
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
        "when it ends, for each slot anew. WAL is read besides.",
        read_bytes_per_s=decoded.spilled,
        written_bytes_per_s=decoded.spilled,
        is_estimated=True,
        share_of_load=share,
        share_of_ceiling=budget.of_ceiling(moved),
        evidence=(
            Evidence(
                kind="spill",
                text=f"{counted(decoded.transactions, 'transaction')} put "
                f"{format_bytes(decoded.spilled * observation.seconds)} into files "
                "(pg_stat_replication_slots).",
                value=decoded.spilled,
            ),
        ),
        remedies=_remedies(decoded, observation),
        refuted_by="spill_bytes of the slot that stands still while the same bytes are moved.",
    )


def _remedies(decoded: Decoded, observation: Observation) -> tuple[Remedy, ...]:
    found = []
    each = decoded.spilled * observation.seconds / max(decoded.transactions, 1.0)
    needed = 2.0 ** ceil(log2(max(each / MIB, 1.0))) * MIB
    if needed <= _MEMORY_MOST:
        found.append(
            Remedy(
                text=f"Give decoding {format_bytes(needed)}: a transaction spills {format_bytes(each)} on "
                "average. Every sender may take as much.",
                commands=(
                    f"ALTER SYSTEM SET logical_decoding_work_mem = '{round(needed / MIB)}MB';",
                    "SELECT pg_reload_conf();",
                ),
                expected=f"{format_bytes_per_s(2 * decoded.spilled)} less.",
            )
        )
    if decoded.slot.plugin == "pgoutput":
        how = "parallel" if observation.server.version_number >= _VERSION_PARALLEL else "on"
        found.append(
            Remedy(
                text="Let the subscriber take large transactions while they run; run this on the subscriber.",
                commands=(f"ALTER SUBSCRIPTION name SET (streaming = {how});",),
                expected="Changes are sent in place of going to files.",
            )
        )
    if not found:
        found.append(
            Remedy(
                text="Commit in smaller parts: what a transaction changes is kept until it ends.",
                expected="Transactions that fit the memory go through no file.",
            )
        )
    return tuple(found)
