"""What the gate's record says of a phase: rates, latencies, queue, and how long a limit made requests wait."""

from collections.abc import Sequence
from statistics import median

import numpy as np

from plimsoll_lab.gate.record import MINUTE_S, RecordLine, Truth
from plimsoll_lab.model.experiment import ExperimentFigures


def storage_figures(
    lines: Sequence[RecordLine], truth: Truth, responses_s: Sequence[float], clock: float
) -> ExperimentFigures:
    """
    Return the figures that every experiment has.

    Args:
        lines: the gate's, of the whole load.
        truth: of the same lines.
        responses_s: of the database, in the same time.
        clock: credit clock.
    """
    length_s = sum(line.dt for line in lines)
    read_ops = sum(line.read_ops for line in lines)
    write_ops = sum(line.write_ops for line in lines)
    return ExperimentFigures(
        minutes=length_s * clock / MINUTE_S,
        read_bytes_per_s=ratio(sum(line.read_bytes for line in lines), length_s),
        write_bytes_per_s=ratio(sum(line.write_bytes for line in lines), length_s),
        ops_per_s=ratio(read_ops + write_ops, length_s),
        read_latency_s=ratio(sum(line.read_wait_s_sum for line in lines), read_ops),
        write_latency_s=ratio(sum(line.write_wait_s_sum for line in lines), write_ops),
        queue_depth=ratio(sum(line.queue_depth * line.dt for line in lines), length_s),
        throttled_minutes=sum(moment.bound_s for moment in truth.moments) * clock / MINUTE_S,
        response_s_p50=median(responses_s) if responses_s else None,
        response_s_p95=float(np.quantile(responses_s, 0.95)) if responses_s else None,
    )


def ratio(part: float, whole: float) -> float | None:
    """Return a part of a whole; None of nothing."""
    return part / whole if whole > 0 else None
