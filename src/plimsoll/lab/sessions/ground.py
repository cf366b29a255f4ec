"""
The diagnosis beside the ground truth: what it found of what the gate really held, and what it made up.

Rule 1: a limit is found if the diagnosis names its family and phase; a limit that it found without a
        name counts by its level, since there may be no document of it.
Rule 2: what was held too briefly for samples of a minute to show is listed, and held against nobody.
"""

from collections.abc import Sequence
from itertools import pairwise

from plimsoll.gate.record import MINUTE_S, GateMoment, Truth
from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.model.diagnosis import CeilingTime, Diagnosis
from plimsoll.model.lab import GroundTruth, ThrottledCeiling, WrongClaim

# The diagnosis believes a level that is held for eight samples, and CloudWatch has one a minute.
LONG_ENOUGH_S = 8 * MINUTE_S

# A level that agrees with a limit; plateaus are told apart by three percent as well.
LEVEL_RATIO = 0.03

# A step counts towards the delivered rate if it was held nearly throughout.
_THROUGHOUT = 0.9

# Less than this share of an emulated minute is a queue that formed and dissolved, not a limit met.
_TOUCHED_MIN = 0.5


def beside(
    diagnosis: Diagnosis, truth: Truth, chain: Sequence[Stage], *, clock: float
) -> GroundTruth:
    """
    Return what the diagnosis says of each limit that the gate held requests at.

    Args:
        diagnosis: of the snapshot that was made of the same record.
        truth: of the record.
        chain: what was enforced.
        clock: the credit clock.
    """
    stages = {stage.name: stage for stage in chain}
    claims = list(diagnosis.time_at)
    held = []
    for (name, phase), seconds in truth.bound_s().items():
        # Seconds are real ones; on the credit clock they are that many more emulated ones.
        if name not in stages or seconds * clock < _TOUCHED_MIN * MINUTE_S:
            continue
        stage = stages[name]
        limit = limit_of(stage, phase)
        claim = next((c for c in claims if _names(c, stage, phase, limit)), None)
        if claim is not None:
            # A claim answers for one limit; what is left over was made up.
            claims.remove(claim)
        held.append(
            ThrottledCeiling(
                name=name,
                phase=phase,
                dimension=dimension_of(stage),
                limit=limit,
                held_s=seconds,
                delivered=_delivered(truth.moments, stage, phase),
                found_level=None if claim is None else claim.level,
                found_s=None if claim is None else claim.seconds,
                is_long_enough=seconds * clock >= LONG_ENOUGH_S,
            )
        )
    return GroundTruth(
        clock=clock,
        recorded_s=truth.length_s,
        held=tuple(held),
        wrong=tuple(_wrong(claim) for claim in claims),
        is_void=truth.is_void,
        kept_up=truth.sentence,
    )


def limit_of(stage: Stage, phase: Phase) -> float:
    """Return what a stage lets through in a phase, all stripes together."""
    return (stage.burst if phase is Phase.BURST else stage.baseline) * stage.stripes


def dimension_of(stage: Stage) -> Dimension:
    """Return what it counts."""
    return Dimension.THROUGHPUT if stage.counts == "bytes" else Dimension.IOPS


def _names(claim: CeilingTime, stage: Stage, phase: Phase, limit: float) -> bool:
    if claim.dimension is not dimension_of(stage):
        return False
    # No document, no name: then the number has to agree.
    if claim.ceiling is None:
        return abs(claim.level / limit - 1) <= LEVEL_RATIO
    return claim.family.value == stage.name and claim.ceiling.bucket_phase is phase


def _delivered(moments: Sequence[GateMoment], stage: Stage, phase: Phase) -> float | None:
    """
    Return mean rate over the steps in which the stage held requests nearly throughout.

    A step that follows another limit's, or the other phase's, is left out: it is of both.
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


def _wrong(claim: CeilingTime) -> WrongClaim:
    return WrongClaim(
        name=claim.family.value,
        phase=claim.ceiling.bucket_phase if claim.ceiling else claim.phase,
        dimension=claim.dimension,
        level=claim.level,
        seconds=claim.seconds,
    )
