"""What a window itself shows of the current setup: served, asked for, latency."""

import numpy as np

from plimsoll.diagnosis.measures import weighted_quantile
from plimsoll.model.plan import Band
from plimsoll.model.series import FloatArray
from plimsoll.plan.demand import Demand


def exactly(value: float) -> Band:
    """Return a number that is known without bounds."""
    return Band(low=value, middle=value, high=value)


def served_of(demand: Demand) -> float:
    """Return the mean bytes per second while a ceiling bound; of all where none did."""
    held = demand.is_held_back & demand.is_measured
    at = held if held.any() else demand.is_measured
    return float(demand.served_bytes_per_s[at].mean())


def asked_and_served(demand: Demand) -> Band:
    """Share of the bytes asked for that were served at once, over the band of demand."""
    size, measured = demand.io_size_bytes, demand.is_measured

    def share(asked: FloatArray) -> float:
        whole = float((asked * size)[measured].sum())
        at_once = np.minimum(asked, demand.served_ops_per_s) * size
        return float(at_once[measured].sum()) / whole if whole > 0 else 1.0

    low, middle, high = sorted(
        share(path.ops_per_s) for path in (demand.low, demand.middle, demand.high)
    )
    return Band(low=low, middle=middle, high=high)


def latencies_of(demand: Demand) -> tuple[Band | None, Band | None]:
    """Mean and 95th percentile over operations, as measured."""
    known = demand.is_measured & np.isfinite(demand.latency_s) & (demand.served_ops_per_s > 0)
    if not known.any():
        return None, None
    values, counts = demand.latency_s[known], demand.served_ops_per_s[known]
    mean = float(np.average(values, weights=counts))
    return exactly(mean), exactly(float(weighted_quantile(values, counts, 0.95)))
