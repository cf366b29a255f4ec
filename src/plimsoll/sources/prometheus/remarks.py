"""Describe a reading: exporters and names that were found, and metrics that are missing."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from plimsoll.model.instance import Instance
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.snapshot import Gap
from plimsoll.sources.prometheus.exporters import Exporter
from plimsoll.sources.values.shown import counted, listed

PERCONA_LAG_S = 600
"""Age of the CloudWatch samples that rds_exporter requests (basic/scraper.go, Delay)."""

_STORAGE = (
    Metric.READ_BYTES_PER_S,
    Metric.WRITE_BYTES_PER_S,
    Metric.READ_OPS_PER_S,
    Metric.WRITE_OPS_PER_S,
    Metric.READ_LATENCY_S,
    Metric.WRITE_LATENCY_S,
    Metric.QUEUE_DEPTH,
)
_MACHINE = (
    Metric.CPU_RATIO,
    Metric.FREEABLE_MEMORY_BYTES,
    Metric.SWAP_BYTES,
    Metric.NETWORK_RECEIVE_BYTES_PER_S,
    Metric.NETWORK_TRANSMIT_BYTES_PER_S,
)
_BALANCES = (Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO)

# Metrics that these two never request from CloudWatch, whatever their settings.
_LACKS = {
    Exporter.QONTO: frozenset(
        {*_BALANCES, Metric.VOLUME_BALANCE_RATIO, Metric.QUEUE_DEPTH} | {Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S}
    ),
    Exporter.PERCONA: frozenset(_BALANCES),
}
_SETTINGS = {
    Exporter.QONTO: "Set its collect-instance-metrics to true, and check its log.",
    Exporter.YACE: ("Add their names with period: 60 and statistics: [Average] to its job of type AWS/RDS."),
    Exporter.CLOUDWATCH: (
        "Add their names as aws_metric_name with aws_namespace AWS/RDS, aws_dimensions "
        "[DBInstanceIdentifier] and aws_statistics [Average] to its configuration."
    ),
    Exporter.PERCONA: "Let Prometheus scrape its page /basic, and check its log.",
}
_COLLECTORS = {
    Metric.CPU_RATIO: "cpu",
    Metric.FREEABLE_MEMORY_BYTES: "meminfo",
    Metric.SWAP_BYTES: "meminfo",
    Metric.NETWORK_RECEIVE_BYTES_PER_S: "netdev",
    Metric.NETWORK_TRANSMIT_BYTES_PER_S: "netdev",
}
_LATE = {
    Exporter.QONTO: "1 to 3 min after what they show",
    Exporter.YACE: "later than what they show by its period, delay and scraping-interval",
    Exporter.CLOUDWATCH: "later than what they show by its delay_seconds (600 unless set)",
}


class Used(Struct, frozen=True, kw_only=True):
    """Data that was used from one exporter."""

    exporter: Exporter
    names: tuple[str, ...]
    """Metric names on the server."""
    has_described: bool = False
    """Whether it describes class and storage."""
    scraped_every_s: int | None = None
    """None if it sets the timestamps of its samples."""
    fetched_every_s: int | None = None
    """Interval of its fetches, if it repeats values between them."""
    passed_over: tuple[Metric, ...] = ()
    """Metrics that it also has, but that were taken from another exporter."""
    preferred: tuple[Exporter, ...] = ()
    """Exporters that were used for those."""
    devices: tuple[str, ...] = ()
    """Disks of a host whose counters were used."""
    disk_count: int = 0
    """Number of disks of the host."""


def source_of(url: str, used: Sequence[Used]) -> str:
    """Name the source of the samples: server and exporters."""
    names = [u.exporter.value for u in used if u.names or u.has_described or len(used) == 1]
    return f"Prometheus server {url}, {' and '.join(names)}"


def note_of(used: Sequence[Used]) -> str:
    """Describe exporters, names, delays and metrics that were not used."""
    found: list[str] = []
    for one in used:
        name = one.exporter.value
        if one.names:
            found.append(f"From {name}: {_names(one.names)}.")
        if one.names and one.exporter is Exporter.PERCONA:
            found.append(f"Its times were moved back {PERCONA_LAG_S // 60} min, its delay.")
        elif one.names and one.scraped_every_s is not None and one.exporter in _LATE:
            found.append(f"Their times are those of scrapes every {one.scraped_every_s} s, {_LATE[one.exporter]}.")
        if one.names and one.fetched_every_s is not None:
            found.append(f"It fetches every {one.fetched_every_s} s; repeated values are counted once.")
        if one.devices:
            found.append(f"Disks used: {', '.join(one.devices)}, of {counted(one.disk_count, 'disk')}.")
        if one.passed_over:
            others = " and ".join(p.value for p in one.preferred)
            names = listed([METRICS[m].cloudwatch or m.value for m in one.passed_over], 3)
            found.append(f"{name} also has {names}, but {others} is used for them.")
        if one.has_described:
            found.append(f"Class and storage are from {name}.")
    return " ".join(found)


def _names(names: Iterable[str]) -> str:
    """Shorten names with common parts: `rds_{read_iops, write_iops}_average, rds_swap_usage_bytes`."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in sorted(set(names)):
        start = next(p for p in _PREFIXES if name.startswith(p))
        end = next(s for s in _SUFFIXES if name.endswith(s))
        groups.setdefault((start, end), []).append(name)
    return ", ".join(
        members[0]
        if len(members) == 1
        else f"{start}{{{', '.join(m[len(start) : len(m) - len(end)] for m in members)}}}{end}"
        for (start, end), members in groups.items()
    )


_PREFIXES = ("aws_rds_", "rds_", "rdsosmetrics_diskIO_", "rdsosmetrics_", "node_disk_", "node_", "")
_SUFFIXES = ("_average", "_bytes", "_seconds_total", "_total", "")


def _metrics(metrics: Iterable[Metric]) -> str:
    return ", ".join(METRICS[m].cloudwatch or m.value for m in metrics)


def missing_on_server(found: Iterable[Metric], instance: Instance, exporters: Sequence[Exporter]) -> list[Gap]:
    """
    Return gaps for metrics that a diagnosis needs and the server lacks, with the setting that adds them.

    Args:
        found: metrics with samples, usable or not.
        instance: its facts; some metrics exist only for some storage.
        exporters: those that were found, the most used one first.
    """
    have = set(found)
    if exporters[0] is Exporter.NODE:
        wanted = [m for m in (*_STORAGE, *_MACHINE) if m not in have]
        return _grouped({m: _of_host(m) for m in wanted})
    wanted = [m for m in _wanted(instance) if m not in have]
    return _grouped({m: _of_rds(m, exporters) for m in wanted})


def _wanted(instance: Instance) -> list[Metric]:
    is_aurora = (instance.engine or "").startswith("aurora")
    wanted = [*_STORAGE, *_MACHINE, Metric.CONNECTION_COUNT]
    if not is_aurora:
        wanted += [*_BALANCES, Metric.FREE_STORAGE_BYTES]
        if instance.storage.kind in (None, "gp2"):
            wanted.append(Metric.VOLUME_BALANCE_RATIO)
    return wanted


def _of_host(metric: Metric) -> tuple[str, str]:
    collector = _COLLECTORS.get(metric, "diskstats")
    return "not exported by node_exporter", f"Start it with --collector.{collector}."


def _of_rds(metric: Metric, exporters: Sequence[Exporter]) -> tuple[str, str]:
    known = [Exporter.PERCONA if e is Exporter.PERCONA_OS else e for e in exporters]
    able = [e for e in known if metric not in _LACKS.get(e, ())]
    if able:
        return f"not exported by {able[0]}", _SETTINGS[able[0]]
    return (
        f"not exported by {known[0]}, which has no setting for it",
        f"Also export it with {Exporter.YACE}, or diagnose rds:NAME.",
    )


def _grouped(wanted: Mapping[Metric, tuple[str, str]]) -> list[Gap]:
    """Return one gap for all metrics that need the same setting."""
    groups: dict[tuple[str, str], list[Metric]] = {}
    for metric, words in wanted.items():
        groups.setdefault(words, []).append(metric)
    gaps = []
    for (reason, setting), metrics in groups.items():
        has_balance = not {*metrics}.isdisjoint({*_BALANCES, Metric.VOLUME_BALANCE_RATIO})
        exempt = " Classes and volumes that cannot burst have no balance." if has_balance else ""
        name = metrics[0].value if len(metrics) == 1 else _metrics(metrics)
        gaps.append(Gap(metric=name, reason=reason, remedy=setting + exempt))
    return gaps
