"""Pools of many services on one server: the connections they may open, and those it can run well."""

from enum import StrEnum
from math import ceil

from msgspec import Struct

from plimsoll.model.postgres import SUPERUSER_RESERVED


class LoadPoint(Struct, frozen=True, kw_only=True):
    """Throughput at a number of busy sessions."""

    busy: float
    """Sessions at work, on average."""
    per_s: float
    """Transactions per second."""


class ScalabilityCurve(Struct, frozen=True, kw_only=True):
    """Throughput by busy sessions, by the universal scalability law."""

    rate_per_s: float
    """Of a single session."""
    contention: float
    """Share of the work that cannot run in parallel, 0–1."""
    coherence: float
    """Cost of every pair of sessions."""
    n95: int
    """The fewest busy sessions with 95 % of the maximum throughput."""
    most_per_s: float
    busy_seen_max: float
    """The most busy sessions that were measured."""
    level_count: int
    """Different numbers of busy sessions that were measured."""
    is_extrapolated: bool
    """Whether fewer than 1.2 × n95 were ever measured."""
    is_pegged: bool
    """Whether storage was at its ceiling in that time: the knee is then the ceiling's."""


class Service(Struct, frozen=True, kw_only=True):
    """One service: a number of containers, each with a pool."""

    name: str
    containers: int
    pool: int
    """Most connections of one container's pool."""

    @property
    def connections(self) -> int:
        """Return the most connections it may open."""
        return self.containers * self.pool


class ServerCapacity(Struct, frozen=True, kw_only=True):
    """The connections that a server accepts and a machine runs; None for what is not known."""

    connection_max: int | None = None
    reserved: int = SUPERUSER_RESERVED
    others: int = 0
    """Connections of all others, for example people, backups and monitors."""
    vcpu_count: int | None = None
    curve: ScalabilityCurve | None = None
    busy: float | None = None
    """Measured mean of busy sessions."""
    per_s: float | None = None
    """Transactions per second in that time."""
    taken_ratio: float | None = None
    """Connections that a transaction holds, for each that runs a statement, ≥ 1; None where it is not known."""

    def connections_for(self, runs: int) -> int:
        """Return the connections with which so many sessions run a statement at the same time."""
        return ceil(runs * max(self.taken_ratio or 1.0, 1.0))

    @property
    def usable(self) -> int | None:
        """Return the number of connections for the services; None where it is not known."""
        if self.connection_max is None:
            return None
        return max(self.connection_max - self.reserved - self.others, 0)


class Basis(StrEnum):
    """The basis of the number of sessions that the machine runs well."""

    MEASURED = "measured"
    EXTRAPOLATED = "extrapolated"
    CEILING = "ceiling"
    """Measured while storage was at its ceiling."""
    RULE = "rule of thumb"
    UNKNOWN = "unknown"


class PoolVerdict(StrEnum):
    """Whether the pools fit."""

    FITS = "fits"
    EXCEEDS_CONNECTIONS = "exceeds max_connections"
    EXCEEDS_MACHINE = "exceeds the machine"
    UNKNOWN = "unknown"


class RecommendedPool(Struct, frozen=True, kw_only=True):
    """A pool for the containers of one service."""

    service: Service
    pool: int
    arithmetic: str
    """The calculation of the number."""


class PoolSizing(Struct, frozen=True, kw_only=True):
    """The whole answer."""

    services: tuple[Service, ...]
    room: ServerCapacity
    connections: int
    """The most that all pools together may open."""
    runs: int | None
    """Busy sessions that the machine runs well; None where it is not known."""
    basis: Basis
    verdict: PoolVerdict
    target: int | None
    """Recommended connections of all pools together; None where nothing bounds them."""
    recommended: tuple[RecommendedPool, ...]
    needs_pooler: bool
    """Whether even one connection per container is more than the target."""
    notes: tuple[str, ...]
