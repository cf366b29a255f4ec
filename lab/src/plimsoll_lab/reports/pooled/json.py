"""
An experiment with a pooled cluster as JSON: the form `plimsoll.pooled-cluster/1`.

Rule: every field is always there; what was not measured is null. Keys are sorted, so equal reports give equal bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.reports.render.json_values import json_bytes, same_fields
from plimsoll_lab.model.pooled import PooledReport
from plimsoll_lab.reports.experiment.json import CheckObject, PublishedPhaseObject


class PooledFiguresObject(Struct, frozen=True, kw_only=True):
    """Measurements of a phase; connections are those at the server that takes writes."""

    seconds: float
    """Length of the phase."""
    connections_max: int
    """Most connections of the services, those that the pooler keeps without a client among them."""
    connections_end: int
    """Connections at the end."""
    active_max: int
    """Most sessions that ran a statement or waited for a lock."""
    idle_max: int
    """Most idle sessions."""
    in_transaction_max: int
    """Most sessions that were idle in a transaction."""
    aborted_max: int
    """Most sessions that were idle in a failed transaction."""
    arrivals_per_s: float
    """Business transactions that clients wanted."""
    done_per_s: float
    """Business transactions that were done while their client waited."""
    queries_per_s: float
    """Statements, those for clients that had left among them."""
    useful_per_s: float
    """Of them, those of business transactions that were done while their client waited."""
    latency_s_p50: float | None
    """Median time from the arrival of a business transaction to its end."""
    latency_s_p95: float | None
    """Time within which 95 of 100 were done."""
    opened: int
    """Connections that the services opened."""
    closed: int
    """Connections that the services closed."""
    refused: int
    """Connections that were refused: too many clients."""
    held_s: float | None
    """Mean time that a connection stays open, by Little's law; null where it is longer than the phase."""
    given_up: dict[str, int]
    """Business transactions that were given up, by reason."""
    retries: int
    """Attempts after the first."""
    load_average_max: float
    """Highest load average of the machine over a minute."""
    processors: dict[str, float]
    """Share of all processors that each program took, 0–1."""


class PooledSampleObject(Struct, frozen=True, kw_only=True):
    """One second of the experiment."""

    time_s: float
    """Since the experiment began."""
    active: int
    """Sessions that ran a statement or waited for a lock."""
    idle: int
    """Idle sessions."""
    in_transaction: int
    """Sessions that were idle in a transaction."""
    aborted: int
    """Sessions that were idle in a failed transaction."""
    arrivals_per_s: float
    """Business transactions that clients wanted."""
    done_per_s: float
    """Business transactions that were done while their client waited."""
    queries_per_s: float
    """Statements."""
    load_average: float
    """Load average of the machine over a minute."""


class PooledPhaseObject(Struct, frozen=True, kw_only=True):
    """One phase."""

    name: str
    """As the experiment calls it: `pile-up`."""
    title: str
    """For people."""
    action: str
    """What changed at its beginning."""
    began_s: float
    """Seconds after the experiment began; the time between two phases belongs to none."""
    pooler: str
    """Build and life time of the pooler, and the pools."""
    figures: PooledFiguresObject
    """What was measured."""
    published: tuple[PublishedPhaseObject, ...]
    """What the post says about it."""
    named: tuple[str, ...]
    """What `inspect` found, warnings and worse, the most severe first."""
    checks: tuple[CheckObject, ...]
    """What Plimsoll said, with the truth."""
    is_right: bool
    """Whether all of it is true."""


class PooledOutcomeObject(Struct, frozen=True, kw_only=True):
    """The end compared with the storm."""

    target_per_s: float
    """Business transactions that arrived per second at the end."""
    carried_per_s: float | None
    """Most that this machine carries, by the processor time that one took at the end."""
    storm_useful_per_s: float
    """Useful queries per second from the rise of the arrivals until the clients left."""
    end_queries_per_s: float
    """Queries per second with the pools that `pool-size` computes."""
    end_useful_per_s: float
    """Of them, those of business transactions that were done while their client waited."""
    other_useful_per_s: float | None
    """The same through PgBouncer; null if it was not played."""
    ratio: float | None
    """Useful queries per second at the end, compared with the storm; null if it had none."""
    queries_wanted_per_s: float
    """Published queries per second."""
    ratio_wanted: float
    """What the ratio should be at least."""
    processors: dict[str, float]
    """Share of all processors that each program took at the end, 0–1."""
    processor_count: int
    """Processors of this machine."""
    is_reached: bool
    """Whether queries per second and ratio are as wanted."""


class PooledDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll pooled cluster.

    What `plimsoll lab run pooled-cluster` writes with `--format json`. Every field is always present; null means not
    measured. SI units, unrounded.
    """

    schema: Literal["plimsoll.pooled-cluster/1"] = "plimsoll.pooled-cluster/1"
    """Name and version of this form."""
    name: str
    """Of the experiment."""
    title: str
    """For people."""
    source: str
    """The published post."""
    scale: float
    """Connections were divided by this number, and are not multiplied by it; rates are as measured."""
    machine: str
    """Processors, memory and servers."""
    phases: tuple[PooledPhaseObject, ...]
    """In order."""
    samples: tuple[PooledSampleObject, ...]
    """Second by second."""
    outcome: PooledOutcomeObject | None
    """What was reached at the end; null if the storm or the end was not played."""
    is_right: bool
    """Whether all phases were played, and all that Plimsoll said is true."""
    is_void: bool
    """Whether this machine was too slow for the calm phase, or busy with other programs, so that nothing is proved."""
    is_interrupted: bool
    """Whether it was ended before its last phase."""
    notes: tuple[str, ...]
    """Remarks for the reader."""


def render_pooled_json(report: PooledReport) -> bytes:
    """Return the report as JSON that ends with a newline."""
    return json_bytes(same_fields(PooledDocument, report))
