"""
Classes that hold their rates only in bursts, under a load that is steady.

The mean of what was served is a lower bound of the demand. A bucket is refilled at the baseline, so a mean
above the baseline cannot be held, however large the bucket is.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from plimsoll.lint.infrastructure.rule import RATED, Paid, RuleEntry, RuleInput, finding, paid_for, sourced
from plimsoll.model.cause import Remedy
from plimsoll.model.infrastructure import Attribute, DeclaredFinding, DeclaredState, LintRule
from plimsoll.model.instance import engine_family
from plimsoll.model.metric import Metric
from plimsoll.model.price import HOURS_PER_MONTH
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import format_bytes_per_s, format_duration, format_ops_per_s, format_ratio

STEADY_STORAGE = LintRule(
    code="SteadyLoadAboveBaseline",
    severity="warning",
    summary="The load of the past is above the baseline of the class: it holds only while credits last.",
)
STEADY_CPU = LintRule(
    code="SteadyCPUAboveBaseline",
    severity="warning",
    summary="The CPU use of the past is above what a burstable class earns credits for.",
)

# A judgement: EBS burst credits are granted for a day, so a shorter window says nothing of a steady load.
HISTORY_S_LEAST = 24 * 3600


class _Mean(Struct, frozen=True, kw_only=True):
    """The mean of a rate over the history."""

    value: float
    seconds: float
    """Time that samples cover."""


def covered_s(history: Snapshot) -> float:
    """Return the longest time that samples of storage rates or CPU cover, in seconds."""
    metrics = (Metric.READ_OPS_PER_S, Metric.READ_BYTES_PER_S, Metric.CPU_RATIO)
    means = [_mean(history.series.get(metric)) for metric in metrics]
    return max((mean.seconds for mean in means if mean is not None), default=0.0)


def _mean(series: Series | None) -> _Mean | None:
    if series is None:
        return None
    known = series.value[np.isfinite(series.value)]
    if not known.size:
        return None
    return _Mean(value=float(known.mean()), seconds=float(known.size) * series.step_s)


def _sum(history: Snapshot, reads: Metric, writes: Metric) -> _Mean | None:
    """Return the mean of reads and writes together; None where one of them is missing or too short."""
    one, other = _mean(history.series.get(reads)), _mean(history.series.get(writes))
    if one is None or other is None:
        return None
    seconds = min(one.seconds, other.seconds)
    if seconds < HISTORY_S_LEAST:
        return None
    return _Mean(value=one.value + other.value, seconds=seconds)


def _storage(subject: RuleInput) -> Iterator[DeclaredFinding]:
    history, limits = subject.history, subject.limits
    if history is None or limits is None:
        return
    ops = _sum(history, Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
    rate = _sum(history, Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S)
    for mean, baseline, most, shown in (
        (ops, limits.ebs_baseline_ops_per_s, limits.ebs_burst_ops_per_s, format_ops_per_s),
        (rate, limits.ebs_baseline_bytes_per_s, limits.ebs_burst_bytes_per_s, format_bytes_per_s),
    ):
        if mean is None or baseline is None or most is None:
            continue
        if baseline >= most or mean.value <= baseline:
            continue
        yield finding(
            STEADY_STORAGE,
            f"{shown(mean.value)} were served on average, and {limits.db_class} holds only {shown(baseline)}",
            text=f"The mean is of {format_duration(mean.seconds)} of {history.source}"
            f"{' (simulated)' if history.is_simulated else ''}. Credits come back at the baseline, so "
            "they run out, and then the class is throttled to it.",
            facts=(
                sourced(
                    f"{limits.db_class}: baseline {shown(baseline)}, maximum {shown(most)}",
                    limits.ebs_origin or limits.origin,
                ),
            ),
            excess=mean.value / baseline,
            remedies=(
                Remedy(
                    text="Choose a class whose baseline is above this load: `plimsoll plan TARGET` "
                    "replays it on every class and prices them."
                ),
            ),
        )


def _cpu(subject: RuleInput) -> Iterator[DeclaredFinding]:
    history, limits = subject.history, subject.limits
    if history is None or limits is None or limits.vcpu_count is None:
        return
    earning = subject.catalog.cpu_credits(limits.db_class)
    mean = _mean(history.series.get(Metric.CPU_RATIO))
    vcpu_count = _vcpu_count(subject)
    if earning is None or mean is None or vcpu_count is None or mean.seconds < HISTORY_S_LEAST:
        return
    busy = mean.value * vcpu_count
    earned = earning.baseline_ratio * limits.vcpu_count
    if busy <= earned:
        return
    missing = min(busy, float(limits.vcpu_count)) - earned
    paid = Paid()
    end = "then the class is throttled"
    if earning.is_unlimited:
        end = "RDS then bills the rest (unlimited mode)"
        paid = paid_for(subject, {_surplus_item(subject): missing * HOURS_PER_MONTH}, "for CPU credits at this load")
    yield finding(
        STEADY_CPU,
        f"{busy:.2f} vCPUs were busy on average, and {limits.db_class} earns credits for {earned:.2f}",
        text=f"The mean is of {format_duration(mean.seconds)} of {history.source}"
        f"{' (simulated)' if history.is_simulated else ''}. The credits run out, and {end}.",
        facts=(
            sourced(
                f"{limits.db_class}: {limits.vcpu_count} vCPUs, baseline {format_ratio(earning.baseline_ratio)}",
                earning.origin,
            ),
        ),
        paid=paid,
        excess=missing,
        remedies=(Remedy(text="Choose a class that is not burstable, for example of the family m or r."),),
    )


def _vcpu_count(subject: RuleInput) -> int | None:
    """Return the vCPUs that the history's CPU use is a ratio of; None where its class is not known."""
    past = subject.history.instance if subject.history else None
    if past is None or past.db_class is None or not subject.catalog.knows(past.db_class):
        return past.vcpu_count if past is not None else None
    return past.vcpu_count or subject.catalog.instance_limits(past.db_class).vcpu_count


def _surplus_item(subject: RuleInput) -> str:
    limits = subject.limits
    if engine_family(subject.instance.engine) == "sqlserver":
        return "cpu_surplus_credits_sqlserver"
    is_arm = limits is not None and limits.cpu_arch == "arm64"
    return "cpu_surplus_credits_arm" if is_arm else "cpu_surplus_credits"


def _needs(_state: DeclaredState) -> tuple[Attribute, ...]:
    return (Attribute.DB_CLASS,)


STEADY = (
    RuleEntry(rule=STEADY_STORAGE, kinds=RATED, needs=_needs, check=_storage, needs_history=True),
    RuleEntry(rule=STEADY_CPU, kinds=RATED, needs=_needs, check=_cpu, needs_history=True),
)
"""The rules of this file."""
