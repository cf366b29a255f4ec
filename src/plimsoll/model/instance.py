"""The database instance as it was bought. Every field may be unknown (None)."""

from enum import StrEnum

from msgspec import UNSET, UnsetType

from plimsoll.model.kept import MOST_BOUGHT, Amount, ByteRate, EpochTime, Kept, Name, Rate, Size

_FAMILIES = {
    "postgres": "postgres",
    "postgresql": "postgres",
    "mysql": "mysql",
    "mariadb": "mariadb",
    "oracle": "oracle",
    "custom-oracle": "oracle",
    "sqlserver": "sqlserver",
    "custom-sqlserver": "sqlserver",
    "db2": "db2",
    "aurora": "aurora",
}


def is_bought(number: float) -> bool:
    """Return whether GiB, IOPS or MiB/s can have been bought: above zero and finite; NaN is not."""
    return 0 < number <= MOST_BOUGHT


def engine_family(engine: str | None) -> str | None:
    """
    Return the engine whose storage rules apply: `oracle-se2` is `oracle`, `aurora-mysql` is `aurora`.

    Returns None for None and for a name we do not know.
    """
    name = (engine or "").strip().lower()
    if name in _FAMILIES:
        return _FAMILIES[name]
    for prefix in sorted(_FAMILIES, key=len, reverse=True):
        if name.startswith(prefix + "-"):
            return _FAMILIES[prefix]
    return None


class Storage(Kept, frozen=True, kw_only=True):
    """The storage that was bought with the instance."""

    kind: Name | None = None
    """`gp2`, `gp3`, `io1`, `io2`, `standard`, `aurora` or `aurora-iopt1`."""
    size_gib: Size | None = None
    """Allocated storage, in GiB."""
    provisioned_ops_per_s: Rate | None = None
    """Provisioned IOPS; null where none were bought."""
    provisioned_bytes_per_s: ByteRate | None = None
    """Provisioned throughput, in bytes/s; null where none was bought."""
    volume_count: Amount | None = None
    """Volumes seen under the instance; null leaves it to the documented striping rule."""
    additional: tuple["Storage", ...] = ()
    """Additional storage volumes of Oracle and SQL Server, each with its own limits."""

    @property
    def total_gib(self) -> float | None:
        """Return the allocated storage including additional volumes; None if a part is unknown."""
        sizes = [self.size_gib, *(more.size_gib for more in self.additional)]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None


class Deployment(StrEnum):
    """The number and roles of the instances; prices depend on it."""

    SINGLE_AZ = "single-az"
    MULTI_AZ = "multi-az"
    """An instance and a standby that serves no clients."""
    MULTI_AZ_CLUSTER = "multi-az-cluster"
    """A Multi-AZ DB cluster: a writer and two readable standbys, changed and paid together."""


class EbsLimits(Kept, frozen=True, kw_only=True):
    """The EBS limits of a class as the provider's API reported them; they can be newer than the catalog."""

    baseline_bytes_per_s: ByteRate
    """Baseline throughput, in bytes/s."""
    burst_bytes_per_s: ByteRate
    """Throughput while credits last, in bytes/s; equal to the baseline without a burst."""
    baseline_ops_per_s: Rate
    """Baseline IOPS."""
    burst_ops_per_s: Rate
    """IOPS while credits last; equal to the baseline without a burst."""
    source: str
    """The call that was made, such as `ec2:DescribeInstanceTypes of r5.2xlarge`."""
    read_on: str
    """ISO date of the answer."""


class Instance(Kept, frozen=True, kw_only=True):
    """A managed database instance, or a host that is treated as one."""

    identifier: Name = "unnamed"
    """Name of the instance, or of a host that is treated as one."""
    db_class: Name | None = None
    """Instance class, such as `db.r5.2xlarge`."""
    engine: Name | None = None
    """Engine as RDS names it."""
    engine_version: Name | None = None
    """Version of the engine."""
    license_model: Name | None = None
    """License as AWS writes it, such as `bring-your-own-license`; it sets prices apart."""
    region: Name | None = None
    """AWS region."""
    multi_az: bool | None = None
    """Whether it has a standby in another zone."""
    cluster: Name | UnsetType = UNSET
    """Identifier of the Multi-AZ DB cluster of which it is a member; null outside of one."""
    storage: Storage = Storage()
    """Its storage."""
    launched_s: EpochTime | None = None
    """When the instance was created."""
    connection_max: Amount | None = None
    """`max_connections` as read from the server."""
    vcpu_count: Amount | None = None
    """Virtual CPUs as read from a host or the provider."""
    memory_bytes: Amount | None = None
    """Memory as read from a host or the provider, in bytes."""
    ebs_limits: EbsLimits | None = None
    """EBS limits of the class as the provider's own API gave them; null leaves them to the catalog."""
    capacity_acu_max: Rate | None = None
    """Aurora Serverless: the most capacity it may take, in Aurora capacity units."""
    pending: tuple[str, ...] = ()
    """Changes that were ordered but are not in force, such as `class db.r5.4xlarge`."""
    tags: tuple[tuple[str, str], ...] | UnsetType = UNSET
    """Keys and values, by key; unset where the source does not say. A lake keeps them, a snapshot file
    does not: people share snapshots, and tags name teams and products."""

    @property
    def deployment(self) -> Deployment:
        """Return the deployment; if a standby is unknown, none is assumed."""
        if self.cluster is not UNSET:
            return Deployment.MULTI_AZ_CLUSTER
        return Deployment.MULTI_AZ if self.multi_az else Deployment.SINGLE_AZ
