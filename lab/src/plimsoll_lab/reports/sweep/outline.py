"""
The texts of a sweep, for every form: tables, limits with their ranges, sentences.

Rule 1: a number found by the fit is never said without its range, or that there is none.
"""

from collections.abc import Sequence
from math import isfinite

from msgspec import Struct

from plimsoll.model.ceiling import Phase
from plimsoll.reports.render import words
from plimsoll.units import format_bytes, format_ratio, number
from plimsoll_lab.model.sweep import (
    Direction,
    Estimate,
    Merge,
    Pattern,
    PhaseFit,
    SweepPoint,
    SweepReport,
    UnitEvidence,
)

NOTHING = "–"
# Requests that came in a size so near to the one asked for came as asked.
_AS_ASKED_RATIO = 0.02
# What was merged to hardly more than its size was not merged.
_NOT_MERGED = 1.1
_DIRECTIONS = {Direction.READ: "reads", Direction.WRITE: "writes"}
_PHASES = {Phase.BASELINE: "baseline, without credits", Phase.BURST: "burst, with credits"}
_EVIDENCE = {
    UnitEvidence.SPLITTING: "sizes between its multiples are charged as the larger one",
    UnitEvidence.PLATEAU: "the plateau rises with the operations while credits last",
    UnitEvidence.DOCUMENTED: "as documented; a throughput limit of that height is not excluded",
}


class SweepRowText(Struct, frozen=True, kw_only=True):
    """One I/O size."""

    size: str
    scattered_mb: str
    scattered_ops: str
    sequential_mb: str
    sequential_ops: str
    came_as: str
    """The size of the requests as they came, where it is another."""


class GroupText(Struct, frozen=True, kw_only=True):
    """The points of one phase and direction, and the limits behind them."""

    title: str
    rows: tuple[SweepRowText, ...]
    has_scattered: bool
    has_sequential: bool
    has_came_as: bool
    limits: tuple[tuple[str, str], ...]
    merged: str
    """A sentence; empty where nothing is known of merging."""
    unknown: tuple[str, ...]
    left_out: tuple[str, ...]


class ComparedText(Struct, frozen=True, kw_only=True):
    """One number compared with another."""

    name: str
    other: str
    """What is known, or was published."""
    found: str
    difference: str
    remark: str = ""


class SweepText(Struct, frozen=True, kw_only=True):
    """All texts of one sweep."""

    title: str
    method: str
    groups: tuple[GroupText, ...]
    truths: tuple[ComparedText, ...]
    published: tuple[ComparedText, ...]
    notes: tuple[str, ...]


def sweep_outline(report: SweepReport) -> SweepText:
    """Return all texts of a sweep; equal reports give equal texts."""
    sweep = report.sweep
    return SweepText(
        title=f"I/O sizes of {words.plain(sweep.subject)}",
        method=words.sentence(sweep.method),
        groups=tuple(_group(fit, sweep.points) for fit in report.fit.phases),
        truths=tuple(
            ComparedText(
                name=with_phase(truth.name, truth.phase),
                other=amount(truth.known, truth.unit),
                found=estimate(truth.found, truth.unit),
                difference=_percent(truth.difference_ratio),
            )
            for truth in report.truths
        ),
        published=tuple(
            ComparedText(
                name=with_phase(item.name, item.phase),
                other=amount(item.said, item.unit),
                found=NOTHING if item.found is None else amount(item.found, item.unit),
                difference=_percent(None if item.found is None else item.found / item.said - 1),
                remark=item.remark,
            )
            for item in report.published
        ),
        notes=sweep.notes,
    )


def with_phase(name: str, phase: Phase) -> str:
    """Return `throughput, burst`; a limit with only one number has no phase."""
    return name if phase == Phase.FIXED else f"{name}, {phase.value}"


def group_title(phase: Phase, direction: Direction) -> str:
    """Return `Reads at burst, with credits`."""
    title = _DIRECTIONS[direction].capitalize()
    return f"{title}, {_PHASES[phase]}" if phase in _PHASES else title


def amount(value: float, unit: str) -> str:
    """Return a number with its unit; throughput has the digits of published limits."""
    if unit == "bytes/s":
        return f"{number(value / 1e6, 4)} MB/s"
    return words.quantity(value, unit)


def estimate(found: Estimate | None, unit: str) -> str:
    """Return `300.2 ± 0.4 MB/s`; without a range, a text that says so."""
    if found is None:
        return "not reached"
    if found.low is None or found.high is None:
        return f"{amount(found.value, unit)}, range unknown"
    half = (found.high - found.low) / 2
    if not isfinite(half) or half > found.value:
        return f"{amount(found.value, unit)}, range unknown"
    if unit == "ops/s":
        return f"{found.value:,.0f} ± {_rounded(half)} IOPS"
    if unit == "bytes":
        return f"{number(found.value / 1024, 4)} ± {_rounded(half / 1024)} KiB"
    return f"{number(found.value / 1e6, 4)} ± {_rounded(half / 1e6)} MB/s"


def _rounded(half: float) -> str:
    """Return two figures of an error, and no fewer than one."""
    return f"{half:,.0f}" if half >= 10 else f"{half:.1f}" if half >= 0.95 else f"{half:.2g}"


def _percent(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio * 100:+.1f} %"


def _group(fit: PhaseFit, points: Sequence[SweepPoint]) -> GroupText:
    own = [p for p in points if (p.phase, p.direction) == (fit.phase, fit.direction)]
    rows = tuple(_row(size, own) for size in sorted({p.io_size_bytes for p in own}))
    return GroupText(
        title=group_title(fit.phase, fit.direction),
        rows=rows,
        has_scattered=any(p.pattern == Pattern.SCATTERED for p in own),
        has_sequential=any(p.pattern == Pattern.SEQUENTIAL for p in own),
        has_came_as=any(row.came_as for row in rows),
        limits=tuple(_limits(fit)),
        merged=_merged(fit.merges),
        unknown=fit.unknown,
        left_out=tuple(
            f"{format_bytes(out.point.io_size_bytes)}, {out.point.pattern.value}: {out.reason}" for out in fit.left_out
        ),
    )


def _row(size: float, points: Sequence[SweepPoint]) -> SweepRowText:
    found = {p.pattern: p for p in points if p.io_size_bytes == size}
    scattered, sequential = found.get(Pattern.SCATTERED), found.get(Pattern.SEQUENTIAL)
    return SweepRowText(
        size=format_bytes(size),
        scattered_mb=_mb(scattered),
        scattered_ops=_ops(scattered),
        sequential_mb=_mb(sequential),
        sequential_ops=_ops(sequential),
        came_as=" / ".join(
            dict.fromkeys(
                format_bytes(p.effective_size_bytes)
                for p in (scattered, sequential)
                if p is not None and abs(p.effective_size_bytes / size - 1) > _AS_ASKED_RATIO
            )
        ),
    )


def _mb(point: SweepPoint | None) -> str:
    return NOTHING if point is None else number(point.bytes_per_s / 1e6, 4)


def _ops(point: SweepPoint | None) -> str:
    return NOTHING if point is None else f"{point.ops_per_s:,.0f}"


def _limits(fit: PhaseFit) -> list[tuple[str, str]]:
    rows = [("operations", estimate(fit.ops_limit, "ops/s")), ("throughput", estimate(fit.bytes_limit, "bytes/s"))]
    if fit.knee is not None:
        rows.append(("knee", estimate(fit.knee, "bytes")))
    if fit.unit is not None:
        evidence = _EVIDENCE[fit.unit.evidence]
        size = fit.unit.size
        plain = amount(size.value, "bytes") if size.low is None else estimate(size, "bytes")
        rows.append(("accounting unit", f"{plain}: {evidence}"))
    if fit.request_limit is not None:
        limit = estimate(fit.request_limit, "ops/s")
        rows.append(("requests", f"{limit} of sequential ones, merged or not"))
    if fit.scatter_ratio is not None:
        off = format_ratio(fit.scatter_ratio)
        rows.append(("points", f"{off} off the model" + ("" if fit.is_explained else ", so no limits")))
    return rows


def _merged(merges: Sequence[Merge]) -> str:
    """Return the merged sizes of sequential requests; sizes with the same result are joined."""
    fates: dict[str, list[float]] = {}
    for merge in merges:
        value = merge.merged_bytes.value
        if value <= merge.io_size_bytes * _NOT_MERGED and not merge.is_at_least:
            fate = "not merged"
        else:
            least = "at least " if merge.is_at_least else ""
            fate = f"merged to {least}{format_bytes(value)}"
        fates.setdefault(fate, []).append(merge.io_size_bytes)
    parts = [
        f"those of {words.series_of([format_bytes(size) for size in sizes])} {fate}" for fate, sizes in fates.items()
    ]
    return f"Sequential requests: {'; '.join(parts)}." if parts else ""
