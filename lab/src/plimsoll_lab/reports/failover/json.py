"""
An experiment with failovers as JSON: the form `plimsoll.failover/1`.

Rule: every field is always there. Keys are sorted, so equal reports give equal bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.reports.render.json_values import json_bytes, same_fields
from plimsoll_lab.model.failover import FailoverReport, FailoverRound, ServicesView, WriteCounts


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
    rounds: tuple[FailoverRound, ...]
    """In order."""
    round_count: int
    """Faults that were planned; the first one after which the cluster does not heal is the last."""
    writers: int
    """Clients that write, each over one connection."""
    writes: WriteCounts
    """All attempts."""
    lost: int
    """Acknowledged writes that are not there at the end."""
    unknown_there: int
    """Writes with an unknown outcome that are there at the end."""
    refused_there: int
    """Refused writes that are there nevertheless."""
    services: ServicesView | None
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
