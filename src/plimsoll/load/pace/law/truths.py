"""What the law is told: metrics that are late and true, counters that are quick and partial."""

from collections.abc import Mapping, Sequence
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
class ServerCounts:
    """What the server did within an interval, by its own counters; everybody's work together."""

    read_bytes: float
    """Of tables and indexes, from the device or the system's cache."""
    write_bytes: float
    """Of tables and indexes, by whoever wrote them."""
    extend_bytes: float
    """By which tables and indexes grew; the new pages are written later. Zero where it is part of `write_bytes`."""
    ops: float
    """Reads and writes, WAL included."""
    wal_bytes: float
    full_page_images: float
    cache_bytes: float = 134_217_728.0
    """Size of the server's cache; the default is that of PostgreSQL."""
    block_bytes: int = 8192

    @property
    def moved_bytes(self) -> float:
        """Return the bytes that the server has read and written, WAL included."""
        return self.read_bytes + self.write_bytes + self.wal_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerBatches:
    """Other batches that share the allowance, as they tell of themselves."""

    bytes_per_s: tuple[float, ...] = ()
    """The rate of each of our role, in its own bytes."""
    foreign_bytes_per_s: tuple[float, ...] = ()
    """Those of other roles."""
    part_count: int = 1
    """Into how many equal parts the allowance is divided; one is this batch's."""


def peers_told(told: Sequence[tuple[float, int, bool]]) -> PeerBatches:
    """
    Return the peers of a server: roles share the allowance, and the batches of a role its part.

    Whoever may log in can tell that he is a batch, and as many as he likes; he divides the part of his role alone.

    Args:
        told: of each, the rate, its role, and whether that is the role of this batch.
    """
    roles = {role for _, role, is_of_ours in told if not is_of_ours}
    of_ours = sum(is_of_ours for _, _, is_of_ours in told)
    return PeerBatches(
        bytes_per_s=tuple(rate for rate, _, is_of_ours in told if is_of_ours),
        foreign_bytes_per_s=tuple(rate for rate, _, is_of_ours in told if not is_of_ours),
        part_count=(1 + len(roles)) * (1 + of_ours),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FastTruth:
    """What is known at once of an interval that has just ended."""

    start_s: float
    end_s: float
    batch_bytes: float
    """Bytes of the batch that were sent and acknowledged in it."""
    server: ServerCounts | None = None
    """None if the server was not asked, or did not answer."""
    peers_bytes_per_s: tuple[float, ...] | None = ()
    """The rates of other batches of this role that share the allowance, in their own bytes, as they tell them. None if
    they are not known, because the server did not answer; none, if it was not asked."""
    foreign_bytes_per_s: tuple[float, ...] = ()
    """Those of other roles, which nobody vouches for: what they do is measured as that of others."""
    part_count: int | None = None
    """Into how many parts the allowance is divided, one of which is this batch's; None for one of each batch."""

    @property
    def all_bytes_per_s(self) -> float:
        """Return the rate of this batch and its peers together, in bytes of batches; the peers are known."""
        assert self.peers_bytes_per_s is not None
        return self.batch_bytes / (self.end_s - self.start_s) + sum(self.peers_bytes_per_s)
