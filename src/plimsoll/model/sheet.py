"""
The limit sheet: the rates that an instance can reach at each I/O size, by its documented limits.

Rates are reads and writes together.
"""

from typing import Annotated

from msgspec import Struct

from plimsoll.model.ceiling import Ceiling, Family, Origin
from plimsoll.model.instance import Instance
from plimsoll.model.metric import BalanceMetric
from plimsoll.model.written import Count, OneOf, Positive

ChainFamily = Annotated[
    Family, OneOf(("instance_ebs_throughput", "instance_ebs_iops", "volume_throughput", "volume_iops"))
]
"""A limit in the chain that requests to storage pass."""


class ChainRate(Struct, frozen=True, kw_only=True):
    """The rate of the chain at one I/O size, and the family that bounds it there."""

    bytes_per_s: Positive
    """Throughput, reads and writes together, in bytes/s."""
    ops_per_s: Positive
    """IOPS, reads and writes together."""
    binding: ChainFamily
    """The limit that binds at this size."""


class SheetRow(Struct, frozen=True, kw_only=True):
    """One I/O size."""

    io_size_bytes: Positive
    """Size of each read or write, in bytes."""
    baseline: ChainRate
    """The rate that can be sustained for any time."""
    burst: ChainRate
    """The rate while all credits last; equal to the baseline without credits."""


class Knee(Struct, frozen=True, kw_only=True):
    """The I/O size below which IOPS bind, and above which throughput does."""

    io_size_bytes: Positive
    """The size, in bytes."""
    bytes_per_s: Positive
    """Throughput that binds above it, in bytes/s."""
    ops_per_s: Positive
    """IOPS that bind below it."""
    below: ChainFamily
    """The limit that binds below this size."""
    above: ChainFamily
    """The limit that binds above this size."""


class StageLine(Struct, frozen=True, kw_only=True):
    """The rate of one family alone, bytes/s at each size of the sheet's curve."""

    family: Family
    baseline_bytes_per_s: tuple[float, ...]
    burst_bytes_per_s: tuple[float, ...]


class BalanceNote(Struct, frozen=True, kw_only=True):
    """Whether a balance metric can move on this instance, and why."""

    metric: BalanceMetric
    """The metric: `EBSByteBalance%`, `EBSIOBalance%`, `BurstBalance` or `CPUCreditBalance`."""
    can_move: bool | None
    """Whether it can move; null where that is not documented."""
    reason: str
    """Why, with numbers and units."""


class UnusableStorage(Struct, frozen=True, kw_only=True):
    """Storage performance that was bought and that the instance cannot use."""

    family: Annotated[Family, OneOf(("volume_throughput", "volume_iops"))]
    """The limit of the volumes."""
    unit: Annotated[str, OneOf(("bytes/s", "ops/s"))]
    """Unit of the three numbers."""
    bought: Positive
    """The sustained rate of all volumes together."""
    burst: Positive
    """The burst of the instance while its credits last."""
    baseline: Positive
    """The baseline of the instance."""


class LimitSheet(Struct, frozen=True, kw_only=True):
    """The result of `plimsoll limits`."""

    instance: Instance
    """The described instance."""
    volume_count: Count | None
    """EBS volumes of all storage together, as given or by the striping rule; null where not known."""
    rows: tuple[SheetRow, ...]
    """I/O sizes from 8 KiB to 1 MiB; empty where no storage limit is documented, for example for Aurora."""
    knee: Knee | None
    """Knee of the baseline; null where `rows` is empty, or IOPS or throughput bind at every size."""
    burst_knee: Knee | None
    """Knee while all credits last; null where nothing bursts, or IOPS or throughput bind at every size."""
    curve: tuple[SheetRow, ...]
    """The same, dense enough to draw."""
    stages: tuple[StageLine, ...]
    """The rates of each family alone at the sizes of `curve`."""
    ceilings: tuple[Ceiling, ...]
    """Every documented number, legacy limits included."""
    balances: tuple[BalanceNote, ...]
    """Credit balances of this instance."""
    unreachable: tuple[UnusableStorage, ...]
    """Rates of the volumes beyond the instance's limits."""
    origins: tuple[Origin, ...]
    """Published sources of `ceilings`, each once."""
    notes: tuple[str, ...]
    """Unknown or uncertain facts, as sentences."""
