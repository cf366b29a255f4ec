"""
An experiment with failovers as JSON: the form `plimsoll.failover/1`.

Rule: every field is always there. Keys are sorted, so equal reports give equal bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.reports.render.json_values import json_bytes, same_fields
from plimsoll_lab.model.failover import FailoverReport


class WriteCountsObject(Struct, frozen=True, kw_only=True):
    """Attempts to write one integer each, by the answer that the client got."""

    acknowledged: int
    """The server said that it is committed."""
    refused: int
    """An error came before anything was committed, or there was no connection."""
    unknown: int
    """The connection was lost before the answer."""


class PoolerViewObject(Struct, frozen=True, kw_only=True):
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


class ServicesViewObject(Struct, frozen=True, kw_only=True):
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


class FailoverRoundObject(Struct, frozen=True, kw_only=True):
    """One fault, and what followed."""

    fault: Literal["kill", "partition", "switchover"]
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
    writes: WriteCountsObject
    """Attempts of the round."""
    pooler: PoolerViewObject
    """What the pooler did."""
    services: ServicesViewObject | None
    """What the services did; null if none ran."""
    errors: dict[str, int]
    """What the clients saw, by message."""


class FailoverDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll failover.

    What `plimsoll lab run failover` writes with `--format json`. Every field is always present. Times in seconds,
    unrounded.
    """

    schema: Literal["plimsoll.failover/1"] = "plimsoll.failover/1"
    """Name and version of this form."""
    synchronous: Literal["strict", "asynchronous"]
    """When a write is acknowledged: when a standby has it, or at once."""
    rounds: tuple[FailoverRoundObject, ...]
    """In order."""
    round_count: int
    """Faults that were planned; the first one after which the cluster does not heal is the last."""
    writers: int
    """Clients that write, each over one connection."""
    writes: WriteCountsObject
    """All attempts."""
    lost: int
    """Acknowledged writes that are not there at the end."""
    unknown_there: int
    """Writes with an unknown outcome that are there at the end."""
    refused_there: int
    """Refused writes that are there nevertheless."""
    services: ServicesViewObject | None
    """What the services did in all rounds together; null if none ran."""
    fleet: str
    """The services in words; empty if none ran."""
    machine: str
    """Processors, memory and servers."""
    servers: str
    """Versions of the servers."""
    is_kept: bool
    """Whether every acknowledged write is there."""
    is_healed: bool
    """Whether the cluster healed by itself after every fault that was played."""
    is_interrupted: bool
    """Whether it was ended before its last fault."""
    notes: tuple[str, ...]
    """Remarks for the reader."""


def render_failover_json(report: FailoverReport) -> bytes:
    """Return the report as JSON that ends with a newline."""
    return json_bytes(same_fields(FailoverDocument, report))
