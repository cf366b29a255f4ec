"""
The price–performance curve: the best performance for each price.

Performance is the share of the requested bytes that are served at once if the rest is dropped. It is one
number for every setup and every demand, whether waiting requests are carried over or not. It is one
minus the share that would be lost (Cahoon et al., "Doppler", PVLDB 15(12), use the share of time).

Rule 1: a point is on the curve only if no cheaper setup serves nearly as much of the middle demand.
Rule 2: once all of it is served at once no more expensive setup can be better, and the replays stop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll import kernel
from plimsoll.model.plan import Band, CurvePoint, MoveKind, Option
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.judge.vectors import LimitVectors
from plimsoll.plan.market.candidates import Arrangements
from plimsoll.plan.market.priced import UNKNOWN, ArrangementPrices
from plimsoll.plan.market.storages import describe_storage

# Judgement: smaller steps than two percent make no visible difference on a curve.
_BETTER_RATIO = 0.02
# A replay's sums are exact to far less than a ten-thousandth: nothing is left to gain.
_WHOLE_RATIO = 1 - 1e-4
# Vectors in one call of the kernel: enough to fill its lanes, few enough to stop early.
_CHUNK = 512


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demands:
    """The band of demand, lowest first."""

    low: StepDemand
    middle: StepDemand
    high: StepDemand


def curve_of(
    found: Arrangements, vectors: LimitVectors, prices: ArrangementPrices, demands: Demands
) -> tuple[CurvePoint, ...]:
    """
    Return the points of the curve in order of price, with the present setup if it has a price.

    Args:
        found: arrangements.
        vectors: their limits.
        prices: their prices; those whose whole price is not known are left out.
        demands: what is asked for.
    """
    order = np.argsort(prices.total, kind="stable")
    order = order[prices.total[order] != UNKNOWN]
    _, first = np.unique(vectors.of[order], return_index=True)
    queue = order[np.sort(first)]
    chosen = envelope(_served_in_order(vectors, queue, demands.middle))
    # At equal prices the later one is on the envelope because it serves more.
    points = list({int(prices.total[queue[place]]): int(queue[place]) for place in chosen}.values())
    present = found.present
    if present is not None and prices.total[present] != UNKNOWN and present not in points:
        points.append(present)
    points.sort(key=lambda index: (int(prices.total[index]), index != present))
    bands = _bands(vectors, np.array(points, dtype=np.int64), demands)
    return tuple(
        CurvePoint(name=found.name(index), usd_per_month=usd, served_ratio=band, is_present=index == present)
        for index, band in zip(points, bands, strict=True)
        if (usd := prices.usd_per_month(index)) is not None
    )


def envelope(ratios: Sequence[float] | FloatArray) -> list[int]:
    """Return the places at which a series of shares exceeds all earlier ones by a step, or reaches one."""
    best, places = -1.0, []
    for place, ratio in enumerate(ratios):
        if ratio > best + _BETTER_RATIO or ratio >= _WHOLE_RATIO > best:
            best = float(ratio)
            places.append(place)
    return places


def served_at_once(vectors: LimitVectors, which: IntArray, asked: StepDemand) -> FloatArray:
    """Return the share 0–1 of the requested bytes that some vectors serve at once, shape of `which`."""
    whole = float((asked.ops_per_s * asked.io_size_bytes)[asked.ops_per_s > 0].sum()) * asked.step_s
    if whole <= 0 or not which.size:
        return np.ones(which.size)
    found = kernel.replay_candidates(
        asked.ops_per_s,
        asked.io_size_bytes,
        step_s=asked.step_s,
        chains=asked.all_started(vectors.chains(which)),
        carry=False,
    )
    return np.clip(found.served_bytes / whole, 0.0, 1.0)


def share_of(chain: Sequence[kernel.Stage], demands: Demands) -> Band:
    """Return the share 0–1 of the requested bytes that a chain serves at once, as the curve counts it."""
    shares = []
    for asked in (demands.low, demands.middle, demands.high):
        whole = float((asked.ops_per_s * asked.io_size_bytes)[asked.ops_per_s > 0].sum())
        if whole <= 0:
            shares.append(1.0)
            continue
        found = kernel.replay(
            asked.ops_per_s, asked.io_size_bytes, step_s=asked.step_s, chain=asked.started(chain), carry=False
        )
        served = float(found.served_bytes.sum()) / (whole * asked.step_s)
        shares.append(min(max(served, 0.0), 1.0))
    low, middle, high = sorted(shares)
    return Band(low=low, middle=middle, high=high)


def with_options(points: Sequence[CurvePoint], options: Sequence[Option]) -> tuple[CurvePoint, ...]:
    """
    Return the curve with the options added, if no point on it serves as much for the same price.

    A limit that is not enforced is left out for an option of the same class, and small steps are left
    out of the curve. So an option may serve more than the curve at its price.

    Args:
        points: in order of price.
        options: as shown; those without a price, or that change nothing that is paid for, are left out.
    """
    present = [point for point in points if point.is_present]
    offered = [
        CurvePoint(
            name=f"{option.instance.db_class}, {describe_storage(option.instance.storage)}",
            usd_per_month=option.cost.usd_per_month,
            served_ratio=option.effect.served_ratio,
        )
        for option in options
        if option.cost.usd_per_month is not None and all(move.kind is not MoveKind.SCHEDULE for move in option.moves)
    ]
    every = [*(point for point in points if not point.is_present), *offered]
    every.sort(key=lambda point: (point.usd_per_month, -point.served_ratio.middle))
    kept: list[CurvePoint] = []
    best = -1.0
    for point in every:
        if point.served_ratio.middle > best:
            best = point.served_ratio.middle
            kept.append(point)
    kept += present
    return tuple(sorted(kept, key=lambda point: (point.usd_per_month, not point.is_present)))


def _served_in_order(vectors: LimitVectors, queue: IntArray, asked: StepDemand) -> FloatArray:
    """Return the shares served by setups in order, until all of the demand is served."""
    found: list[FloatArray] = []
    for start in range(0, queue.size, _CHUNK):
        ratios = served_at_once(vectors, vectors.of[queue[start : start + _CHUNK]], asked)
        found.append(ratios)
        # In order of price, so nothing after this serves more, and all of it costs more.
        if ratios.size and ratios.max() >= _WHOLE_RATIO:
            break
    return np.concatenate(found) if found else np.empty(0)


def _bands(vectors: LimitVectors, points: IntArray, demands: Demands) -> list[Band]:
    of: Mapping[str, FloatArray] = {
        name: served_at_once(vectors, vectors.of[points], getattr(demands, name)) for name in ("low", "middle", "high")
    }
    # A higher demand need not be served to a smaller share, so the band is put in order.
    stacked = np.sort(np.stack([of["high"], of["middle"], of["low"]]), axis=0)
    return [Band(low=low, middle=middle, high=high) for low, middle, high in stacked.T.tolist()]
