"""The judgement of the current setup by its own measurements: rates, demand and latency."""

import numpy as np

from plimsoll.diagnosis.comparison.measures import weighted_quantile
from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import CeilingTime, Diagnosis
from plimsoll.model.family import BALANCES
from plimsoll.model.plan import Band, Effect, Judgement, NextCeiling
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.recovery import Demand
from plimsoll.plan.judge.effect import JudgedChange
from plimsoll.units import format_ratio


def observed(demand: Demand, diagnosis: Diagnosis, snapshot: Snapshot, *, allowed_ratio: float) -> JudgedChange:
    """
    Return the judgement of the current setup by its measured time at a ceiling.

    Args:
        demand: as recovered from the snapshot.
        diagnosis: of the snapshot.
        snapshot: the window.
        allowed_ratio: share 0–1 of the measured time that may be spent at a ceiling.
    """
    summary = demand.summary
    # A measurement needs no replay and has no band.
    minutes = summary.held_back_s / 60
    ratio = summary.held_back_s / summary.measured_s if summary.measured_s else 0.0
    is_within = ratio <= allowed_ratio
    mean, tail = latencies_of(demand)
    lowest = _lowest_balance(snapshot)
    return JudgedChange(
        judgement=Judgement.LIFTS if is_within else Judgement.DOES_NOT,
        probability=1.0 if is_within else 0.0,
        effect=Effect(
            minutes_at_ceiling=exactly(minutes),
            ratio_at_ceiling=exactly(ratio),
            served_bytes_per_s=exactly(served_of(demand)),
            served_ratio=asked_and_served(demand),
            latency_s_mean=mean,
            latency_s_p95=tail,
            balance_min_ratio=lowest[0] if lowest else None,
            balance_min_family=lowest[1] if lowest else None,
            balance_min_s=lowest[2] if lowest else None,
            next_ceiling=_bound(diagnosis.binding),
        ),
        reason=(
            f"a ceiling bound for {format_ratio(ratio)} of the time measured (you allow {100 * allowed_ratio:g} %)"
            if ratio > 0
            else "no limit of storage was reached in the time measured"
        ),
        settled_by="",
        # Two readings of the credits for each path, as `effect.judge` returns them.
        passed=np.full(2 * len(demand.paths), is_within),
    )


def exactly(value: float) -> Band:
    """Return a number that is known without bounds."""
    return Band(low=value, middle=value, high=value)


def served_of(demand: Demand) -> float:
    """Return the mean bytes per second while a ceiling bound; of all where none did."""
    held = demand.is_held_back & demand.is_measured
    at = held if held.any() else demand.is_measured
    return float(demand.served_bytes_per_s[at].mean())


def asked_and_served(demand: Demand) -> Band:
    """Return the share of the requested bytes that were served at once, over the band of demand."""
    size, measured = demand.io_size_bytes, demand.is_measured

    def share(asked: FloatArray) -> float:
        whole = float((asked * size)[measured].sum())
        # Bytes served above the path's demand at that moment were requested earlier.
        at_once = np.minimum(asked, demand.served_ops_per_s) * size
        return float(at_once[measured].sum()) / whole if whole > 0 else 1.0

    low, middle, high = sorted(share(path.ops_per_s) for path in (demand.low, demand.middle, demand.high))
    return Band(low=low, middle=middle, high=high)


def latencies_of(demand: Demand) -> tuple[Band | None, Band | None]:
    """Return the measured mean and 95th percentile over operations."""
    # A step without operations has no latency, and mean and tail are over operations, not over
    # time.
    known = demand.is_measured & np.isfinite(demand.latency_s) & (demand.served_ops_per_s > 0)
    if not known.any():
        return None, None
    values, counts = demand.latency_s[known], demand.served_ops_per_s[known]
    mean = float(np.average(values, weights=counts))
    return exactly(mean), exactly(float(weighted_quantile(values, counts, 0.95)))


def _lowest_balance(snapshot: Snapshot) -> tuple[float, Family, int] | None:
    """Return the lowest measured balance with its family and time; None where none was measured."""
    lowest: tuple[float, Family, int] | None = None
    for metric, family in BALANCES.items():
        series = snapshot.series.get(metric)
        if series is None or not np.isfinite(series.value).any():
            continue
        at = int(np.nanargmin(series.value))
        value = float(series.value[at])
        if lowest is None or value < lowest[0]:
            lowest = value, family, int(series.time_s[at])
    return lowest


def _bound(binding: CeilingTime | None) -> NextCeiling | None:
    if binding is None:
        return None
    return NextCeiling(family=binding.family, phase=binding.phase, dimension=binding.dimension, value=binding.level)
