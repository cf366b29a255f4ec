"""What was bought, as a snapshot file has it."""

from msgspec import UNSET, UnsetType

from plimsoll.model.snapshot_file.record import ByteRate, Count, EpochTime, Name, Rate, Record, Size


class StorageRecord(Record, frozen=True, kw_only=True):
    """The storage that was bought with the instance."""

    kind: Name | None = None
    size_gib: Size | None = None
    provisioned_ops_per_s: Rate | None = None
    provisioned_bytes_per_s: ByteRate | None = None
    volume_count: Count | None = None
    additional: tuple["StorageRecord", ...] = ()


class EbsLimitsRecord(Record, frozen=True, kw_only=True):
    """The limits of a class from the provider's own API; they may be newer than the catalog."""

    baseline_bytes_per_s: ByteRate
    burst_bytes_per_s: ByteRate
    baseline_ops_per_s: Rate
    burst_ops_per_s: Rate
    source: str
    read_on: str


class InstanceRecord(Record, frozen=True, kw_only=True):
    """A managed database instance, or a host standing for one."""

    identifier: Name = "unnamed"
    db_class: Name | None = None
    engine: Name | None = None
    engine_version: Name | None = None
    license_model: Name | None = None
    region: Name | None = None
    multi_az: bool | None = None
    cluster: Name | UnsetType = UNSET
    storage: StorageRecord = StorageRecord()
    launched_s: EpochTime | None = None
    connection_max: Count | None = None
    vcpu_count: Count | None = None
    memory_bytes: Count | None = None
    ebs_limits: EbsLimitsRecord | None = None
    capacity_acu_max: Rate | None = None
    pending: tuple[str, ...] = ()
