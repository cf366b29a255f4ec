"""
The limits that explain the rates of a sweep over I/O sizes.

Rule 1: a point that no limit of the storage decided is left out, with the reason: latency without
        waiting (Little's law), a busy load generator, or a disturbance.
Rule 2: where these sizes allow two explanations, no choice is made, and the result says so.

Theory. A limit shows by waiting: with N requests in flight and a rate of λ, a request takes N/λ (Little's
law). At a limit that is longer than a request takes alone. Without a limit the rate is N over the latency,
and a flat row of such points looks like an IOPS limit.

An accounting unit u charges a request above it as several operations, so operations × u is a plateau
of bytes like that of a throughput limit. Two measurements distinguish them: a size between two multiples
of the unit, which is charged as the larger one; or the same storage at its burst, where more operations
are allowed and the plateau rises with them. (EBS User Guide, "I/O characteristics": 256 KiB for SSD.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from msgspec.structs import replace

from plimsoll.model.ceiling import Phase
from plimsoll.units import format_bytes, format_bytes_per_s, format_latency, format_ops_per_s, format_ratio, kib
from plimsoll_lab.fit.levels import CHI_SQUARE_MIN, EFFECT_LOG_MIN, Levels, estimate_of, levels_of, model_log_ops
from plimsoll_lab.fit.merges import merges_of, request_limit_of
from plimsoll_lab.model.sweep import (
    Direction,
    Estimate,
    Pattern,
    PhaseFit,
    Sweep,
    SweepFit,
    SweepLeftOut,
    SweepPoint,
    Unit,
    UnitEvidence,
)

DOCUMENTED_UNIT_BYTES = kib(256)
# Units that are documented somewhere, or are plausible: powers of two.
_UNITS_BYTES = tuple(kib(size) for size in (256, 16, 32, 64, 128, 512, 1024))
# A knee this near to the documented unit is taken as that unit, whatever its error bars are.
_UNIT_RATIO = 0.02

# The rate counts as limited if waiting adds at least a quarter to the latency.
PRESSED_MIN = 1.25
# Sizes that differ by less are the same one.
_SAME_SIZE = 1.01
# A processor that is this busy cannot send more requests.
BUSY_MAX = 0.9

# A point this far from the model of the others, and by as many of their standard deviations, was
# disturbed. No more than a quarter of the points may be, or else the model is wrong.
_DISTURBED_LOG_MIN = 0.05
_DISTURBED_SDS = 5.0
_DISTURBED_SHARE_MAX = 0.25
_FEWEST_TO_JUDGE = 5
# A disturbed point pulls the model towards itself; at least this part of its distance remains.
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
    Return the limits behind a sweep, phase by phase.

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
        """Return the squares of the residuals; a disturbed point counts like one just beyond the bound."""
        return self.levels.sum_of_squares + len(self.disturbed) * (2 * _DISTURBED_LOG_MIN) ** 2


def _fit_group(sweep: Sweep, phase: Phase, direction: Direction) -> PhaseFit:
    group = [p for p in sweep.points if (p.phase, p.direction) == (phase, direction)]
    alone = [p for p in sweep.alone if p.direction == direction]
    left_out = [SweepLeftOut(point=p, reason=r) for p in group if (r := _other_cause(p, alone))]
    strangers = [out.point for out in left_out]
    kept = [p for p in group if p not in strangers]
    pattern = Pattern.SCATTERED
    if not any(p.pattern == Pattern.SCATTERED for p in kept):
        pattern = Pattern.SEQUENTIAL
    base = [p for p in kept if p.pattern == pattern]
    if not base:
        return _nothing(phase, direction, tuple(left_out))
    found = _with_unit(base)
    left_out += [SweepLeftOut(point=p, reason=_disturbance(p, found)) for p in found.disturbed]
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
        merges=merges_of(sequential, strangers, ops, limit, unit, requests) if is_merging_seen else (),
        left_out=tuple(left_out),
        unknown=_unknown(found, unit, knee, pattern, has_alone=bool(alone)) if is_explained else (_UNEXPLAINED,),
        scatter_ratio=scatter,
        is_explained=is_explained,
    )


def _other_cause(point: SweepPoint, alone: Sequence[SweepPoint]) -> str:
    """Return why no limit of the storage decided this point; empty if one did."""
    if point.busy_ratio is not None and point.busy_ratio > BUSY_MAX:
        return (
            f"The load generator was busy for {format_ratio(point.busy_ratio)} of the time, so it could not send more."
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
    Return an upper bound of the latency of this size without waiting; None if no request was alone.

    Even a lone request may wait for a low limit, so the fastest one counts: of any pattern and phase,
    and not larger than this one, because a larger request takes at least as long.
    """
    known = [
        p.latency_s for p in alone if p.latency_s and p.effective_size_bytes <= point.effective_size_bytes * _SAME_SIZE
    ]
    return min(known, default=None)


def _with_unit(points: list[SweepPoint]) -> _FittedModel:
    """Return the model without a unit, or with one if the sizes between its multiples need it."""
    best = _undisturbed(points, None)
    for unit_bytes in _UNITS_BYTES:
        if any(_is_between(point, unit_bytes) for point in points):
            other = _undisturbed(points, unit_bytes)
            noise = other.levels.noise_log or 0.0
            # A unit is one more parameter, so it must improve the fit by more than noise does
            # (levels.py).
            if best.misfit - other.misfit > max(CHI_SQUARE_MIN * noise**2, EFFECT_LOG_MIN**2):
                best = other
    return best


def _is_between(point: SweepPoint, unit_bytes: float) -> bool:
    return point.io_size_bytes > unit_bytes and point.io_size_bytes % unit_bytes != 0


def _undisturbed(points: list[SweepPoint], unit_bytes: float | None) -> _FittedModel:
    """Return the model of the points that agree, after removing disturbed ones one by one."""
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
    """Return the point without which the others agree best, and their model; None if all agree."""
    rest = []
    for index, point in enumerate(points):
        # A point near the model of all points was not disturbed.
        if abs(levels.residual[index]) < _DISTURBED_LOG_MIN * _PULLED_RATIO:
            continue
        others = levels_of(points[:index] + points[index + 1 :], unit_bytes)
        rest.append((others.sum_of_squares, index, point, others))
    if not rest:
        return None
    _, _, stranger, without = min(rest, key=lambda item: item[:2])
    # Compared with the model of the others: a disturbed point bends a model that includes it.
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


def _numbers(found: _FittedModel) -> tuple[Estimate | None, Estimate | None, Estimate | None, Unit | None]:
    """Return the limit on operations, the limit on bytes, the knee and the unit that these points show."""
    levels = found.levels
    if found.unit_bytes is None:
        knee = levels.knee
        return levels.ops, levels.bytes, knee, _documented(found, knee)
    assert levels.log_ops is not None, "a unit shows only where operations bind"
    unit = Estimate(value=found.unit_bytes)
    if levels.log_bytes is not None:
        return levels.ops, levels.bytes, levels.knee, _unit(unit, UnitEvidence.SPLITTING)
    # Only operations bind: the plateau is operations × unit, and the whole multiples show the unit.
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
    """Return the documented unit if the knee is at it and no measured size could exclude it."""
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

    If a burst allows more operations and the plateau of bytes rises with them, the lower plateau was not
    a throughput limit.
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
    """Return the root mean square of the residuals; None with as many parameters as points."""
    parameters = (levels.log_ops is not None) + (levels.log_bytes is not None)
    if levels.residual.size <= parameters:
        return None
    return float(np.sqrt(np.mean(levels.residual**2)))


def _unknown(
    found: _FittedModel, unit: Unit | None, knee: Estimate | None, pattern: Pattern, *, has_alone: bool
) -> tuple[str, ...]:
    """Return sentences about what these sizes do not show."""
    sentences = []
    sizes = [point.effective_size_bytes for point in found.points]
    if found.levels.log_bytes is None and found.unit_bytes is None:
        most = max(point.bytes_per_s for point in found.points)
        sentences.append(
            f"No size up to {format_bytes(max(sizes))} reached a throughput limit, so there is none"
            f" below {format_bytes_per_s(most)}."
        )
    if found.levels.log_ops is None:
        most = max(point.ops_per_s for point in found.points)
        sentences.append(
            f"No size from {format_bytes(min(sizes))} on reached an IOPS limit, so there is none"
            f" below {format_ops_per_s(most)}."
        )
    if found.levels.log_bytes is None and found.levels.log_ops is not None and unit is not None:
        most = max(point.bytes_per_s for point in found.points)
        sentences.append(
            "The plateau comes from the accounting unit. No throughput limit was reached, so there is"
            f" none below {format_bytes_per_s(most)}."
        )
    if unit is None:
        sentences.append(_why_no_unit(found, knee))
    if pattern == Pattern.SEQUENTIAL:
        sentences.append(
            "Only sequential requests were measured. A volume may merge them and count fewer"
            " operations than shown here."
        )
    if not has_alone:
        sentences.append("No request was measured alone, so a point may show latency instead of a limit.")
    return tuple(sentences)


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


def _nothing(phase: Phase, direction: Direction, left_out: tuple[SweepLeftOut, ...]) -> PhaseFit:
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
