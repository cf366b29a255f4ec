"""An experiment with failovers: what was done to the cluster, how long no write was taken, and what was lost."""

from collections.abc import Sequence
from enum import StrEnum
from math import ceil

from msgspec import Struct


class Fault(StrEnum):
    """What is done to the node that takes writes."""

    KILL = "kill"
    """All processes of the node end at once, as when a machine loses its power."""
    PARTITION = "partition"
    """The node no longer reaches etcd; clients and standbys still reach the node."""
    SWITCHOVER = "switchover"
    """An operator lets it hand over."""


class Synchronous(StrEnum):
    """When a write is acknowledged."""

    STRICT = "strict"
    """Only when a standby has it, too; without a standby no write is taken."""
    ASYNCHRONOUS = "asynchronous"
    """When the server that takes writes has it."""


class WriteCounts(Struct, frozen=True, kw_only=True):
    """Attempts to write one integer each, by the answer that the client got."""

    acknowledged: int
    """The server said that it is committed."""
    refused: int
    """An error came before anything was committed, or there was no connection."""
    unknown: int
    """The connection was lost before the answer."""


class PoolerView(Struct, frozen=True, kw_only=True):
    """What the pooler did in one round, seen by a client that connects again and again."""

    changes: tuple[str, ...]
    """Nodes whose state changed, with the time since the fault."""
    states: dict[str, str]
    """Status and role of each node at the end of the round; empty without an answer."""
    primary_found_s: float | None
    """From the fault until it sent writes to the new node; null if it never did."""
    refused_s: float
    """Time in which it refused new connections."""
    hung_s: float
    """Time in which new connections waited for more than a second."""


class ServicesView(Struct, frozen=True, kw_only=True):
    """Business transactions of the services."""

    arrivals: int
    """That clients wanted."""
    done: int
    """While their client waited."""
    failed: dict[str, int]
    """Given up, by reason."""
    retries: int
    """Attempts after a failure."""
    gap_s: float
    """The longest time in which none was done; the services report once a second."""


class FailoverRound(Struct, frozen=True, kw_only=True):
    """One fault, and what followed."""

    fault: Fault
    """What was done to the node that took writes."""
    from_node: str
    """Which took writes before."""
    to_node: str | None
    """Which took writes at the end; null if none did."""
    no_write_s: float
    """The longest time between two acknowledged writes."""
    healed_s: float | None
    """From the end of the fault until all standbys follow and the pooler uses all nodes; null if it did not heal."""
    problem: str | None
    """Why the cluster did not heal; null if it did."""
    writes: WriteCounts
    """Attempts of the round."""
    pooler: PoolerView
    """What the pooler did."""
    services: ServicesView | None
    """What the services did; null if none ran."""
    errors: dict[str, int]
    """What the clients saw, by message."""


class FailoverReport(Struct, frozen=True, kw_only=True):
    """All rounds, and the final count."""

    synchronous: Synchronous
    rounds: tuple[FailoverRound, ...]
    round_count: int
    """Of the whole plan; the first round in which the cluster does not heal is the last one."""
    writers: int
    writes: WriteCounts
    lost: int
    """Acknowledged writes that are not there at the end."""
    unknown_there: int
    """Writes with an unknown outcome that are there at the end."""
    refused_there: int
    """Writes that were refused and are there nevertheless; anything but 0 is a fault of the count."""
    services: ServicesView | None
    """In all rounds together; None if no services ran."""
    fleet: str
    """The services in words; empty if none ran."""
    machine: str
    servers: str
    notes: tuple[str, ...]

    @property
    def is_kept(self) -> bool:
        """Return whether every acknowledged write is there."""
        return self.lost == 0 and self.refused_there == 0

    @property
    def healed_count(self) -> int:
        """Return after how many faults the cluster healed by itself."""
        return sum(one.problem is None for one in self.rounds)

    @property
    def is_healed(self) -> bool:
        """Return whether the cluster healed by itself after every fault that was played."""
        return self.healed_count == len(self.rounds)

    @property
    def is_interrupted(self) -> bool:
        """Return whether it was ended before the last fault, although the cluster had always healed."""
        return self.is_healed and len(self.rounds) < self.round_count

    @property
    def is_right(self) -> bool:
        """Return whether nothing was lost and the cluster always healed."""
        return self.is_kept and self.is_healed

    def no_write_quantile_s(self, share: float, fault: Fault | None = None) -> float | None:
        """
        Return the time without writes that this share of the rounds did not exceed; None without a round.

        The smallest value that at least the share of all values do not exceed (nearest rank).
        """
        of = [one.no_write_s for one in self.rounds if fault is None or one.fault is fault]
        return nearest_rank(of, share)


def nearest_rank(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least this share (0–1] of the values do not exceed; None without values."""
    return sorted(values)[ceil(share * len(values)) - 1] if values else None
