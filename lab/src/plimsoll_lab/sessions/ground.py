"""
Compare the diagnosis with the ground truth: which real limits of the gate it found, and which it made up.

Rule 1: a limit counts as found if the diagnosis names its family and phase. A limit found without a name
        counts by its level, since it may be undocumented.
Rule 2: a limit that acted too briefly for samples of a minute is listed, but is no error of the diagnosis.
"""

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.model.diagnosis import CeilingTime, Diagnosis
from plimsoll_lab.gate.record import MINUTE_S, GateMoment, Truth
from plimsoll_lab.model.lab import GroundTruth, ThrottledCeiling, WrongClaim

# The diagnosis accepts a level that lasts for eight samples, and CloudWatch has one a minute.
LONG_ENOUGH_S = 8 * MINUTE_S

# A level within this ratio agrees with a limit; the diagnosis separates plateaus by three percent too.
LEVEL_RATIO = 0.03

# A step counts towards the delivered rate if the limit acted for nearly all of it.
_THROUGHOUT = 0.9

# Less than this share of an emulated minute is a queue that formed and dissolved, not a limit.
_TOUCHED_MIN = 0.5


def of_storage(diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with limits of storage rates alone: the gate enforces no others, so it judges no others."""
    time_at = tuple(at for at in diagnosis.time_at if at.dimension is not Dimension.AMOUNT)
    return replace(
        diagnosis,
        time_at=time_at,
        binding=time_at[0] if time_at else None,
        intervals=tuple(i for i in diagnosis.intervals if i.dimension is not Dimension.AMOUNT),
    )


def compare_with_truth(diagnosis: Diagnosis, truth: Truth, chain: Sequence[Stage], *, clock: float) -> GroundTruth:
    """
    Return what the diagnosis found for each limit at which the gate throttled requests.

    Args:
        diagnosis: diagnosis of the snapshot of the same record.
        truth: truth of the record.
        chain: limits that the gate enforced.
        clock: credit clock of the gate.
    """
    stages = {stage.name: stage for stage in chain}
    claims = list(of_storage(diagnosis).time_at)
    held = []
    for (name, phase), seconds in truth.bound_s().items():
        # The seconds are real; on the credit clock they are `clock` times as many emulated ones.
        if name not in stages or seconds * clock < _TOUCHED_MIN * MINUTE_S:
            continue
        stage = stages[name]
        limit = limit_of(stage, phase)
        claim = next((c for c in claims if _matches(c, stage, phase, limit)), None)
        if claim is not None:
            # A claim accounts for one limit; claims that are left over are wrong.
            claims.remove(claim)
        held.append(
            ThrottledCeiling(
                name=name,
                phase=phase,
                dimension=dimension_of(stage),
                limit=limit,
                held_s=seconds,
                delivered=_delivered_rate(truth.moments, stage, phase),
                found_level=None if claim is None else claim.level,
                found_s=None if claim is None else claim.seconds,
                is_long_enough=seconds * clock >= LONG_ENOUGH_S,
            )
        )
    return GroundTruth(
        clock=clock,
        recorded_s=truth.length_s,
        held=tuple(held),
        wrong=tuple(_wrong_claim(claim) for claim in claims),
        is_void=truth.is_void,
        kept_up=truth.sentence,
    )


def limit_of(stage: Stage, phase: Phase) -> float:
    """Return the rate that a stage allows in a phase, over all stripes."""
    return (stage.burst if phase is Phase.BURST else stage.baseline) * stage.stripes


def dimension_of(stage: Stage) -> Dimension:
    """Return the dimension that a stage counts."""
    return Dimension.THROUGHPUT if stage.counts == "bytes" else Dimension.IOPS


def _matches(claim: CeilingTime, stage: Stage, phase: Phase, limit: float) -> bool:
    if claim.dimension is not dimension_of(stage):
        return False
    # Without a documented ceiling the claim has no name, so its level must agree.
    if claim.ceiling is None:
        return abs(claim.level / limit - 1) <= LEVEL_RATIO
    return claim.family.value == stage.name and claim.ceiling.bucket_phase is phase


def _delivered_rate(moments: Sequence[GateMoment], stage: Stage, phase: Phase) -> float | None:
    """
    Return the mean rate over the steps in which the stage throttled requests nearly all the time.

    A step after one of another limit or phase is left out, because it is part of both.
    """
    steps = [
        m
        for before, m in pairwise(moments)
        if (m.binding, m.phase) == (before.binding, before.phase) == (stage.name, phase)
        and m.bound_s >= _THROUGHOUT * m.length_s
    ]
    length_s = sum(m.length_s for m in steps)
    if not length_s:
        return None
    is_bytes = stage.counts == "bytes"
    return sum((m.bytes_per_s if is_bytes else m.ops_per_s) * m.length_s for m in steps) / length_s


def _wrong_claim(claim: CeilingTime) -> WrongClaim:
    return WrongClaim(
        name=claim.family.value,
        phase=claim.ceiling.bucket_phase if claim.ceiling else claim.phase,
        dimension=claim.dimension,
        level=claim.level,
        seconds=claim.seconds,
    )
