"""
An experiment with a pooled cluster as JSON: the form `plimsoll.pooled-cluster/1`.

Rule: every field is always there; what was not measured is null. Keys are sorted, so equal reports give equal bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.reports.render.json_values import json_bytes, same_fields
from plimsoll_lab.model.experiment import Check, PublishedPhase
from plimsoll_lab.model.pooled import PooledFigures, PooledReport, PooledSample


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
    figures: PooledFigures
    """What was measured."""
    published: tuple[PublishedPhase, ...]
    """What the post says about it."""
    named: tuple[str, ...]
    """What `inspect` found, warnings and worse, the most severe first."""
    checks: tuple[Check, ...]
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
    samples: tuple[PooledSample, ...]
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
