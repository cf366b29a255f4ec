"""Pools of many services on one server: the connections they may open, and those it can run well."""

from enum import StrEnum
from math import ceil
from typing import Annotated

from msgspec import Struct

from plimsoll.model.postgres import SUPERUSER_RESERVED
from plimsoll.model.written import After


class LoadPoint(Struct, frozen=True, kw_only=True):
    """Throughput at a number of busy sessions."""

    busy: float
    """Sessions at work, on average."""
    per_s: float
    """Transactions per second."""


class ScalabilityCurve(Struct, frozen=True, kw_only=True):
    """Throughput by busy sessions, by the universal scalability law."""

    rate_per_s: float
    """Transactions per second of a single session."""
    contention: float
    """Share of the work that cannot be done side by side, 0–1."""
    coherence: float
    """Cost of every pair of sessions."""
    n95: int
    """The fewest sessions at work with 95 % of the most there is."""
    most_per_s: float
    """The most there is, transactions per second."""
    busy_seen_max: float
    """The most sessions at work that were measured."""
    level_count: int
    """Different numbers of sessions at work that were measured."""
    is_extrapolated: bool
    """Whether fewer than 1.2 × n95 were ever measured."""
    is_pegged: bool
    """Whether storage was at its ceiling then: the knee is then the ceiling's."""


class Service(Struct, frozen=True, kw_only=True):
    """One service: a number of containers, each with a pool."""

    name: str
    """As it was given; alike ones are `service 1`, `service 2` …."""
    containers: int
    """Containers of it."""
    pool: int
    """Most connections of one container's pool."""

    @property
    def connections(self) -> Annotated[int, After("pool")]:
        """The most it may open."""
        return self.containers * self.pool


class ServerCapacity(Struct, frozen=True, kw_only=True):
    """The connections that a server accepts and a machine runs; None for what is not known."""

    connection_max: int | None = None
    """`max_connections` of the server."""
    reserved: int = SUPERUSER_RESERVED
    """Of these, reserved for superusers and others."""
    others: int = 0
    """Connections of everybody else."""
    vcpu_count: int | None = None
    """Processors of the machine."""
    curve: ScalabilityCurve | None = None
    """Throughput that was measured or seen."""
    busy: float | None = None
    """Sessions at work on average, as they were seen."""
    per_s: float | None = None
    """Transactions per second at that time."""
    taken_ratio: float | None = None
    """Connections that transactions held for each session that ran a statement, as it was seen."""

    def connections_for(self, runs: int) -> int:
        """Return the connections with which so many sessions run a statement at the same time."""
        return ceil(runs * max(self.taken_ratio or 1.0, 1.0))

    @property
    def usable(self) -> Annotated[int | None, After("taken_ratio")]:
        """Connections left for the services."""
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
    """Its name."""
    pool: int
    """Connections for each container's pool."""
    arithmetic: str
    """How the number came about."""


class PoolSizing(Struct, frozen=True, kw_only=True):
    """The whole answer."""

    services: tuple[Service, ...]
    """As they were given."""
    room: ServerCapacity
    """The capacity of the server and the machine."""
    connections: int
    """The most that all pools together may open."""
    runs: int | None
    """Sessions at work that the machine runs well."""
    basis: Basis
    """The basis of `runs`; `ceiling` is measured while storage was at its ceiling."""
    verdict: PoolVerdict
    """Whether the pools fit; the exit status is 0, 1, 1 and 2."""
    target: int | None
    """Connections that the pools should have together; null where nothing bounds them."""
    recommended: tuple[RecommendedPool, ...]
    """A pool for each service; empty without a target."""
    needs_pooler: bool
    """Whether even one connection per container is more than the target."""
    notes: tuple[str, ...]
    """Remarks for the reader."""
