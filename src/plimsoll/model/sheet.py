"""
The limit sheet: the rates that an instance can reach at each I/O size, by its documented limits.

Rates are reads and writes together.
"""

from msgspec import Struct

from plimsoll.model.ceiling import Ceiling, Family, Origin
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric


class ChainRate(Struct, frozen=True, kw_only=True):
    """The rate of the chain at one I/O size, and the family that bounds it there."""

    bytes_per_s: float
    ops_per_s: float
    binding: Family


class SheetRow(Struct, frozen=True, kw_only=True):
    """One I/O size."""

    io_size_bytes: float
    baseline: ChainRate
    """The sustained rate."""
    burst: ChainRate
    """The rate while all credits last; equal to the baseline without credits."""


class Knee(Struct, frozen=True, kw_only=True):
    """The I/O size below which IOPS bind, and above which throughput does."""

    io_size_bytes: float
    bytes_per_s: float
    ops_per_s: float
    below: Family
    above: Family


class StageLine(Struct, frozen=True, kw_only=True):
    """The rate of one family alone, bytes/s at each size of the sheet's curve."""

    family: Family
    baseline_bytes_per_s: tuple[float, ...]
    burst_bytes_per_s: tuple[float, ...]


class BalanceNote(Struct, frozen=True, kw_only=True):
    """Whether a balance metric can move on this instance, and why."""

    metric: Metric
    can_move: bool | None
    """None where it is not documented."""
    reason: str
    """A sentence part with numbers and units."""


class UnusableStorage(Struct, frozen=True, kw_only=True):
    """Storage performance that was bought and that the instance cannot use."""

    family: Family
    unit: str
    bought: float
    """Sustained rate of the volumes, in `unit`."""
    burst: float
    """Burst of the instance, while its credits last."""
    baseline: float
    """Baseline of the instance."""


class LimitSheet(Struct, frozen=True, kw_only=True):
    """The result of `plimsoll limits`."""

    instance: Instance
    volume_count: int | None
    rows: tuple[SheetRow, ...]
    """For the sizes people ask for, 8 KiB to 1 MiB."""
    knee: Knee | None
    burst_knee: Knee | None
    """None where one dimension binds at every size, or the chain does not burst."""
    curve: tuple[SheetRow, ...]
    """The same, dense enough to draw."""
    stages: tuple[StageLine, ...]
    """The rates of each family alone at the sizes of `curve`."""
    ceilings: tuple[Ceiling, ...]
    """Every documented ceiling, legacy ones included."""
    balances: tuple[BalanceNote, ...]
    unreachable: tuple[UnusableStorage, ...]
    origins: tuple[Origin, ...]
    """Where the numbers come from, each once, in the order of the ceilings."""
    notes: tuple[str, ...]
    """Sentences about what is not known, or not sure."""
