"""The database instance: what was bought. Every field may be unknown (None)."""

from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType

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


class Storage(Struct, frozen=True, kw_only=True):
    """The storage that was bought with the instance."""

    kind: str | None = None
    """`gp2`, `gp3`, `io1`, `io2`, `standard`, `aurora`, `aurora-iopt1`."""
    size_gib: float | None = None
    """Allocated storage in GiB."""
    provisioned_ops_per_s: float | None = None
    """Provisioned IOPS; None where none were bought."""
    provisioned_bytes_per_s: float | None = None
    """Provisioned throughput; the RDS API says MiB/s, we keep bytes/s."""
    volume_count: int | None = None
    """Volumes seen under the instance; None leaves it to the documented striping rule."""
    additional: tuple["Storage", ...] = ()
    """Oracle and SQL Server: storage that was bought beside this one, each with its own limits."""

    @property
    def total_gib(self) -> float | None:
        """Allocated storage with all that is additional; None where any part of it is not known."""
        sizes = [self.size_gib, *(more.size_gib for more in self.additional)]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None


class Deployment(StrEnum):
    """How many instances hold the data; it sets prices apart."""

    SINGLE_AZ = "single-az"
    MULTI_AZ = "multi-az"
    """An instance and a standby that serves nobody."""
    MULTI_AZ_CLUSTER = "multi-az-cluster"
    """A Multi-AZ DB cluster: a writer and two readable standbys, changed and paid together."""


class EbsLimits(Struct, frozen=True, kw_only=True):
    """What the provider's own API said of a class when it was asked; it may know better than we."""

    baseline_bytes_per_s: float
    burst_bytes_per_s: float
    baseline_ops_per_s: float
    burst_ops_per_s: float
    source: str
    """`ec2:DescribeInstanceTypes of r5.2xlarge`"""
    read_on: str
    """ISO date of the answer."""


class Instance(Struct, frozen=True, kw_only=True):
    """A managed database instance, or a host standing for one."""

    identifier: str = "unnamed"
    """DBInstanceIdentifier, or the host's name."""
    db_class: str | None = None
    """`db.r5.2xlarge`; None for a host that is not RDS."""
    engine: str | None = None
    """Engine as RDS names it: `postgres`, `oracle-se2`, `aurora-postgresql`."""
    engine_version: str | None = None
    license_model: str | None = None
    """As AWS writes it: `license-included`, `bring-your-own-license`, `postgresql-license` …"""
    region: str | None = None
    multi_az: bool | None = None
    cluster: str | UnsetType = UNSET
    """DBClusterIdentifier of the Multi-AZ DB cluster it is a member of; unset outside of one, so that
    snapshots written before there was such a field are the same bytes."""
    storage: Storage = Storage()
    launched_s: int | None = None
    """Epoch seconds of InstanceCreateTime; decides whether legacy limits are possible."""
    connection_max: int | None = None
    """max_connections as read from the server; None leaves it to the default formula."""
    vcpu_count: int | None = None
    """Read from a host or the provider; None leaves it to the class."""
    memory_bytes: int | None = None
    """Read from a host or the provider; None leaves it to the class."""
    ebs_limits: EbsLimits | None = None
    """As the provider's API gave them; None leaves them to the catalog."""
    capacity_acu_max: float | None = None
    """Aurora Serverless: the most capacity it may take, in Aurora capacity units."""
    pending: tuple[str, ...] = ()
    """Changes that were ordered but are not in force: `class db.r5.4xlarge`."""

    @property
    def deployment(self) -> Deployment:
        """Return how it is deployed; an unknown standby is taken for none."""
        if self.cluster is not UNSET:
            return Deployment.MULTI_AZ_CLUSTER
        return Deployment.MULTI_AZ if self.multi_az else Deployment.SINGLE_AZ
