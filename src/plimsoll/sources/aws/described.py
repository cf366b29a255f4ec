"""
Read DescribeDBInstances: which instances exist, their class and storage, and their monitoring.

Source: Amazon RDS API Reference, DBInstance and DBCluster (read 2026-11).
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec import Struct

from plimsoll.errors import DataError, NothingMatches, PlimsollError, UsageError
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Annotation, EventKind, Gap
from plimsoll.sources.aws.account import CONCURRENCY, Account, Refused
from plimsoll.sources.aws.operations import DESCRIBE_CLUSTERS, DESCRIBE_INSTANCES
from plimsoll.sources.aws.workers import Workers
from plimsoll.sources.documents.describe_instances import instance_of
from plimsoll.sources.values.numbers import floats
from plimsoll.sources.values.shown import counted, listed, shown

RECORDS_A_PAGE = 100
"""Largest MaxRecords of DescribeDBInstances and DescribeDBClusters (RDS API Reference)."""
SERVERLESS = "db.serverless"
NOT_FOUND = frozenset({"DBInstanceNotFound", "DBInstanceNotFoundFault"})

# DescribeDBInstances also lists Neptune and DocumentDB, but CloudWatch has their metrics in namespaces of
# their own, AWS/Neptune and AWS/DocDB (CloudWatch user guide, "AWS services that publish metrics").
_NOT_RDS = frozenset({"neptune", "docdb"})

_ARN = re.compile(r"arn:aws[a-z-]*:rds:([a-z0-9-]+):\d*:([a-z-]+):([A-Za-z0-9-]+)\Z")
# A judgement: a few likely names help more than a long list.
_CLOSE_NAMES_MAX = 3
# Smallest MaxRecords of DescribeDBInstances (RDS API Reference).
_FEWEST_A_PAGE = 20


class Described(Struct, frozen=True, kw_only=True):
    """One instance as RDS describes it."""

    instance: Instance
    resource_id: str | None
    """DbiResourceId, the identifier in Enhanced Monitoring and Performance Insights."""
    status: str
    """`available`, `stopped` …"""
    cluster: str | None
    monitoring_interval_s: int
    """Interval of Enhanced Monitoring; 0 if it is off."""
    has_insights: bool
    insights_kept_s: int
    """How long Performance Insights keeps its samples."""
    gaps: tuple[Gap, ...]
    """Parts of the instance that the metrics do not cover."""
    operation: Annotation | None
    """A storage operation in progress; its time is the launch, or 0."""

    @property
    def is_serverless(self) -> bool:
        """Whether its cluster states the largest capacity."""
        return self.instance.db_class == SERVERLESS and self.cluster is not None

    @property
    def is_rds(self) -> bool:
        """Whether its metrics are in the namespace of RDS."""
        return self.instance.engine not in _NOT_RDS


def region_of(identifier: str) -> tuple[str | None, str]:
    """
    Return the region and the name in an ARN, or None and the name.

    Raises:
        UsageError: an ARN of something else than an instance.
    """
    if not identifier.startswith("arn:"):
        return None, identifier
    match = _ARN.match(identifier)
    if match is None or match.group(2) != "db":
        raise UsageError(
            f"'{shown(identifier, 120)}' is not the ARN of an RDS instance",
            "Write it as arn:aws:rds:REGION:ACCOUNT:db:NAME, or give only the name.",
        )
    return match.group(1), match.group(3)


def describe_one(account: Account, name: str) -> Described:
    """
    Describe the instance of a name.

    Raises:
        UsageError: the region has no instance of that name.
        SourceError: RDS refused or did not answer.
    """
    try:
        answer = account.call(
            DESCRIBE_INSTANCES,
            judged=NOT_FOUND | {"InvalidParameterValue", "ValidationError"},
            DBInstanceIdentifier=name,
        )
        found = answer["DBInstances"]
    except Refused:
        found = []
    for raw in found:
        described = _described(raw, account.region)
        if described.instance.identifier.lower() == name.lower():
            return described
    raise _unknown(account, name)


def describe_all(account: Account, pattern: str) -> list[Described]:
    """
    Describe every instance whose name matches a pattern, in order of names.

    Args:
        pattern: shell pattern: `*`, `orders-*`; upper and lower case are equal.

    Raises:
        NothingMatches: no name matches.
        SourceError: RDS refused or did not answer.
    """
    every = _list(account)
    if not every:
        raise _empty(account)
    fitting = [d for d in every if fnmatchcase(d.instance.identifier.lower(), pattern.strip().lower())]
    if not fitting:
        raise NothingMatches(
            f"none of the {counted(len(every), 'instance')} in {account.region} matches '{shown(pattern)}'",
            f"Check --region and the pattern.{_listing(d.instance.identifier for d in every)}",
        )
    return sorted(fitting, key=lambda d: d.instance.identifier)


def capacities(account: Account, clusters: Sequence[str]) -> dict[str, float]:
    """
    Return the largest capacity, in Aurora capacity units, of each cluster that has one.

    Raises:
        SourceError: RDS refused or did not answer.
    """
    found: dict[str, float] = {}
    for at in range(0, len(clusters), RECORDS_A_PAGE):
        for page in account.pages(
            DESCRIBE_CLUSTERS,
            Filters=[{"Name": "db-cluster-id", "Values": list(clusters[at : at + RECORDS_A_PAGE])}],
            MaxRecords=RECORDS_A_PAGE,
        ):
            for cluster in page["DBClusters"]:
                scaling = cluster.get("ServerlessV2ScalingConfiguration") or {}
                (most,) = floats([scaling.get("MaxCapacity")]).tolist()
                if most > 0:
                    found[str(cluster.get("DBClusterIdentifier"))] = most
    return found


def with_capacity(described: Described, capacity_acu_max: float) -> Described:
    """Return the instance with the largest capacity that its cluster allows."""
    instance = msgspec.structs.replace(described.instance, capacity_acu_max=capacity_acu_max)
    return msgspec.structs.replace(described, instance=instance)


def _list(account: Account) -> list[Described]:
    """Return every instance that can be read; skip those that cannot."""
    found: dict[str, Described] = {}
    for page in account.pages(DESCRIBE_INSTANCES, MaxRecords=RECORDS_A_PAGE):
        for raw in page["DBInstances"]:
            try:
                described = _described(raw, account.region)
            except DataError:
                continue
            found[described.instance.identifier] = described
    return list(found.values())


def _unknown(account: Account, name: str) -> UsageError:
    try:
        names = [d.instance.identifier for d in _list(account)]
    except PlimsollError:
        names = []
    else:
        if not names:
            return _empty(account)
    close = difflib.get_close_matches(name.lower(), names, _CLOSE_NAMES_MAX)
    meant = f" Similar names: {', '.join(close)}." if close else _listing(names)
    return UsageError(
        f"no instance '{shown(name, 63)}' in {account.region}",
        f"Check the name, and give --region if it is in another region.{meant}",
    )


def _empty(account: Account) -> NothingMatches:
    """Return the error for a region without instances; its hint names regions that have some."""
    found = _regions_with_instances(account)
    if found:
        hint = f"Give --region; these regions have instances: {', '.join(found)}."
    else:
        hint = "This role sees none in any other region; check --profile and --region."
    return NothingMatches(f"there is no instance in {account.region}", hint)


def _regions_with_instances(account: Account) -> list[str]:
    """Return the other regions that have instances and answer; send one request to each."""

    def has_any(region: str) -> bool:
        try:
            page = account.in_region(region).call(DESCRIBE_INSTANCES, MaxRecords=_FEWEST_A_PAGE)
        except PlimsollError:
            return False
        return bool(page["DBInstances"])

    with Workers(CONCURRENCY) as workers:
        asked = [(region, workers.submit(has_any, region)) for region in account.regions()]
        return [region for region, future in asked if future.result()]


def _listing(names: Iterable[str]) -> str:
    found = listed(sorted(names))
    return f" Instances there: {found}." if found else ""


def _described(raw: dict[str, Any], region: str) -> Described:
    instance = instance_of(raw)
    if instance.region is None:
        instance = msgspec.structs.replace(instance, region=region)
    kept_days = _count(raw.get("PerformanceInsightsRetentionPeriod")) or 7
    return Described(
        instance=instance,
        resource_id=_text(raw.get("DbiResourceId")),
        status=shown(raw.get("DBInstanceStatus") or "unknown", 40),
        cluster=_text(raw.get("DBClusterIdentifier")),
        monitoring_interval_s=_count(raw.get("MonitoringInterval")),
        has_insights=raw.get("PerformanceInsightsEnabled") is True,
        insights_kept_s=kept_days * 86_400,
        gaps=_gaps(raw),
        operation=_operation(raw, instance.launched_s),
    )


def _gaps(raw: dict[str, Any]) -> tuple[Gap, ...]:
    gaps = []
    volumes = raw.get("AdditionalStorageVolumes")
    if isinstance(volumes, list) and volumes:
        gaps.append(
            Gap(
                metric="additional storage volumes",
                reason=(
                    f"the instance has {counted(len(volumes), 'additional storage volume')}; "
                    "each volume has its own limits, and only those of the first one are checked"
                ),
                remedy="Look at the metrics with the dimension VolumeName.",
            )
        )
    if raw.get("DedicatedLogVolume") is True:
        gaps.append(
            Gap(
                metric="dedicated log volume",
                reason=(
                    "the log has a volume of its own; its reads and writes also count against the "
                    "instance's limits, but are not in these metrics"
                ),
                remedy="Look at ReadIOPSLogVolume, WriteThroughputLogVolume and the like.",
            )
        )
    return tuple(gaps)


_OPERATIONS = {
    "initializing": (EventKind.RESTORE, "volumes are being loaded from a snapshot"),
    "optimizing": (EventKind.OPTIMISATION, "storage is being optimised"),
}


def _operation(raw: dict[str, Any], launched_s: int | None) -> Annotation | None:
    """
    Return the storage operation in progress, if any.

    A restore begins with the instance, so its time is the launch.
    """
    name = str(raw.get("StorageOperationStatus") or "").lower()
    percent = raw.get("StorageOperationPercentProgress")
    if not name and str(raw.get("DBInstanceStatus")) == "storage-optimization":
        name, percent = "optimizing", raw.get("PercentProgress")
    if name not in _OPERATIONS:
        return None
    kind, text = _OPERATIONS[name]
    done = f", {shown(percent, 4)} % done" if percent not in (None, "") else ""
    since = launched_s if kind is EventKind.RESTORE and launched_s is not None else 0
    return Annotation(time_s=since, text=f"{text}{done}", kind=kind)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
