"""What was bought, as a snapshot file has it."""

from msgspec import UNSET, UnsetType

from plimsoll.model.snapshot_file.record import Record


class StorageRecord(Record, frozen=True, kw_only=True):
    """The storage that was bought with the instance."""

    kind: str | None = None
    size_gib: float | None = None
    provisioned_ops_per_s: float | None = None
    provisioned_bytes_per_s: float | None = None
    volume_count: int | None = None
    additional: tuple["StorageRecord", ...] = ()


class EbsLimitsRecord(Record, frozen=True, kw_only=True):
    """The limits of a class from the provider's own API; they may be newer than the catalog."""

    baseline_bytes_per_s: float
    burst_bytes_per_s: float
    baseline_ops_per_s: float
    burst_ops_per_s: float
    source: str
    read_on: str


class InstanceRecord(Record, frozen=True, kw_only=True):
    """A managed database instance, or a host standing for one."""

    identifier: str = "unnamed"
    db_class: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    license_model: str | None = None
    region: str | None = None
    multi_az: bool | None = None
    cluster: str | UnsetType = UNSET
    storage: StorageRecord = StorageRecord()
    launched_s: int | None = None
    connection_max: int | None = None
    vcpu_count: int | None = None
    memory_bytes: int | None = None
    ebs_limits: EbsLimitsRecord | None = None
    capacity_acu_max: float | None = None
    pending: tuple[str, ...] = ()
