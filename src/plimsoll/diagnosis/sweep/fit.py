"""
From what storage delivered at each I/O size to the limits that explain it.

Rule 1: a point that something else decided tells nothing of the storage. It is left out, and the
        reason is said: a latency without waiting (Little's law), a busy measuring side, a disturbance.
Rule 2: what these sizes cannot tell apart is not decided here; it is said.

Theory. A limit shows by waiting: with N requests in flight and a rate of λ a request takes N/λ (Little),
which under a limit is longer than a request takes that is alone. Without that the rate is N over the
latency, and a flat row of such points looks like a limit on operations without being one.

An accounting unit u charges a request above it as several operations, so operations × u is a plateau
of bytes like that of a throughput limit. What tells them apart is a size between two multiples of the
unit, which is charged as the larger one, or the same storage at its burst, where more operations are
allowed and the plateau rises with them. (EBS User Guide, "I/O characteristics": 256 KiB for SSD.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from msgspec.structs import replace

from plimsoll.diagnosis.sweep.levels import (
    CHI_SQUARE_MIN,
    EFFECT_LOG_MIN,
    Levels,
    estimate_of,
    levels_of,
    model_log_ops,
)
from plimsoll.diagnosis.sweep.merges import merges_of, request_limit_of
from plimsoll.model.ceiling import Phase
from plimsoll.model.sweep import (
    Direction,
    Estimate,
    ExcludedPoint,
    Pattern,
    PhaseFit,
    Sweep,
    SweepFit,
    SweepPoint,
    Unit,
    UnitEvidence,
)
from plimsoll.units import (
    format_bytes,
    format_bytes_per_s,
    format_latency,
    format_ops_per_s,
    format_ratio,
    kib,
)

DOCUMENTED_UNIT_BYTES = kib(256)
# Units that have been documented by someone, or could be: powers of two.
_UNITS_BYTES = tuple(kib(size) for size in (256, 16, 32, 64, 128, 512, 1024))
# A knee so near to the documented unit is taken as that, whatever its own error bars say.
_UNIT_RATIO = 0.02

# Waiting must add a quarter to a request's latency before waiting is what decides.
PRESSED_MIN = 1.25
# Sizes that differ by less are the same one.
_SAME_SIZE = 1.01
# A processor that is this busy has no time left to ask for more.
BUSY_MAX = 0.9

# A point this far from the model of the others, and by as many of their standard deviations, was
# disturbed. No more than a quarter of the points may be: else it is the model that is wrong.
_DISTURBED_LOG_MIN = 0.05
_DISTURBED_SDS = 5.0
_DISTURBED_SHARE_MAX = 0.25
_FEWEST_TO_JUDGE = 5
# A disturbed point pulls the model towards itself; of its distance this much is seen at least.
_PULLED_RATIO = 0.4

_EITHER = (
    "The plateau is the IOPS limit times the documented unit of 256 KiB. A throughput limit of the"
    " same number is possible; measure 384 KiB to decide."
)

_UNEXPLAINED = (
    "These points follow neither an IOPS limit nor a throughput limit: the rate changes with every"
    " size, or over time. The two numbers describe levels, not limits."
)

# Above this scatter the numbers describe levels, not limits.
EXPLAINED_SCATTER_MAX = 0.05


def fit_sweep(sweep: Sweep) -> SweepFit:
    """
    Find the limits behind a sweep, phase by phase.

    Returns:
        One fit for each phase and direction that has points, in the order of the points.
    """
    groups = dict.fromkeys((point.phase, point.direction) for point in sweep.points)
    phases = [_fit_group(sweep, phase, direction) for phase, direction in groups]
    return SweepFit(phases=tuple(_with_plateau_unit(fit, phases) for fit in phases))


@dataclass(frozen=True, slots=True, kw_only=True)
class _FittedModel:
    """The model of one set of points, with a unit or without."""

    levels: Levels
    points: list[SweepPoint]
    disturbed: list[SweepPoint]
    unit_bytes: float | None

    @property
    def misfit(self) -> float:
        """Squares of the residuals; a disturbed point counts as much as one that is hardly one."""
        return self.levels.sum_of_squares + len(self.disturbed) * (2 * _DISTURBED_LOG_MIN) ** 2


def _fit_group(sweep: Sweep, phase: Phase, direction: Direction) -> PhaseFit:
    group = [p for p in sweep.points if (p.phase, p.direction) == (phase, direction)]
    alone = [p for p in sweep.alone if p.direction == direction]
    left_out = [ExcludedPoint(point=p, reason=r) for p in group if (r := _other_cause(p, alone))]
    strangers = [out.point for out in left_out]
    kept = [p for p in group if p not in strangers]
    pattern = Pattern.SCATTERED
    if not any(p.pattern == Pattern.SCATTERED for p in kept):
        pattern = Pattern.SEQUENTIAL
    base = [p for p in kept if p.pattern == pattern]
    if not base:
        return _nothing(phase, direction, tuple(left_out))
    found = _with_unit(base)
    left_out += [ExcludedPoint(point=p, reason=_disturbance(p, found)) for p in found.disturbed]
    ops, limit, knee, unit = _numbers(found)
    sequential = [p for p in group if p.pattern == Pattern.SEQUENTIAL]
    scatter = _scatter(found.levels)
    is_explained = scatter is None or scatter <= EXPLAINED_SCATTER_MAX
    is_merging_seen = pattern == Pattern.SCATTERED and is_explained
    requests = request_limit_of(sequential, strangers, ops) if is_merging_seen else None
    return PhaseFit(
        phase=phase,
        direction=direction,
        pattern=pattern,
        ops_limit=ops,
        bytes_limit=limit,
        knee=knee,
        unit=unit if is_explained else None,
        request_limit=requests,
        merges=merges_of(sequential, strangers, ops, limit, unit, requests)
        if is_merging_seen
        else (),
        left_out=tuple(left_out),
        unknown=_unknown(found, unit, knee, pattern, has_alone=bool(alone))
        if is_explained
        else (_UNEXPLAINED,),
        scatter_ratio=scatter,
        is_explained=is_explained,
    )


def _other_cause(point: SweepPoint, alone: Sequence[SweepPoint]) -> str:
    """Return why something other than a limit of the storage decided this point; empty if it did not."""
    if point.busy_ratio is not None and point.busy_ratio > BUSY_MAX:
        return (
            f"The load generator was busy for {format_ratio(point.busy_ratio)} of the time, so it could"
            " not send more."
        )
    idle_s = _idle_latency_s(point, alone)
    if idle_s is None or point.latency_s is None or point.latency_s >= PRESSED_MIN * idle_s:
        return ""
    return (
        f"Latency was {format_latency(point.latency_s)}, and {format_latency(idle_s)} for one request"
        f" alone: nothing waited. A queue depth of {point.depth:.3g} was too small to reach a limit."
    )


def _idle_latency_s(point: SweepPoint, alone: Sequence[SweepPoint]) -> float | None:
    """
    Return what a request of this size takes while nothing waits, at most; None where none was alone.

    Even a lone request may wait for a low limit, so the quickest one counts: of any pattern and phase,
    and not larger than this one, since a larger request takes no less.
    """
    known = [
        p.latency_s
        for p in alone
        if p.latency_s and p.effective_size_bytes <= point.effective_size_bytes * _SAME_SIZE
    ]
    return min(known, default=None)


def _with_unit(points: list[SweepPoint]) -> _FittedModel:
    """Return the model without a unit, or with one where the sizes between its multiples ask for it."""
    best = _undisturbed(points, None)
    for unit_bytes in _UNITS_BYTES:
        if any(_is_between(point, unit_bytes) for point in points):
            other = _undisturbed(points, unit_bytes)
            noise = other.levels.noise_log or 0.0
            # A unit is one more thing to believe, so it must explain more than noise does
            # (levels.py).
            if best.misfit - other.misfit > max(CHI_SQUARE_MIN * noise**2, EFFECT_LOG_MIN**2):
                best = other
    return best


def _is_between(point: SweepPoint, unit_bytes: float) -> bool:
    return point.io_size_bytes > unit_bytes and point.io_size_bytes % unit_bytes != 0


def _undisturbed(points: list[SweepPoint], unit_bytes: float | None) -> _FittedModel:
    """Return the model of the points that agree with each other; the others one by one."""
    kept, disturbed = list(points), list[SweepPoint]()
    levels = levels_of(kept, unit_bytes)
    while (
        len(kept) > _FEWEST_TO_JUDGE
        and len(disturbed) + 1 <= _DISTURBED_SHARE_MAX * len(points)
        and (found := _most_disturbed(kept, levels, unit_bytes)) is not None
    ):
        stranger, levels = found
        kept.remove(stranger)
        disturbed.append(stranger)
    return _FittedModel(levels=levels, points=kept, disturbed=disturbed, unit_bytes=unit_bytes)


def _most_disturbed(
    points: list[SweepPoint], levels: Levels, unit_bytes: float | None
) -> tuple[SweepPoint, Levels] | None:
    """Return the point without which the others agree best, and their model; None if all may stay."""
    rest = []
    for index, point in enumerate(points):
        # What fits among all was not disturbed, whatever a model of fewer points says of it.
        if abs(levels.residual[index]) < _DISTURBED_LOG_MIN * _PULLED_RATIO:
            continue
        others = levels_of(points[:index] + points[index + 1 :], unit_bytes)
        rest.append((others.sum_of_squares, index, point, others))
    if not rest:
        return None
    _, _, stranger, without = min(rest, key=lambda item: item[:2])
    # Measured against the others alone: a disturbed point hides in a model that it has bent itself.
    off = abs(_residual(stranger, without, unit_bytes))
    noise = without.noise_log or 0.0
    if off < max(_DISTURBED_LOG_MIN, _DISTURBED_SDS * noise):
        return None
    return stranger, without


def _residual(point: SweepPoint, levels: Levels, unit_bytes: float | None) -> float:
    model = model_log_ops([point], levels.log_ops, levels.log_bytes, unit_bytes)
    return log(point.ops_per_s) - float(model[0])


def _disturbance(point: SweepPoint, found: _FittedModel) -> str:
    off = exp(_residual(point, found.levels, found.unit_bytes)) - 1
    side = "below" if off < 0 else "above"
    return (
        f"It lies {format_ratio(abs(off))} {side} the fit of the other sizes. Something disturbed it,"
        " or another limit bound there."
    )


def _numbers(
    found: _FittedModel,
) -> tuple[Estimate | None, Estimate | None, Estimate | None, Unit | None]:
    """Limit on operations, limit on bytes, knee, and unit as far as these points tell."""
    levels = found.levels
    if found.unit_bytes is None:
        knee = levels.knee
        return levels.ops, levels.bytes, knee, _documented(found, knee)
    assert levels.log_ops is not None, "a unit shows only where operations bind"
    unit = Estimate(value=found.unit_bytes)
    if levels.log_bytes is not None:
        return levels.ops, levels.bytes, levels.knee, _unit(unit, UnitEvidence.SPLITTING)
    # Operations alone: the plateau is theirs, and the whole multiples say how large the unit is.
    whole = [p for p in found.points if not _is_between(p, found.unit_bytes)]
    apart = levels_of(whole)
    if apart.knee is not None:
        unit = apart.knee
    error = levels.error_of(levels.is_ops)
    plateau = estimate_of(levels.log_ops + log(found.unit_bytes), error, levels.freedom)
    return levels.ops, plateau, unit, _unit(unit, UnitEvidence.SPLITTING)


def _unit(size: Estimate, evidence: UnitEvidence) -> Unit:
    return Unit(size=size, evidence=evidence)


def _documented(found: _FittedModel, knee: Estimate | None) -> Unit | None:
    """Return the documented unit, where the knee lies at it and no size was measured that could tell."""
    if knee is None or not _is_documented(knee):
        return None
    if any(_is_between(point, DOCUMENTED_UNIT_BYTES) for point in found.points):
        return None
    return Unit(size=knee, evidence=UnitEvidence.DOCUMENTED)


def _is_documented(knee: Estimate) -> bool:
    is_near = abs(knee.value / DOCUMENTED_UNIT_BYTES - 1) <= _UNIT_RATIO
    if knee.low is None or knee.high is None:
        return is_near
    return is_near or knee.low <= DOCUMENTED_UNIT_BYTES <= knee.high


def _with_plateau_unit(fit: PhaseFit, phases: Sequence[PhaseFit]) -> PhaseFit:
    """
    Return the fit, with the unit shown by another phase of the same storage.

    Where a burst allows more operations and the plateau of bytes rises with them, the lower plateau was
    not that of a throughput limit.
    """
    if fit.knee is None or not _is_documented(fit.knee) or fit.unit is None:
        return fit
    if fit.unit.evidence != UnitEvidence.DOCUMENTED:
        return fit
    for other in phases:
        if (
            other.direction == fit.direction
            and _is_above(other.ops_limit, fit.ops_limit)
            and _is_above(other.bytes_limit, fit.bytes_limit)
        ):
            return replace(fit, unit=Unit(size=fit.knee, evidence=UnitEvidence.PLATEAU))
    return replace(fit, unknown=(*fit.unknown, _EITHER))


def _is_above(one: Estimate | None, other: Estimate | None) -> bool:
    if one is None or other is None:
        return False
    return (one.low or one.value) > (other.high or other.value) * (1 + _UNIT_RATIO)


def _scatter(levels: Levels) -> float | None:
    """Return root mean square of the residuals; None with as many parameters as points."""
    parameters = (levels.log_ops is not None) + (levels.log_bytes is not None)
    if levels.residual.size <= parameters:
        return None
    return float(np.sqrt(np.mean(levels.residual**2)))


def _unknown(
    found: _FittedModel,
    unit: Unit | None,
    knee: Estimate | None,
    pattern: Pattern,
    *,
    has_alone: bool,
) -> tuple[str, ...]:
    """Return what these sizes cannot tell, as sentences."""
    said = []
    sizes = [point.effective_size_bytes for point in found.points]
    if found.levels.log_bytes is None and found.unit_bytes is None:
        most = max(point.bytes_per_s for point in found.points)
        said.append(
            f"No size up to {format_bytes(max(sizes))} reached a throughput limit, so there is none"
            f" below {format_bytes_per_s(most)}."
        )
    if found.levels.log_ops is None:
        most = max(point.ops_per_s for point in found.points)
        said.append(
            f"No size from {format_bytes(min(sizes))} on reached an IOPS limit, so there is none"
            f" below {format_ops_per_s(most)}."
        )
    if found.levels.log_bytes is None and found.levels.log_ops is not None and unit is not None:
        most = max(point.bytes_per_s for point in found.points)
        said.append(
            "The plateau comes from the accounting unit. No throughput limit was reached, so there is"
            f" none below {format_bytes_per_s(most)}."
        )
    if unit is None:
        said.append(_why_no_unit(found, knee))
    if pattern == Pattern.SEQUENTIAL:
        said.append(
            "Only sequential requests were measured. A volume may merge them and count fewer"
            " operations than shown here."
        )
    if not has_alone:
        said.append(
            "No request was measured alone, so a point may show latency instead of a limit."
        )
    return tuple(said)


def _why_no_unit(found: _FittedModel, knee: Estimate | None) -> str:
    largest = max(point.effective_size_bytes for point in found.points)
    if knee is not None and _is_documented(knee):
        return (
            "No accounting unit is visible: sizes between the multiples of 256 KiB delivered as much as"
            " others. The plateau is a throughput limit."
        )
    if found.levels.log_bytes is not None:
        return "Large requests may count as several operations: throughput binds before that is visible."
    return f"No request up to {format_bytes(largest)} was charged as several operations."


def _nothing(phase: Phase, direction: Direction, left_out: tuple[ExcludedPoint, ...]) -> PhaseFit:
    return PhaseFit(
        phase=phase,
        direction=direction,
        pattern=Pattern.SCATTERED,
        ops_limit=None,
        bytes_limit=None,
        knee=None,
        unit=None,
        request_limit=None,
        merges=(),
        left_out=left_out,
        unknown=("No size reached a limit of the storage, so no limit can be named.",),
        scatter_ratio=None,
        is_explained=False,
    )
