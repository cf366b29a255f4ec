"""
Compare detected with true intervals; pure functions, with the definitions in `Totals.figures`.

A detected interval is anything with `start_s`, `end_s`, `dimension`, `level`, `level_low`,
`level_high`, `family`, `phase`, `former_phase`: the intervals of a Diagnosis. Only storage counts
(families of throughput and IOPS, and `unknown`); an interval of the CPU is no claim here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from incidents.build import Incident
from incidents.machine import FAMILY
from incidents.truth import SHARE_FREE, SHARE_PRESSED, TrueInterval, Truth
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot

STORAGE = frozenset(FAMILY.values()) | {"unknown"}
OVERLAP = 0.5
WAITING = (Metric.READ_OPS_PER_S, Metric.READ_LATENCY_S, Metric.WRITE_OPS_PER_S, Metric.WRITE_LATENCY_S)


@dataclass(frozen=True, slots=True)
class Judged:
    """Pair one true interval with the detected one that overlaps it most."""

    true: TrueInterval
    found: Any | None
    """None if no detected interval covers at least half of it."""

    @property
    def is_family_right(self) -> bool:
        """Return whether the family is the same, `unknown` included."""
        return self.found is not None and str(self.found.family) == self.true.family

    @property
    def is_phase_right(self) -> bool:
        """Return whether the phase is the same, and for legacy limits the legacy phase too."""
        if self.found is None or str(self.found.phase) != self.true.phase:
            return False
        legacy = self.found.former_phase
        return self.true.phase != "legacy" or str(legacy) == self.true.former_phase

    @property
    def level_error(self) -> float | None:
        """Return the relative error of the level; None if not found or in another dimension."""
        if self.found is None or str(self.found.dimension) != self.true.dimension:
            return None
        return abs(float(self.found.level) / self.true.level - 1)

    @property
    def is_covered(self) -> bool:
        """Return whether the error bars include the enforced level."""
        found = self.found
        return found is not None and found.level_low <= self.true.level <= found.level_high


@dataclass(slots=True)
class SeriesScore:
    """Hold the score of one incident."""

    seed: int
    family: str
    is_clear: bool
    minutes: tuple[float, float, float]
    """True positive, false positive, false negative minutes."""
    ignored_minutes: float
    detected: int
    """Detected intervals that count, and of these how many match a true one."""
    matched: int
    true: int
    judged: list[Judged]
    is_silent: bool = False
    """Whether requests waited for half an hour and more, and neither a limit nor waiting was reported."""
    ms: float = 0.0
    error: str = ""

    @property
    def is_falsely_accused(self) -> bool:
        """Return whether there is an interval but no ceiling."""
        return self.is_clear and self.detected > 0

    @property
    def faults(self) -> list[str]:
        """Return what is wrong with this series, in a few words each."""
        out = [self.error] if self.error else []
        if self.is_falsely_accused:
            out.append("accused")
        if self.is_silent:
            out.append("silent")
        hit, wrong, missed = self.minutes
        if not self.is_clear and wrong > max(2.0, 0.02 * (hit + missed)):
            out.append(f"{wrong:.0f} min too many")
        if missed > max(2.0, 0.02 * (hit + missed)):
            out.append(f"{missed:.0f} min missed")
        if any(j.found is not None and not j.is_family_right for j in self.judged):
            out.append("family")
        elif any(j.is_family_right and not j.is_phase_right for j in self.judged):
            out.append("phase")
        errors = [j.level_error for j in self.judged if j.level_error is not None]
        if errors and max(errors) > 0.01:
            out.append(f"level {max(errors):.1%}")
        return out


def storage_intervals(diagnosis: Any) -> list[Any]:
    """Return the intervals of a diagnosis that are about storage, in time order."""
    kept = [i for i in diagnosis.intervals if str(i.family) in STORAGE]
    return sorted(kept, key=lambda i: i.start_s)


def predicted(truth: Truth, found: Sequence[Any]) -> np.ndarray:
    """Return which samples are in detected intervals by at least half, shape (n,)."""
    covered = np.zeros(truth.time_s.size)
    for interval in found:
        begin = np.maximum(truth.time_s, interval.start_s)
        end = np.minimum(truth.time_s + truth.period_s, interval.end_s)
        covered = np.maximum(covered, end - begin)
    return covered >= 0.5 * truth.period_s


def _overlap(a: Any, b: Any) -> float:
    return max(0.0, min(a.end_s, b.end_s) - max(a.start_s, b.start_s))


def _matches(true: Sequence[TrueInterval], found: Sequence[Any]) -> tuple[set[int], set[int]]:
    """Return indices of true and detected intervals paired one to one, best overlap first."""
    pairs = []
    for i, t in enumerate(true):
        for j, f in enumerate(found):
            both = _overlap(t, f)
            union = (t.end_s - t.start_s) + (f.end_s - f.start_s) - both
            if both >= OVERLAP * union:
                pairs.append((both / union, i, j))
    used_true: set[int] = set()
    used_found: set[int] = set()
    for _, i, j in sorted(pairs, reverse=True):
        if i not in used_true and j not in used_found:
            used_true.add(i)
            used_found.add(j)
    return used_true, used_found


def _is_excusable(truth: Truth, interval: Any) -> bool:
    """
    Return whether an unmatched detected interval is no mistake: at least half of its samples are
    ambiguous, unseen, or truly throttled (a run shorter than ten minutes is no true interval).
    """
    inside = predicted(truth, [interval])
    if not inside.any():
        return False
    pressed = truth.fraction >= SHARE_FREE
    return float((pressed | truth.is_ambiguous | ~truth.is_seen)[inside].mean()) >= OVERLAP


def waited_s(snapshot: Snapshot) -> float:
    """
    Return for how long requests waited, seconds, by what the samples themselves show.

    A request waits if it takes three times, and five milliseconds more than, the fastest tenth of the window, and on
    average one request or more waits (Little's law). Half an hour, and a hundredth of the window, is no accident.
    """
    series = snapshot.series
    if any(metric not in series for metric in WAITING):
        return 0.0
    rates = [(series[ops], series[latency]) for ops, latency in (WAITING[:2], WAITING[2:])]
    time_s = rates[0][0].time_s
    if any(one.time_s.size != time_s.size or (one.time_s != time_s).any() for pair in rates for one in pair):
        return 0.0
    ops = sum(rate.value for rate, _ in rates)
    with np.errstate(all="ignore"):
        latency = sum(np.nan_to_num(rate.value * each.value) for rate, each in rates) / ops
    known = np.isfinite(latency) & (latency > 0)
    if not known.any():
        return 0.0
    free = float(np.quantile(latency[known], 0.1))
    waits = known & (latency >= 3 * free) & (latency >= free + 5e-3) & (ops * (latency - free) >= 1)
    total_s = float(waits.sum() * rates[0][0].step_s)
    return total_s if total_s >= max(1800, 0.01 * known.size * rates[0][0].step_s) else 0.0


def score(incident: Incident, diagnosis: Any, ms: float = 0.0) -> SeriesScore:
    """Score one diagnosis against its incident."""
    truth, found = incident.truth, storage_intervals(diagnosis)
    guess = predicted(truth, found)
    counts = truth.is_seen & ~truth.is_ambiguous
    pressed = truth.fraction >= SHARE_PRESSED
    weight = truth.period_s / 60
    minutes = (
        weight * float((guess & pressed & counts).sum()),
        weight * float((guess & ~pressed & counts).sum()),
        weight * float((~guess & pressed & counts).sum()),
    )
    used_true, used_found = _matches(truth.intervals, found)
    counted = sum(j in used_found or not _is_excusable(truth, f) for j, f in enumerate(found))
    judged = []
    for interval in truth.intervals:
        best = max(found, key=lambda f: _overlap(interval, f), default=None)
        half = OVERLAP * (interval.end_s - interval.start_s)
        is_found = best is not None and _overlap(interval, best) >= half
        judged.append(Judged(interval, best if is_found else None))
    return SeriesScore(
        seed=incident.seed,
        family=incident.family,
        is_clear=truth.is_clear,
        minutes=minutes,
        ignored_minutes=weight * float((~counts).sum()),
        detected=len(found) if truth.is_clear else counted,
        matched=len(used_true),
        true=len(truth.intervals),
        judged=judged,
        is_silent=str(getattr(diagnosis, "verdict", "")) in ("near", "slack")
        and not diagnosis.waiting
        and waited_s(incident.snapshot) > 0,
        ms=ms,
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


@dataclass(slots=True)
class Totals:
    """Sum up all series of a run."""

    series: list[SeriesScore] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """
        Return the figures of a run, by name; shares 0–1, NaN where nothing was counted.

        - minute precision, recall, F1: over samples whose four storage rates arrived, weighted by
          their length. At the ceiling means throttled ≥ 80 % of the time. Ambiguous samples (10–80 %,
          or slowed just below a ceiling) are left out. A sample is detected if a detected interval
          covers at least half of it.
        - falsely accused: share of series without any ceiling that have any interval.
        - silent: share of series whose requests waited for half an hour and more (`waited_s`), and of which neither
          a limit nor waiting nor an open question was reported.
        - interval precision, recall: one-to-one pairs with intersection over union ≥ 0.5; a
          detected interval that lies in short or ambiguous throttling is left out.
        - found: share of true intervals of which one detected interval covers at least half. The
          following are over those found:
        - level error: |detected / enforced − 1| where the dimension agrees; median and 95th
          percentile. Level covered: the error bars hold the enforced level.
        - family: instance or volume × throughput or IOPS, or unknown. Phase: among those of the
          right family that are known. Unknown flagged: unknown limits called unknown. Known called
          unknown: the opposite mistake.
        """
        hit, wrong, missed = (sum(s.minutes[k] for s in self.series) for k in range(3))
        precision, recall = _ratio(hit, hit + wrong), _ratio(hit, hit + missed)
        clear = [s for s in self.series if s.is_clear]
        matched = sum(s.matched for s in self.series)
        judged = [j for s in self.series for j in s.judged]
        found = [j for j in judged if j.found is not None]
        errors = [e for j in found if (e := j.level_error) is not None]
        right = [j for j in found if j.is_family_right]
        named = [j for j in right if not j.true.is_unknown]
        unknown = [j for j in found if j.true.is_unknown]
        known = [j for j in found if not j.true.is_unknown]
        same = [j for j in found if str(j.found.dimension) == j.true.dimension]
        return {
            "minute precision": precision,
            "minute recall": recall,
            "minute F1": _ratio(2 * precision * recall, precision + recall),
            "falsely accused": _ratio(sum(s.is_falsely_accused for s in clear), len(clear)),
            "silent": _ratio(sum(s.is_silent for s in self.series), len(self.series)),
            "interval precision": _ratio(matched, sum(s.detected for s in self.series)),
            "interval recall": _ratio(matched, sum(s.true for s in self.series)),
            "found": _ratio(len(found), len(judged)),
            "level error median": float(np.median(errors)) if errors else float("nan"),
            "level error p95": float(np.quantile(errors, 0.95)) if errors else float("nan"),
            "level covered": _ratio(sum(j.is_covered for j in same), len(same)),
            "right dimension": _ratio(len(same), len(found)),
            "right family": _ratio(len(right), len(found)),
            "right phase": _ratio(sum(j.is_phase_right for j in named), len(named)),
            "unknown flagged": _ratio(sum(j.is_family_right for j in unknown), len(unknown)),
            "known called unknown": _ratio(sum(str(j.found.family) == "unknown" for j in known), len(known)),
            "ms per series": float(np.median([s.ms for s in self.series])),
        }
