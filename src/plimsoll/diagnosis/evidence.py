"""
The sentences under a claim: what supports it, what was ruled out, what would refute it.

Every sentence carries its number, unit and comparison. Nothing is claimed that was not measured.
"""

import numpy as np

from plimsoll.diagnosis.binding import ENFORCED_LOG_CENTRE, ENFORCED_LOG_SD
from plimsoll.diagnosis.plateau import Plateau
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.diagnosis import Evidence, RuledOut
from plimsoll.model.family import FAMILIES, RATE_FAMILIES
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.units import (
    MIB,
    format_bytes,
    format_bytes_per_s,
    format_duration,
    format_latency,
    format_ops_per_s,
    format_ratio,
    number,
)


def format_rate(value: float, dimension: Dimension) -> str:
    """A level with its unit: `212.5 MB/s` or `12,000 IOPS`."""
    if dimension == Dimension.THROUGHPUT:
        return format_bytes_per_s(value)
    return format_ops_per_s(value)


def format_ceiling(ceiling: Ceiling) -> str:
    """A documented number in the unit it is sold in: volume throughput also in MiB/s."""
    is_bytes = ceiling.dimension == Dimension.THROUGHPUT
    # Five figures: limits are published as 86.875 or 593.75 MB/s.
    text = format_bytes_per_s(ceiling.value, 5) if is_bytes else format_ops_per_s(ceiling.value)
    if ceiling.family.value == "volume_throughput":
        text = f"{number(ceiling.value / MIB)} MiB/s ({text})"
    return text


def describe(ceiling: Ceiling) -> str:
    """`instance EBS throughput baseline of 287.5 MB/s`, with `former` where it applies."""
    phase = "" if ceiling.bucket_phase == Phase.FIXED else f" {ceiling.bucket_phase.value}"
    former = "former " if ceiling.phase == Phase.LEGACY else ""
    return f"{former}{FAMILIES[ceiling.family].name}{phase} of {format_ceiling(ceiling)}"


def shared_evidence_of(plateau: Plateau, meanwhile: FloatArray) -> tuple[Evidence, ...]:
    """
    What supports the claim for every stretch at this level, strongest kinds first.

    Args:
        plateau: the level and its explanation.
        meanwhile: the other rate during those stretches (ops/s for a throughput plateau).
    """
    signs, found = plateau.signs, []
    best = plateau.best.ceiling
    if best is not None:
        off = plateau.level / best.value - 1
        side = "above" if off >= 0 else "below"
        away = number(abs(off) * 100, 2)
        text = f"the level is {away} % {side} the documented {describe(best)}"
        found.append(_evidence("match", text, plateau.level, best.value))
    found.append(_flatness(plateau))
    if np.isfinite(signs.elasticity):
        times = number(1 / max(signs.elasticity, 1e-3), 2)
        text = f"waiting varied {times} times as much as the rate: more pressure did not get more served"
        found.append(_evidence("elasticity", text, signs.elasticity))
    found += _balance_evidence(plateau)
    found += _same_in_both(plateau, meanwhile)
    if signs.run_count > 1:
        spell = format_duration(signs.minutes * 60)
        text = f"the same level was held {signs.run_count} times, {spell} in all"
        found.append(_evidence("recurrence", text, float(signs.run_count)))
    return tuple(found)


def _same_in_both(plateau: Plateau, meanwhile: FloatArray) -> list[Evidence]:
    """With a constant I/O size a throughput and an IOPS limit look alike; where no number decides."""
    known = meanwhile[np.isfinite(meanwhile) & (meanwhile > 0)]
    if plateau.best.ceiling is not None or known.size < 3:
        return []
    centre = float(np.median(known))
    spread = 1.4826 * float(np.median(np.abs(np.log(known / centre))))
    if spread > 1.5 * plateau.signs.log_sd + 0.001:
        return []
    is_bytes = plateau.dimension == Dimension.THROUGHPUT
    other = Dimension.IOPS if is_bytes else Dimension.THROUGHPUT
    text = f"the I/O size hardly varied, so a limit of {format_rate(centre, other)} would look the same"
    return [_evidence("io_size", text, centre)]


def _flatness(plateau: Plateau) -> Evidence:
    signs = plateau.signs
    rate = format_rate(plateau.level, plateau.dimension)
    text = f"reads and writes together stayed within {number(max(signs.log_sd * 100, 0.01), 2)} % of {rate}"
    if not np.isfinite(signs.log_sd_elsewhere):
        return _evidence("flatness", text, signs.log_sd)
    usual = number(signs.log_sd_elsewhere * 100, 2)
    text += f", while the workload elsewhere varies by {usual} % from one sample to the next"
    return _evidence("flatness", text, signs.log_sd, signs.log_sd_elsewhere)


def waiting_evidence_of(
    *,
    latency_s: float | None,
    reference_s: float | None,
    queue_depth: float | None,
    io_size_bytes: float | None,
) -> tuple[Evidence, ...]:
    """What was seen of the requests during one stretch."""
    found = []
    # Latencies below what a float can hold are 0, and nothing is a multiple of it.
    if latency_s is not None and reference_s is not None and reference_s > 0:
        text = (
            f"requests took {format_latency(latency_s)}, {number(latency_s / reference_s, 2)} times"
            f" the {format_latency(reference_s)} this storage takes when it is not pressed"
        )
        found.append(_evidence("latency", text, latency_s, reference_s))
    if queue_depth is not None:
        text = f"{number(queue_depth, 2)} requests waited or were in service"
        found.append(_evidence("queue", text, queue_depth))
    if io_size_bytes is not None:
        text = f"an I/O was {format_bytes(io_size_bytes)} on average"
        found.append(_evidence("io_size", text, io_size_bytes))
    return tuple(found)


def sessions_evidence_of(
    sessions: tuple[FloatArray, FloatArray] | None, held: BoolArray
) -> tuple[Evidence, ...]:
    """
    What the database's own sessions did meanwhile.

    Args:
        sessions: active ones, and those of them that waited for I/O, per sample; None if not known.
        held: samples at the level, shape (n,).
    """
    if sessions is None:
        return ()
    active, waiting = sessions
    known = np.isfinite(active) & np.isfinite(waiting)
    if not (known & held).any():
        return ()
    text = (
        f"{number(float(waiting[known & held].mean()), 2)} of "
        f"{number(float(active[known & held].mean()), 2)} active sessions waited for I/O"
    )
    rest = known & ~held
    usual = float(waiting[rest].mean()) if rest.any() else None
    if usual is not None:
        text += f", {number(usual, 2)} at other times"
    return (_evidence("sessions", text, float(waiting[known & held].mean()), usual),)


def _balance_evidence(plateau: Plateau) -> list[Evidence]:
    found = []
    for metric, view in sorted(plateau.balances.items()):
        name = METRICS[metric].cloudwatch
        middle = (view.low + view.high) / 2
        if view.is_empty:
            text = f"{name} was at {format_ratio(view.low)}: no credits left"
        elif view.change_per_s < 0:
            fall = format_ratio(-view.change_per_s * 3600)
            text = (
                f"{name} fell by {fall} an hour, from {format_ratio(view.high)} to "
                f"{format_ratio(view.low)}"
            )
        else:
            text = f"{name} stood at {format_ratio(middle)}: credits were not short"
        found.append(_evidence("balance", text, middle))
    return found


def ruled_out_of(
    plateau: Plateau, ceilings: tuple[Ceiling, ...], *, other_rate: float | None
) -> tuple[RuledOut, ...]:
    """
    The other documented limits of storage, and why each does not explain the level.

    Args:
        plateau: the level and its explanation.
        ceilings: all ceilings of the instance.
        other_rate: median rate of the other dimension meanwhile (ops/s for a throughput plateau).
    """
    best = plateau.best.ceiling
    found = []
    for row in ceilings:
        if row.family not in RATE_FAMILIES or row == best:
            continue
        if row.dimension == plateau.dimension:
            reason = _same_dimension(plateau, row)
        else:
            reason = _other_dimension(row, other_rate)
        if reason:
            found.append(RuledOut(ceiling=row, reason=reason))
    return tuple(found)


def _same_dimension(plateau: Plateau, row: Ceiling) -> str:
    ratio = plateau.level / row.value
    view = plateau.balances.get(row.balance_metric) if row.balance_metric else None
    name = METRICS[row.balance_metric].cloudwatch if row.balance_metric else ""
    if ratio < np.exp(ENFORCED_LOG_CENTRE - 2.7 * ENFORCED_LOG_SD):
        return f"the level is {format_ratio(ratio)} of it"
    if ratio > np.exp(ENFORCED_LOG_CENTRE + 2.7 * ENFORCED_LOG_SD):
        if row.bucket_phase == Phase.BASELINE and view is not None and not view.is_empty:
            return f"passed by {format_ratio(ratio - 1)} on credits ({name} was not empty)"
        return f"the level is {format_ratio(ratio - 1)} above it: it is not what is enforced here"
    if view is not None and row.bucket_phase == Phase.BASELINE and not view.is_empty:
        return f"it binds only without credits, and {name} was at {format_ratio(view.low)} or more"
    if view is not None and row.bucket_phase == Phase.BURST and view.is_empty:
        return f"it is to be had only with credits, and {name} was empty"
    others = {m.ceiling: m.probability for m in plateau.matches if m.ceiling is not None}
    if row in others:
        return f"it would fit too, but less well (probability {format_ratio(others[row])})"
    return "the same number under another name; the other explains the credits better"


def _other_dimension(row: Ceiling, other_rate: float | None) -> str:
    if other_rate is None or not np.isfinite(other_rate):
        return ""
    ratio = other_rate / row.value
    seen = format_rate(other_rate, row.dimension)
    if ratio < 0.97:
        return f"{seen} meanwhile is {format_ratio(ratio)} of it"
    if ratio > 1.03:
        return f"{seen} meanwhile is above it: it did not hold requests back"
    return f"{seen} meanwhile is at it, but varied more than the level that is named"


def refuted_by(plateau: Plateau) -> str:
    """What observation would show that the claim is wrong."""
    best = plateau.best.ceiling
    rate = format_rate(plateau.level, plateau.dimension)
    if best is None:
        return (
            f"more than {rate} served for minutes at this time of the instance's life, or waiting that "
            "stays when demand falls (then it is a storage fault, not a limit)"
        )
    if best.bucket_phase == Phase.BASELINE and best.balance_metric is not None:
        name = METRICS[best.balance_metric].cloudwatch
        return f"{name} well above 0 % while the rate stays at {rate}"
    if best.bucket_phase == Phase.BURST:
        return f"more than {rate} served for minutes with credits left"
    return f"more than {rate} served for minutes under the same class and storage"


def _evidence(
    kind: str, text: str, value: float | None = None, reference: float | None = None
) -> Evidence:
    return Evidence(
        kind=kind,
        text=text,
        value=None if value is None else float(value),
        reference=None if reference is None else float(reference),
    )


PERMISSION = "export it, or allow cloudwatch:GetMetricData for the role that reads"


def metric_remedy(metric: Metric) -> str:
    """How to get a metric that is missing."""
    return f"{METRICS[metric].cloudwatch}: {PERMISSION}"
