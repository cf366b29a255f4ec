"""
The limits of an instance as JSON: the form `plimsoll.limits/1`, described in docs/reference/limits-json.md.

Rule: every field is always there; what is not known is null. The dense curve of the sheet is for drawing
and stays out.
"""

from typing import Literal

import msgspec
from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.sheet import LimitSheet
from plimsoll.reports.render.json_values import (
    Count,
    EbsLimitsObject,
    FormerPhase,
    Positive,
    Unit,
    json_text,
    same_fields,
)

BalanceMetric = Literal["byte_balance_ratio", "io_balance_ratio", "volume_balance_ratio", "cpu_credits"]
StorageFamily = Literal["instance_ebs_throughput", "instance_ebs_iops", "volume_throughput", "volume_iops"]


class LimitsStorageObject(Struct, frozen=True, kw_only=True):
    """Storage that was bought; null where it is not known."""

    kind: str | None
    """`gp2`, `gp3`, `io1`, `io2`, `standard`, `aurora` or `aurora-iopt1`."""
    size_gib: float | None
    """Allocated storage, in GiB."""
    provisioned_ops_per_s: float | None
    """Provisioned IOPS; null where none were bought."""
    provisioned_bytes_per_s: float | None
    """Provisioned throughput, in bytes/s; null where none was bought."""
    volume_count: int | None
    """Volumes as given with `--volumes`; null leaves the number to the documented striping rule."""
    additional: tuple["LimitsStorageObject", ...]
    """Additional storage volumes of Oracle and SQL Server, each with its own limits."""


class LimitsInstanceObject(Struct, frozen=True, kw_only=True):
    """The described instance. Most fields are null, because `plimsoll limits` reads no server."""

    identifier: str
    """Name of the instance; `unnamed` on the command line."""
    db_class: str | None
    """Instance class, for example `db.r5.2xlarge`."""
    engine: str | None
    """Engine as RDS names it."""
    engine_version: str | None
    """Version of the engine."""
    license_model: str | None
    """License as AWS writes it, for example `bring-your-own-license`."""
    region: str | None
    """AWS region."""
    multi_az: bool | None
    """Whether it has a standby in another zone."""
    cluster: str | None
    """Identifier of its Multi-AZ DB cluster; null outside of one."""
    storage: LimitsStorageObject
    """Its storage."""
    launched_s: int | None
    """When the instance was created, in epoch seconds; null lists every legacy limit."""
    connection_max: int | None
    """`max_connections` of the server; null leaves it to the default formula."""
    vcpu_count: int | None
    """Virtual CPUs as read from a host; null leaves them to the class."""
    memory_bytes: int | None
    """Memory as read from a host, in bytes; null leaves it to the class."""
    ebs_limits: EbsLimitsObject | None
    """EBS limits of the class as the provider's own API gave them; null leaves them to the catalog."""
    capacity_acu_max: float | None
    """Aurora Serverless: the largest capacity it may take, in Aurora capacity units."""
    pending: tuple[str, ...]
    """Changes that were ordered but are not in force."""


class RateObject(Struct, frozen=True, kw_only=True):
    """The most that all storage limits together allow at one I/O size."""

    bytes_per_s: Positive
    """Throughput, reads and writes together, in bytes/s."""
    ops_per_s: Positive
    """IOPS, reads and writes together."""
    binding: StorageFamily
    """The limit that binds at this size."""


class SizeObject(Struct, frozen=True, kw_only=True):
    """The rates of the instance at one I/O size."""

    io_size_bytes: Positive
    """Size of each read or write, in bytes."""
    baseline: RateObject
    """The rate that can be sustained for any time."""
    burst: RateObject
    """The rate while all credits last; equal to the baseline without credits."""


class KneeObject(Struct, frozen=True, kw_only=True):
    """The I/O size at which IOPS stop binding and throughput begins to."""

    io_size_bytes: Positive
    """The size, in bytes."""
    bytes_per_s: Positive
    """Throughput that binds above it, in bytes/s."""
    ops_per_s: Positive
    """IOPS that bind below it."""
    below: StorageFamily
    """The limit that binds below this size."""
    above: StorageFamily
    """The limit that binds above this size."""


class OriginObject(Struct, frozen=True, kw_only=True):
    """The source of a number."""

    source: str
    """Document or data set."""
    read_on: str
    """ISO date, to the day or month, on which the source was read or published; empty for a number
    of the instance itself."""
    valid_from: str | None
    """ISO date from which the number was documented; null where no other number is known before."""
    valid_to: str | None
    """ISO date until which the number was documented; null for what is documented now."""


class LimitsCeilingObject(Struct, frozen=True, kw_only=True):
    """One number of a limit for this instance."""

    family: Family
    """The limit."""
    phase: Phase
    """Which number of the limit it is; `legacy` was documented for this class in the past."""
    dimension: Dimension
    """Whether it bounds throughput, IOPS or an amount."""
    value: Positive
    """The number, in `unit`; reads and writes together."""
    unit: Unit
    """Unit of `value`."""
    origin: OriginObject
    """Where the number comes from."""
    former_phase: FormerPhase | None
    """For `legacy`: which number of the limit it was; null otherwise."""
    balance_metric: BalanceMetric | None
    """The metric that shows how many credits are left; null without credits."""
    capacity_low: Positive | None
    """Smallest capacity of the credit bucket that agrees with the documentation, in bytes, operations
    or CPU credits; null where none is documented."""
    capacity_high: Positive | None
    """Largest such capacity; equal to `capacity_low` where the capacity is published."""
    note: str
    """A remark about this number; may be empty."""


class BalanceObject(Struct, frozen=True, kw_only=True):
    """Whether a balance metric can move on this instance."""

    metric: BalanceMetric
    """The metric: `EBSByteBalance%`, `EBSIOBalance%`, `BurstBalance` or `CPUCreditBalance`."""
    can_move: bool | None
    """Whether it can move; null where that is not documented."""
    reason: str
    """Why, with numbers and units."""


class UnreachableObject(Struct, frozen=True, kw_only=True):
    """A rate of the volumes that is higher than the instance can sustain."""

    family: Literal["volume_throughput", "volume_iops"]
    """The limit of the volumes."""
    unit: Literal["bytes/s", "ops/s"]
    """Unit of the three numbers."""
    bought: Positive
    """The sustained rate of all volumes together."""
    burst: Positive
    """The burst of the instance while its credits last."""
    baseline: Positive
    """The baseline of the instance."""


class LimitsDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll limits of an instance.

    What `plimsoll limits --format json` writes. Every field is always present; null means not known
    or does not apply. Bytes, operations, seconds and ratios 0–1, unrounded.
    """

    schema: Literal["plimsoll.limits/1"] = "plimsoll.limits/1"
    """Name and version of this form."""
    instance: LimitsInstanceObject
    """The described instance."""
    volume_count: Count | None
    """EBS volumes of all storage together, as given or by the striping rule; null where not known."""
    rows: tuple[SizeObject, ...]
    """I/O sizes from 8 KiB to 1 MiB; empty where no storage limit is documented, for example for
    Aurora."""
    knee: KneeObject | None
    """Knee of the baseline; null where `rows` is empty, or IOPS or throughput bind at every size."""
    burst_knee: KneeObject | None
    """Knee while all credits last; null where nothing bursts, or IOPS or throughput bind at every
    size."""
    ceilings: tuple[LimitsCeilingObject, ...]
    """Every documented number, legacy limits included."""
    balances: tuple[BalanceObject, ...]
    """Credit balances of this instance."""
    unreachable: tuple[UnreachableObject, ...]
    """Rates of the volumes beyond the instance's limits."""
    origins: tuple[OriginObject, ...]
    """Published sources of `ceilings`, each once."""
    notes: tuple[str, ...]
    """Unknown or uncertain facts, as sentences."""


def render_limits_json(sheet: LimitSheet) -> str:
    """Return the limits of an instance as JSON."""
    return json_text(same_fields(LimitsDocument, sheet, instance=_instance(sheet.instance)))


def _instance(instance: Instance) -> LimitsInstanceObject:
    cluster = None if instance.cluster is msgspec.UNSET else instance.cluster
    return same_fields(LimitsInstanceObject, instance, cluster=cluster)
