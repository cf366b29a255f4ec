"""
Read class, storage and their changes from the facts of prometheus-rds-exporter. No network, no clock.

Its class limits come from DescribeInstanceTypes in decimal MB/s, but it multiplies them by 1,024²
(internal/app/ec2/ec2.go, internal/app/unit/converter.go), so they are converted back. Its storage limits
of gp2, io1 and io2 are its own arithmetic for one volume, not facts from RDS, and are not used.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from plimsoll.model.instance import EbsLimits, Instance, Storage, is_bought
from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.sources.prometheus.exporters import (
    AGE,
    ALLOCATED,
    ALLOCATED_OPS,
    ALLOCATED_THROUGHPUT,
    INFO,
    STATUS,
    Exporter,
)
from plimsoll.sources.prometheus.node import Counted, latest
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.times import LATEST_S
from plimsoll.units import GIB, MIB, mb_per_s

_CLASS = "rds_instance_"
_PROVISIONED_OPS = frozenset({"gp3", "io1", "io2"})
_PROVISIONED_THROUGHPUT = frozenset({"gp3"})

# Codes of rds_instance_status (README of prometheus-rds-exporter).
_EVENTS = {
    11.0: (EventKind.OPTIMISATION, "storage optimisation began"),
    2.0: (EventKind.BACKUP, "backup began"),
    -5.0: (EventKind.RESTART, "instance restarts"),
}
_OPTIMISED = "storage optimisation finished"


def last_info(series: Sequence[Counted]) -> Counted | None:
    """Return the last description of the instance; None if there is none."""
    found = [s for s in series if s.name == INFO and s.time_ms.size]
    return max(found, key=lambda s: int(s.time_ms[-1])) if found else None


def described(identifier: str, series: Sequence[Counted], of_class: Sequence[Counted]) -> Instance | None:
    """
    Return the instance by its last description.

    Args:
        identifier: its name.
        series: its facts.
        of_class: facts about classes and clusters, which name no instance.

    Returns:
        None if the exporter does not describe the instance.
    """
    info = last_info(series)
    if info is None:
        return None

    def label_text(label: str) -> str | None:
        return shown(info.labels.get(label, ""), 63) or None

    kind, engine = (label_text("storage_type") or "").lower() or None, label_text("engine")
    is_aurora = (engine or "").startswith("aurora") or (kind or "").startswith("aurora")
    allocated = _positive(latest(series, ALLOCATED))
    ops = _count(latest(series, ALLOCATED_OPS)) if kind in _PROVISIONED_OPS else None
    throughput = _positive(latest(series, ALLOCATED_THROUGHPUT))
    return Instance(
        identifier=shown(identifier, 63),
        db_class=label_text("instance_class"),
        engine=engine,
        engine_version=label_text("engine_version"),
        region=label_text("aws_region"),
        multi_az={"true": True, "false": False}.get(info.labels.get("multi_az", "")),
        storage=Storage(
            kind=kind,
            # RDS reports an allocated size of 1 GiB for every Aurora volume, which grows by itself.
            size_gib=None if is_aurora or allocated is None else allocated / GIB,
            provisioned_ops_per_s=ops,
            # RDS states MiB/s for volumes, so the factor 1,024² is correct here.
            provisioned_bytes_per_s=throughput if kind in _PROVISIONED_THROUGHPUT else None,
        ),
        launched_s=_launched(series),
        vcpu_count=_whole(latest(of_class, f"{_CLASS}vcpu_average")),
        memory_bytes=_whole(latest(of_class, f"{_CLASS}memory_bytes")),
        ebs_limits=_ebs_limits(label_text("instance_class"), of_class),
        capacity_acu_max=_count(latest(of_class, "rds_cluster_acu_max_average")),
    )


def _launched(series: Sequence[Counted]) -> int | None:
    ages = [s for s in series if s.name == AGE and s.time_ms.size]
    if not ages:
        return None
    last = max(ages, key=lambda s: int(s.time_ms[-1]))
    launched_s = int(last.time_ms[-1]) / 1000 - float(last.value[-1])
    return round(launched_s) if 0 < launched_s < LATEST_S else None


def _ebs_limits(db_class: str | None, of_class: Sequence[Counted]) -> EbsLimits | None:
    numbers = [
        known(latest(of_class, f"{_CLASS}{which}"))
        for which, known in (
            ("baseline_throughput_bytes", _positive),
            ("max_throughput_bytes", _positive),
            ("baseline_iops_average", _count),
            ("max_iops_average", _count),
        )
    ]
    if db_class is None or any(n is None for n in numbers):
        return None
    baseline, burst, baseline_ops, burst_ops = (n for n in numbers if n is not None)
    last_ms = max(int(s.time_ms[-1]) for s in of_class if s.time_ms.size)
    return EbsLimits(
        baseline_bytes_per_s=decimal(baseline),
        burst_bytes_per_s=decimal(burst),
        baseline_ops_per_s=baseline_ops,
        burst_ops_per_s=burst_ops,
        source=f"ec2:DescribeInstanceTypes of {db_class.removeprefix('db.')}, read by {Exporter.QONTO}",
        read_on=datetime.fromtimestamp(last_ms / 1000, UTC).date().isoformat(),
    )


def decimal(exported: float) -> float:
    """
    Return bytes/s of a class limit that was exported as MB × 1,024².

    EC2 states MB/s with at most three decimals. A number with so few decimals as MB, but not as MiB, comes
    from a release that no longer multiplies by 1,024².
    """
    as_mib, as_mb = exported / MIB * 1000, exported / 1e6 * 1000
    is_decimal = abs(as_mb - round(as_mb)) < 1e-6 < abs(as_mib - round(as_mib))
    return exported if is_decimal else float(mb_per_s(round(exported / MIB, 6)))


def changes(series: Sequence[Counted]) -> tuple[Annotation, ...]:
    """Return the instance's changes in the window that the exporter saw, in order of time."""
    infos = [s for s in series if s.name == INFO and s.time_ms.size]
    found = _events(series)
    for label, kind, what in (
        ("instance_class", EventKind.CLASS_CHANGE, "class"),
        ("storage_type", EventKind.STORAGE_CHANGE, "storage"),
    ):
        named = [(int(s.time_ms[0]), shown(s.labels.get(label, ""), 63)) for s in infos]
        found += [
            Annotation(time_s=at, text=f"{what} changed from {old} to {new}", kind=kind)
            for at, old, new in _turns(named)
        ]
    for name, text, unit in (
        (ALLOCATED, "storage changed from {:,.0f} to {:,.0f} GiB", GIB),
        (ALLOCATED_OPS, "provisioned IOPS changed from {:,.0f} to {:,.0f}", 1),
    ):
        found += [
            Annotation(time_s=at, text=text.format(old / unit, new / unit), kind=EventKind.STORAGE_CHANGE)
            for at, old, new in _turns(_values(series, name))
        ]
    return tuple(sorted(found, key=lambda a: (a.time_s, a.text)))


def _values(series: Sequence[Counted], name: str) -> list[tuple[int, float]]:
    return [
        (int(t), float(v))
        for s in series
        if s.name == name
        for t, v in zip(s.time_ms.tolist(), s.value.tolist(), strict=True)
        if v == v  # noqa: PLR0124  NaN alone differs from itself
    ]


def _turns(moments: list[tuple[int, Any]]) -> list[tuple[int, Any, Any]]:
    """Return each change of a value: epoch seconds, the old one and the new one."""
    return [(at // 1000, old, new) for (_, old), (at, new) in pairwise(sorted(moments)) if old != new]


def _events(series: Sequence[Counted]) -> list[Annotation]:
    found = []
    for at, old, new in _turns(_values(series, STATUS)):
        if old == 11.0:
            found.append(Annotation(time_s=at, text=_OPTIMISED, kind=EventKind.OPTIMISATION))
        if new in _EVENTS:
            kind, text = _EVENTS[new]
            found.append(Annotation(time_s=at, text=text, kind=kind))
    return found


def _positive(value: float | None) -> float | None:
    """Return a number that is above zero, and small enough for every kind of amount; None for another."""
    return value if value is not None and is_bought(value / MIB) else None


def _count(value: float | None) -> float | None:
    return value if value is not None and is_bought(value) else None


def _whole(value: float | None) -> int | None:
    known = _positive(value)
    return None if known is None else int(known)
