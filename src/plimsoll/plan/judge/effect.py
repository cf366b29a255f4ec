"""
The effect of a change on the window: every plausible demand, replayed through the new ceilings.

The kernel replays each demand once, and the results are combined by weight. The capacity of an
instance's bucket is not published: a demand is replayed with the smaller reading of "30 minutes at the
maximum" (strict) and with the larger (generous), and the band includes both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from plimsoll.diagnosis.comparison.measures import weighted_quantile
from plimsoll.errors import DataError
from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Family
from plimsoll.model.family import INSTANCE_FAMILIES
from plimsoll.model.plan import ALLOWED_RATIO, Band, Effect, Judgement
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.plan.demand.recovery import BAND, Demand
from plimsoll.plan.judge.trials import Trial, trials_of
from plimsoll.plan.judge.verdict import PassShare, verdict_of
from plimsoll.units import in_cases

# A smaller share of time is shown as "under 0.1 %".
LEAST_SHOWN = 0.001
# Below a ceiling latency rises little and late; a sixth power fits gp2 and gp3 curves of fio runs.
RISE, RISE_POWER = 0.6, 6
# A step in which requests waited for less than half of it is not at a ceiling.
SHARE_OF_STEP = 0.5
# A demand fails clearly if it waits for twice the allowed time. Where all plausible demands of a simulated
# incident nearly agree, one replay in four is still a fifth too high; and edges and sizes may double a
# time of a few minutes. So a demand nearer to the allowed time may as well pass.
CLEARLY = 2.0
# "At least 30 minutes in 24 hours at the maximum" (EC2 user guide, EBS-optimized instances).
BURST_S = 1800.0
# "At least": the real maximum is not documented, but twice as much would be advertised.
AT_LEAST = 2.0
SETTLED_BY = (
    "run one hour on a larger class while the ceiling binds, or record active sessions and "
    "transactions per second with the storage metrics"
)
_FAMILIES = {family.value for family in Family}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedChange:
    """A judged change."""

    judgement: Judgement
    probability: float
    """Chance 0–1 that it lifts."""
    effect: Effect
    reason: str
    settled_by: str
    passed: BoolArray = field(compare=False)
    """Whether each demand passes: every path with the least credits, then every path with the most."""


def passing_weights(demand: Demand) -> FloatArray:
    """Return the chance of each of the demands of `JudgedChange.passed`, sum 1."""
    return _both(_weights(demand))


def bounded_weights(demand: Demand) -> FloatArray:
    """
    Return the same chances among the demands that are bounded.

    An endless demand is a reason to compare hours of work, not to buy a larger size.
    """
    return _both(_weights(demand, [path.is_endless for path in demand.paths]))


def _both(weight: FloatArray) -> FloatArray:
    """Return the chances of paths as those of both readings of the credits."""
    found: FloatArray = np.concatenate((weight, weight)) / 2
    return found


def _weights(demand: Demand, is_left_out: Sequence[bool] = ()) -> FloatArray:
    """Return the chance of each path without those left out, sum 1; of all if none would remain."""
    weight = np.array([path.weight for path in demand.paths])
    if is_left_out and not all(is_left_out):
        weight = np.where(is_left_out, 0.0, weight)
    found: FloatArray = weight / weight.sum()
    return found


def judge(demand: Demand, chain: Sequence[Stage], *, allowed_ratio: float = ALLOWED_RATIO) -> JudgedChange:
    """
    Return whether the demand passes a chain, and the effect on the window.

    Args:
        demand: as recovered.
        chain: ceilings in series; a stage without a start balance takes the measured one, or full.
        allowed_ratio: share 0–1 of the measured time that may be spent at a ceiling.

    Raises:
        DataError: the chain is empty.
    """
    trials = _trials(demand, chain)
    count = int(np.count_nonzero(demand.is_measured))
    waited = np.array(_waited(demand, trials)) / count
    loose = _loose(trials, waited * count) / count
    is_generous = np.array([trial.is_generous for trial in trials])
    # The error of a replay counts against the change with the least credits, and for it with the most.
    is_passed = np.where(is_generous, waited - loose, waited + loose) < allowed_ratio
    is_near = waited - loose < CLEARLY * allowed_ratio
    passed = np.concatenate((is_passed[~is_generous], is_passed[is_generous]))
    every, opened = _weights(demand), _weights(demand, [path.is_greedy for path in demand.paths])
    # A change lifts only if it lifts for greedy demands too. It fails only if it also fails for the others
    # alone.
    share = PassShare(
        strict=float(every @ passed[: every.size]),
        nearly=max(float(some @ is_near[is_generous]) for some in (every, opened)),
    )
    chance = float(passing_weights(demand) @ passed)
    judgement = verdict_of(share, is_lower_bound=demand.summary.is_lower_bound)
    effect = _effect(demand, trials)
    return JudgedChange(
        judgement=judgement,
        probability=round(chance, 4),
        effect=effect,
        reason=_reason(demand, effect, chance, allowed_ratio),
        settled_by=SETTLED_BY if judgement is Judgement.UNSURE else "",
        passed=passed,
    )


def started(demand: Demand, chain: Sequence[Stage], *, is_generous: bool) -> tuple[Stage, ...]:
    """Return the chain with the balances at the window's start, and with the chosen capacities."""
    found = []
    for given in chain:
        stage = _as_joined(given) if demand.is_joined and is_generous else given
        if stage.capacity <= 0 or stage.start_balance is not None:
            found.append(stage)
            continue
        capacity = _capacity(demand, stage, is_generous=is_generous)
        # An unmeasured balance is unknown: full at best, empty at worst.
        ratio = demand.balance_at_start.get(stage.name, 1.0 if is_generous else 0.0)
        found.append(replace(stage, capacity=capacity, start_balance=ratio * capacity))
    return tuple(found)


def _as_joined(stage: Stage) -> Stage:
    """
    Return a volume's IOPS limit for requests that are all merged into operations of the largest size.

    The number of merged requests is not measured: none at worst, all at best.
    """
    if stage.name != Family.VOLUME_IOPS or stage.unit_bytes is None:
        return stage
    return replace(stage, sequential_ratio=1.0)


def _capacity(demand: Demand, stage: Stage, *, is_generous: bool) -> float:
    """Return a bucket's capacity: learned, or either documented bound."""
    # A volume's bucket is documented: 5.4 million I/O credits on gp2 (EBS user guide). An
    # instance's is not.
    if stage.name not in INSTANCE_FAMILIES:
        return stage.capacity
    learned = demand.burst_s.get(stage.name)
    if learned is not None:
        return learned[int(is_generous)] * (stage.burst - stage.baseline)
    return max(stage.capacity, stage.burst * BURST_S * AT_LEAST) if is_generous else stage.capacity


def _trials(demand: Demand, chain: Sequence[Stage]) -> list[Trial]:
    if not chain:
        raise DataError(
            "no limit of this change is documented, so nothing can be replayed",
            "Give a class and storage from the catalog.",
        )
    strict = started(demand, chain, is_generous=False)
    return trials_of(demand, strict, started(demand, chain, is_generous=True))


def _waited(demand: Demand, trials: Sequence[Trial]) -> list[float]:
    """Return measured steps that each trial spent at a ceiling, parts of steps included."""
    weigh = demand.is_measured.astype(np.float64)
    return [float((trial.outcome.throttled * weigh).sum()) for trial in trials]


def _effect(demand: Demand, trials: list[Trial]) -> Effect:
    measured = demand.is_measured
    weight = np.array([t.path.weight for t in trials])
    minutes = np.array(_waited(demand, trials)) * demand.step_s / 60
    total = float(np.count_nonzero(measured)) * demand.step_s / 60
    held = measured & demand.is_held_back
    during = held if held.any() else measured
    per_op = np.where(during, demand.io_size_bytes, 0.0) / demand.step_s
    count = np.count_nonzero(during)
    served = np.array([float((t.outcome.served_ops * per_op).sum()) / count for t in trials])
    passed = np.array(_served_ratios(demand, trials))
    band = _waiting_band(demand, _to_the_step(demand, trials, minutes, weight))
    latency = _latencies(demand, trials)
    # The balance shown is the worst plausible one: the highest demand with the least credits.
    hardest = next(t for t in trials if t.path is demand.high and not t.is_generous)
    return Effect(
        minutes_at_ceiling=band,
        ratio_at_ceiling=Band(low=band.low / total, middle=band.middle / total, high=band.high / total),
        served_bytes_per_s=_band(served, weight),
        served_ratio=_band(passed, weight),
        latency_s_mean=latency[0],
        latency_s_p95=latency[1],
        **_lowest_balance(demand, hardest),
        next_ceiling=None,
    )


def _to_the_step(demand: Demand, trials: Sequence[Trial], minutes: FloatArray, weight: FloatArray) -> Band:
    """
    Return the minutes at a ceiling, with the error of a plateau's ends: each is known to a step.

    All ends of a demand may have the same error of half a step, because minutes begin at another second.
    """
    step = demand.step_s / 60
    loose = _loose(trials, minutes / step) * step
    total = float(np.count_nonzero(demand.is_measured)) * step
    return Band(
        low=_band(minutes - loose, weight).low,
        middle=_band(minutes, weight).middle,
        high=min(_band(minutes + loose, weight).high, total),
    )


def _loose(trials: Sequence[Trial], steps: FloatArray) -> FloatArray:
    """Return the error of each trial's steps at a ceiling: half a step per end, at most half of all."""
    ends = [np.count_nonzero(np.diff(t.outcome.throttled > SHARE_OF_STEP)) for t in trials]
    return np.minimum(0.5 * np.array(ends, dtype=np.float64), steps / 2)


def _waiting_band(demand: Demand, band: Band) -> Band:
    """Return the band; its high end is at least one step if unthrottled demand was never measured."""
    least = 0.0 if demand.is_free_seen else demand.step_s / 60
    return Band(low=band.low, middle=band.middle, high=max(band.high, least))


def _latencies(demand: Demand, trials: list[Trial]) -> tuple[Band | None, Band | None]:
    """Return the mean and 95th percentile over operations, for the low, middle and high demand."""
    if not np.isfinite(demand.base_latency_s[demand.is_measured]).any():
        return None, None
    means, tails = [], []
    for trial in trials:
        if trial.is_generous or not any(trial.path is p for p in (demand.low, demand.middle, demand.high)):
            continue
        served = trial.outcome.served_ops / demand.step_s
        latency = _latency(demand, trial, served)
        counts = demand.is_measured & np.isfinite(latency) & (served > 0)
        if not counts.any():
            return None, None
        means.append(float(np.average(latency[counts], weights=served[counts])))
        tails.append(weighted_quantile(latency[counts], served[counts], 0.95))
    return _spread(means), _spread(tails)


def _spread(values: list[float]) -> Band:
    ordered = sorted(values)
    return Band(low=ordered[0], middle=ordered[len(ordered) // 2], high=ordered[-1])


def _latency(demand: Demand, trial: Trial, served_ops_per_s: FloatArray) -> FloatArray:
    """
    Return the latency of each step: N/X by Little's law at a ceiling, below it the base with a rise by load.

    N is the measured number in flight where the step was throttled, and rate × base latency otherwise.
    """
    load = _load(served_ops_per_s, demand, trial.chain)
    with np.errstate(all="ignore"):
        in_flight = np.where(
            demand.is_held_back,
            demand.latency_s * demand.served_ops_per_s,
            demand.base_latency_s * trial.path.ops_per_s,
        )
        free = demand.base_latency_s * (1 + RISE * np.clip(load, 0, 1) ** RISE_POWER)
        waiting = np.fmax(in_flight / served_ops_per_s, free)
        waiting = np.where(served_ops_per_s > 0, waiting, free)
    return free + trial.outcome.throttled * (waiting - free)


def _lowest_balance(demand: Demand, trial: Trial) -> dict[str, Any]:
    """Return the lowest balance of any bucket, with its family and time."""
    lowest: tuple[float, str, int] | None = None
    assert trial.outcome.balance is not None
    for stage, balance in zip(trial.chain, trial.outcome.balance, strict=True):
        if stage.capacity <= 0 or stage.name not in _FAMILIES:
            continue
        at = int(np.argmin(balance))
        ratio = float(np.clip(balance[at] / stage.capacity, 0.0, 1.0))
        if lowest is None or ratio < lowest[0]:
            lowest = ratio, stage.name, int(demand.time_s[at])
    return {
        "balance_min_ratio": lowest[0] if lowest else None,
        "balance_min_family": Family(lowest[1]) if lowest else None,
        "balance_min_s": lowest[2] if lowest else None,
    }


def _load(served_ops_per_s: FloatArray, demand: Demand, chain: tuple[Stage, ...]) -> FloatArray:
    """Return the rate relative to the lowest ceiling at its burst rate; latency below it rises with this."""
    size = demand.io_size_bytes
    load = np.zeros(served_ops_per_s.size)
    for stage in chain:
        per_op = size if stage.counts == "bytes" else np.ones(size.size)
        if stage.unit_bytes is not None:
            per_op = np.maximum(size / stage.unit_bytes, 1.0)
        load = np.maximum(load, served_ops_per_s * per_op / (stage.burst * stage.stripes))
    return load


def _served_ratios(demand: Demand, trials: Sequence[Trial]) -> list[float]:
    """Return the share of the demanded bytes that are served without waiting, for each trial."""
    size = np.where(demand.is_measured, demand.io_size_bytes, 0.0)
    found = []
    for trial in trials:
        asked = trial.path.ops_per_s
        at_once = np.minimum(trial.outcome.served_ops / demand.step_s, asked)
        whole = float((asked * size).sum())
        found.append(float((at_once * size).sum()) / whole if whole > 0 else 1.0)
    return found


def _band(values: FloatArray, weight: FloatArray) -> Band:
    # Stable, so that equal values of different paths give the same bytes every time.
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    three = [float(values[order[min(int(np.searchsorted(reached, q)), order.size - 1)]]) for q in BAND]
    return Band(low=three[0], middle=three[1], high=three[2])


def _reason(demand: Demand, effect: Effect, chance: float, allowed: float) -> str:
    ratio = effect.ratio_at_ceiling
    low, high = _percent(ratio.low), _percent(ratio.high)
    # Only if the measured rate is the sole demand is "never" a safe statement.
    is_seen = len(demand.paths) == 1 and np.array_equal(demand.paths[0].ops_per_s, demand.served_ops_per_s)
    if is_seen and ratio.high == 0:
        return "demand would never wait for a ceiling"
    span = f"for {high}" if low == high else f"for {low} to {high}"
    text = f"still at a ceiling {span} of the time (you allow {100 * allowed:g} %)"
    if len(demand.paths) == 1:
        return text
    return f"{text}; enough in {in_cases(chance)} cases we consider possible"


def _percent(ratio: float) -> str:
    """Return a share of time in percent; a small one is never shown as zero."""
    return f"{100 * ratio:.1f} %" if ratio >= LEAST_SHOWN else "under 0.1 %"
