"""
Recognise the exporter, the subject and the metric of a series, and choose one subject.

Source of names, labels and units: the exporters' own code and test files, read on 2026-11-20:
prometheus-rds-exporter 1aead48, yet-another-cloudwatch-exporter 1a0ddb1, cloudwatch_exporter
8b110cf, rds_exporter d78e641 and node_exporter a7dcc3a.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.model.metric import Metric
from plimsoll.sources.prometheus.node import DISK_DEVICES_LEFT_OUT, NODE_NAMES
from plimsoll.sources.reading.names import recognise
from plimsoll.sources.reading.reading import Statistic
from plimsoll.sources.values.shown import listed, shown


class Exporter(StrEnum):
    """Known exporters; the value is the program's name."""

    QONTO = "prometheus-rds-exporter"
    YACE = "yet-another-cloudwatch-exporter"
    CLOUDWATCH = "cloudwatch_exporter"
    PERCONA = "rds_exporter"
    PERCONA_OS = "rds_exporter (Enhanced Monitoring)"
    NODE = "node_exporter"


class Subject(Struct, frozen=True, kw_only=True):
    """The instance or host of a series."""

    identifier: str
    region: str | None = None
    account: str | None = None


class SeriesRow(Struct):
    """One series of a range answer."""

    metric: dict[str, str]
    values: list[tuple[float, str]] = []


class KnownSeries(Struct, frozen=True, kw_only=True):
    """A recognised series, without its samples."""

    exporter: Exporter
    subject: Subject
    label: str
    """The label that names the subject."""
    name: str
    labels: Mapping[str, str]
    written: str | None = None
    """Name of the metric in the rest of the program; None for a fact."""
    metric: Metric | None = None
    """None for a fact, and for a counter that is only a part of a metric."""
    statistic: Statistic = Statistic.AVERAGE


# Names of facts in Qonto's exporter, each with the label `dbidentifier`.
INFO = "rds_instance_info"
AGE = "rds_instance_age_seconds"
STATUS = "rds_instance_status"
ALLOCATED = "rds_allocated_storage_bytes"
ALLOCATED_OPS = "rds_allocated_disk_iops_average"
ALLOCATED_THROUGHPUT = "rds_allocated_disk_throughput_bytes"
QONTO_FACTS = frozenset({INFO, AGE, STATUS, ALLOCATED, ALLOCATED_OPS, ALLOCATED_THROUGHPUT})

# rds_exporter exports these three CloudWatch metrics under names of node_exporter.
PERCONA_NAMES = {
    "node_cpu_average": "CPUUtilization",
    "node_filesystem_free_bytes": "FreeStorageSpace",
    "node_memory_Cached_bytes": "FreeableMemory",
}
# The fields of Enhanced Monitoring that enhanced_monitoring.py reads.
PERCONA_OS_NAMES = (
    "timestamp",
    "General_numVCPUs",
    "cpuUtilization_total",
    "loadAverageMinute_one",
    "memory_total",
    "swap_(total|free)",
    "network_(rx|tx)",
    "fileSys_(total|used)",
    "diskIO_(readIOsPS|writeIOsPS|readKbPS|writeKbPS|await|avgQueueLen)",
    "diskIO_(readThroughput|writeThroughput|readLatency|writeLatency|diskQueueDepth)",
)
OS_PREFIX = "rdsosmetrics_"

FAMILIES = {
    Exporter.QONTO: "rds_.+",
    Exporter.YACE: "aws_rds_.+",
    Exporter.PERCONA: f"{OS_PREFIX}({'|'.join(PERCONA_OS_NAMES)})|{'|'.join(PERCONA_NAMES)}",
    Exporter.NODE: "|".join(NODE_NAMES),
}
"""Names to search for, as regular expressions; three exporters share the prefix `aws_rds_`."""

_PLAIN = re.compile(r"[^a-z0-9]+")
_NODE = re.compile("|".join(NODE_NAMES))
_RDS_LABELS = ("dimension_DBInstanceIdentifier", "dimension_dbinstance_identifier")
_TARGETS = ("exported_instance", "instance")
IDENTITY: Mapping[Exporter, tuple[str, ...]] = {
    Exporter.QONTO: ("dbidentifier",),
    Exporter.YACE: (*_RDS_LABELS, "dbinstance_identifier", *_TARGETS),
    Exporter.PERCONA: _TARGETS,
    Exporter.NODE: _TARGETS,
}
"""Labels that may name the subject, by exporter."""
IDENTITY_LABELS = frozenset(label for labels in IDENTITY.values() for label in labels)

# A series with another dimension is the total of a class, engine or cluster, or a single volume.
_OTHER_DIMENSIONS = frozenset(
    {"databaseclass", "enginename", "dbclusteridentifier", "role", "sourceregion", "volumename"}
)


def classify(listed: Sequence[Mapping[str, str]]) -> list[KnownSeries]:
    """
    Return the known series among those that a server listed.

    rds_exporter uses names of node_exporter, so a series that either could have written is taken as its own.
    """
    found = [track for labels in listed if (track := track_of(labels)) is not None]
    imitated = {t.subject.identifier for t in found if t.exporter in (Exporter.PERCONA, Exporter.PERCONA_OS)}
    os_jobs = {t.labels.get("job") for t in found if t.exporter is Exporter.PERCONA_OS}
    return [
        t
        for t in found
        if not (t.exporter is Exporter.NODE and t.subject.identifier in imitated)
        # Both pages of rds_exporter have this name: FreeableMemory on one, the page cache on the other.
        and not (t.name == "node_memory_Cached_bytes" and t.labels.get("job") in os_jobs)
    ]


def track_of(labels: Mapping[str, str]) -> KnownSeries | None:
    """Recognise a series by its name and labels; None for a series that is not read."""
    name = labels.get("__name__", "")
    if name.startswith(OS_PREFIX):
        return _track(Exporter.PERCONA_OS, _TARGETS, name, labels)
    if name.startswith("rds_"):
        written = None if name in QONTO_FACTS else name
        return _track(Exporter.QONTO, IDENTITY[Exporter.QONTO], name, labels, written=written)
    if name.startswith("aws_rds_"):
        return _of_cloudwatch(name, labels)
    if name in PERCONA_NAMES:
        # The page of Enhanced Monitoring has the same names, but with a mode or a mount point.
        if labels.get("mode") or labels.get("mountpoint") or not labels.get("region"):
            return None
        return _track(Exporter.PERCONA, _TARGETS, name, labels, written=PERCONA_NAMES[name])
    return _of_node(name, labels)


def _of_cloudwatch(name: str, labels: Mapping[str, str]) -> KnownSeries | None:
    plain = {_PLAIN.sub("", label.lower()): label for label, value in labels.items() if value}
    if any(d in plain or f"dimension{d}" in plain for d in _OTHER_DIMENSIONS):
        return None
    for exporter, key in (
        (Exporter.YACE, "dimensiondbinstanceidentifier"),
        (Exporter.CLOUDWATCH, "dbinstanceidentifier"),
    ):
        if key in plain:
            return _track(exporter, (plain[key],), name, labels, written=name)
    # rds_exporter sets `instance` and `region` itself, and exports averages only.
    if labels.get("region") and name.endswith("_average"):
        return _track(Exporter.PERCONA, _TARGETS, name, labels, written=name)
    return None


def _of_node(name: str, labels: Mapping[str, str]) -> KnownSeries | None:
    if not _NODE.fullmatch(name):
        return None
    if name.startswith("node_disk_") and DISK_DEVICES_LEFT_OUT.match(labels.get("device", "")):
        return None
    if name == "node_cpu_seconds_total" and labels.get("mode") not in ("idle", "iowait"):
        return None
    return _track(Exporter.NODE, _TARGETS, name, labels)


def _track(
    exporter: Exporter, candidates: Sequence[str], name: str, labels: Mapping[str, str], *, written: str | None = None
) -> KnownSeries | None:
    label = next((c for c in candidates if labels.get(c)), None)
    if label is None:
        return None
    metric, statistic = None, Statistic.AVERAGE
    if written is not None:
        bare = written.removesuffix("_sum")
        named = recognise(bare)
        metric = named.metric
        statistic = named.statistic or Statistic.AVERAGE
        if bare != written:
            written, statistic = bare, Statistic.SUM
        if metric is None:
            return None
    is_host = exporter is Exporter.NODE
    return KnownSeries(
        exporter=exporter,
        # Only some jobs of a host may have a label `region`, so it does not identify the host.
        subject=Subject(
            identifier=labels[label],
            region=None if is_host else labels.get("aws_region") or labels.get("region"),
            account=None if is_host else labels.get("aws_account_id") or labels.get("account_id"),
        ),
        label=label,
        name=name,
        labels=labels,
        written=written,
        metric=metric,
        statistic=statistic,
    )


# --- one subject ----------------------------------------------------------------------------------

_PLACES = ("aws_region", "region", "aws_account_id", "account_id")


def chosen(tracks: Sequence[KnownSeries], identifier: str | None) -> list[KnownSeries]:
    """
    Return the series of the single subject that is selected.

    Args:
        tracks: known series, at least one.
        identifier: name of the subject, compared without case; for a host with or without its port.

    Raises:
        UsageError: several subjects and none selected, or the selected one is missing.
    """
    by_name: dict[tuple[str, bool], list[KnownSeries]] = {}
    for track in tracks:
        key = (track.subject.identifier.lower(), track.exporter is Exporter.NODE)
        by_name.setdefault(key, []).append(track)
    meant = {
        key: found
        for key, found in by_name.items()
        if identifier is None or identifier.lower() in (key[0], key[0].rpartition(":")[0])
    }
    if not meant:
        raise UsageError(
            f"the server has no metrics of '{shown(identifier)}'", f"It has metrics of {_listing(by_name)}."
        )
    if len(meant) > 1:
        raise UsageError(
            f"the server has metrics of {len(meant):,} instances", f"Choose one with --match: {_listing(meant)}."
        )
    return _of_one_place(next(iter(meant.values())))


def subject_of(tracks: Sequence[KnownSeries]) -> Subject:
    """Return the name, region and account that the series of one subject state."""
    return Subject(
        identifier=tracks[0].subject.identifier,
        region=next((t.subject.region for t in tracks if t.subject.region), None),
        account=next((t.subject.account for t in tracks if t.subject.account), None),
    )


def _of_one_place(tracks: list[KnownSeries]) -> list[KnownSeries]:
    """
    Refuse series of one name from several regions or accounts.

    RDS names are unique only within a region of an account; series without either match any.
    """
    for what in ("region", "account"):
        places = {p for t in tracks if (p := getattr(t.subject, what)) is not None}
        if len(places) > 1:
            matches = {
                f"{label}={shown(t.labels[label], 63)}": None
                for t in tracks
                for label in _PLACES
                if t.labels.get(label) in places
            }
            raise UsageError(
                f"'{shown(tracks[0].subject.identifier, 63)}' is in {len(places)} {what}s",
                f"Choose one with --match: {listed([*matches])}.",
            )
    return tracks


def _listing(by_name: Mapping[tuple[str, bool], Sequence[KnownSeries]]) -> str:
    names = [f"{t[0].label}={shown(t[0].subject.identifier, 63)}" for t in by_name.values()]
    return listed(sorted(names))
