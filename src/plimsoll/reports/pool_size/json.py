"""
Pools against a server as JSON: the form `plimsoll.pool-size/1`, described in docs/reference/pool-size-json.md.

Rule: every field is always there; what is not known is null. Keys are sorted, so equal answers give equal
bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.pool_size import Basis, PoolSizing, PoolVerdict
from plimsoll.reports.render.json_values import json_bytes, same_fields


class ServiceObject(Struct, frozen=True, kw_only=True):
    """One service: a number of containers, each with a pool."""

    name: str
    """As it was given; alike ones are `service 1`, `service 2` …."""
    containers: int
    """Containers of it."""
    pool: int
    """Most connections of one container's pool."""
    connections: int
    """The most it may open."""


class CurveObject(Struct, frozen=True, kw_only=True):
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


class RoomObject(Struct, frozen=True, kw_only=True):
    """The connections that the server accepts and the machine runs; null for what is not known."""

    connection_max: int | None
    """`max_connections` of the server."""
    reserved: int
    """Of these, reserved for superusers and others."""
    others: int
    """Connections of everybody else."""
    usable: int | None
    """Connections left for the services."""
    vcpu_count: int | None
    """Processors of the machine."""
    curve: CurveObject | None
    """Throughput that was measured or seen."""
    busy: float | None
    """Sessions at work on average, as they were seen."""
    per_s: float | None
    """Transactions per second at that time."""
    taken_ratio: float | None
    """Connections that transactions held for each session that ran a statement, as it was seen."""


class RecommendedObject(Struct, frozen=True, kw_only=True):
    """A pool for the containers of one service."""

    service: str
    """Its name."""
    pool: int
    """Connections for each container's pool."""
    arithmetic: str
    """How the number came about."""


class PoolSizeDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll pool sizes.

    What `plimsoll pool-size --format json` writes. Every field is always present; null means not
    known. Seconds and counts, unrounded.
    """

    schema: Literal["plimsoll.pool-size/1"] = "plimsoll.pool-size/1"
    """Name and version of this form."""
    verdict: PoolVerdict
    """Whether the pools fit; the exit status is 0, 1, 1 and 2."""
    connections: int
    """The most that all pools together may open."""
    runs: int | None
    """Sessions at work that the machine runs well."""
    basis: Basis
    """The basis of `runs`; `ceiling` is measured while storage was at its ceiling."""
    target: int | None
    """Connections that the pools should have together; null where nothing bounds them."""
    needs_pooler: bool
    """Whether even one connection per container is more than the target."""
    services: tuple[ServiceObject, ...]
    """As they were given."""
    room: RoomObject
    """The capacity of the server and the machine."""
    recommended: tuple[RecommendedObject, ...]
    """A pool for each service; empty without a target."""
    notes: tuple[str, ...]
    """Remarks for the reader."""


def render_pool_size_json(sizing: PoolSizing) -> bytes:
    """Return the answer as JSON."""
    recommended = tuple(same_fields(RecommendedObject, one, service=one.service.name) for one in sizing.recommended)
    return json_bytes(same_fields(PoolSizeDocument, sizing, recommended=recommended))
