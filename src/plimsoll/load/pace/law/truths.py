"""What the law is told: metrics that are late and true, counters that are quick and partial."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from plimsoll.load.pace.law.forecast import DeviceRate


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The credits of one stage at a moment."""

    time_s: float
    """Epoch seconds; the middle of the sample, which is a mean."""
    ratio: float
    """0–1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTruth:
    """Metrics of the storage: all users together, complete samples only."""

    rates: tuple[DeviceRate, ...]
    """In order of time; NaN in a rate that was not measured."""
    balances: Mapping[str, Balance] = field(default_factory=dict)
    """The newest credits, by name of the stage."""

    @property
    def end_s(self) -> float | None:
        """Return the end of the newest sample, epoch seconds; None without samples."""
        return self.rates[-1].end_s if self.rates else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRate:
    """What another batch says that it takes at the device."""

    bytes_per_s: float
    ops_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCounts:
    """What the server did within an interval, by its own counters; everybody's work together."""

    bytes: float
    """Read, written and extended, with WAL."""
    ops: float
    wal_bytes: float
    full_page_images: float
    block_bytes: int = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class FastTruth:
    """What is known at once of an interval that has just ended."""

    start_s: float
    end_s: float
    batch_bytes: float
    """Bytes of the batch that were sent and acknowledged in it."""
    server: ServerCounts | None = None
    """None if the server was not asked, or did not answer."""
    peers: tuple[PeerRate, ...] = ()
    """Other batches that share the allowance."""
