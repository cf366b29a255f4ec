"""
Sweeps as JSON, every point and the limits found: the form `plimsoll.sweep/1`, described in
docs/reference/sweep-json.md.

Rule: every field is always there; what is not known is null.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from plimsoll.model.ceiling import Phase
from plimsoll.reports.render.json_values import json_text, same_fields
from plimsoll_lab.model.sweep import Direction, Pattern, SweepReport, UnitEvidence


class SweepPointObject(Struct, frozen=True, kw_only=True):
    """The delivered rate at one I/O size."""

    io_size_bytes: float
    """As asked for, > 0."""
    pattern: Pattern
    """Where a request begins: scattered, or sequential where the one before it ended."""
    direction: Direction
    """The direction of the requests."""
    phase: Phase
    """Burst or baseline where it is known which one was measured; fixed for as it was found."""
    ops_per_s: float
    """Requests per second, > 0."""
    bytes_per_s: float
    """Bytes per second, > 0."""
    length_s: float
    """For how long it was measured, > 0."""
    depth: float | None
    """Requests in flight, mean; null where it was not seen."""
    busy_ratio: float | None
    """Share 0–1 of the time in which the measuring side computed instead of waiting for storage."""
    error_ratio: float | None
    """Standard error of the rate as a share of it, from its parts in time; null where not known."""


class SweepObject(Struct, frozen=True, kw_only=True):
    """Everything that one experiment measured."""

    subject: str
    """The subject: a path, a database, an emulated instance."""
    method: str
    """With what, in a sentence."""
    points: tuple[SweepPointObject, ...]
    """The delivered rates, one entry for each size, pattern, direction and phase."""
    alone: tuple[SweepPointObject, ...]
    """The same with one request at a time: what a request takes while nothing else waits."""
    notes: tuple[str, ...]
    """Sentences about what could not be done or measured, and the consequence."""


class EstimateObject(Struct, frozen=True, kw_only=True):
    """A number found by the fit, with the range that holds it in 95 of 100 experiments."""

    value: float
    """The number."""
    low: float | None
    """Lower end of the range; null where too little was measured."""
    high: float | None
    """Upper end of the range; null where too little was measured."""


class UnitObject(Struct, frozen=True, kw_only=True):
    """The accounting unit: the most bytes that are charged as one operation."""

    size: EstimateObject
    """Bytes."""
    evidence: UnitEvidence
    """How it was recognised."""


class MergeObject(Struct, frozen=True, kw_only=True):
    """The merging of sequential requests of one size."""

    io_size_bytes: float
    """As asked for."""
    merged_bytes: EstimateObject
    """Bytes per operation charged."""
    is_at_least: bool
    """Whether something else bound first, so that more may have been merged."""


class LeftOutObject(Struct, frozen=True, kw_only=True):
    """A point that no limit of the storage decided."""

    point: SweepPointObject
    """What was measured."""
    reason: str
    """A sentence."""


class PhaseFitObject(Struct, frozen=True, kw_only=True):
    """The limits that explain the points of one phase and direction."""

    phase: Phase
    """Burst or baseline where it is known which one was measured; fixed for as it was found."""
    direction: Direction
    """The direction of the requests."""
    pattern: Pattern
    """Which points the two limits were taken from."""
    ops_limit: EstimateObject | None
    """Most requests per second, of any size up to the knee."""
    bytes_limit: EstimateObject | None
    """Most bytes per second, from the knee on: of a throughput limit, or of the unit."""
    knee: EstimateObject | None
    """Bytes: the I/O size at which the two limits meet."""
    unit: UnitObject | None
    """The accounting unit; null where none shows."""
    request_limit: EstimateObject | None
    """Most sequential requests per second, where it is another number: it knows no merging."""
    merges: tuple[MergeObject, ...]
    """The merging of sequential requests, by size; empty where it is not known."""
    left_out: tuple[LeftOutObject, ...]
    """Points that no limit of the storage decided."""
    unknown: tuple[str, ...]
    """Sentences: what these sizes do not show."""
    scatter_ratio: float | None
    """Typical distance of a point from the model, as a share; null with nothing to compare."""
    is_explained: bool
    """Whether the model is near enough to the points for its numbers to be limits."""


class SweepFitObject(Struct, frozen=True, kw_only=True):
    """The limits of the storage by a sweep."""

    phases: tuple[PhaseFitObject, ...]
    """In the order in which they were measured."""


class TruthObject(Struct, frozen=True, kw_only=True):
    """A number that is known of the storage, compared with the one that was found."""

    name: str
    """Which number, for people."""
    phase: Phase
    """Of the credits."""
    unit: str
    """`ops/s`, `bytes/s`, `bytes`."""
    known: float
    """The enforced number."""
    found: EstimateObject | None
    """The number of the fit; null where it found none."""


class PublishedObject(Struct, frozen=True, kw_only=True):
    """A published measurement, compared with the number that was found."""

    name: str
    """Which number, for people."""
    phase: Phase
    """Of the credits."""
    unit: str
    """`ops/s`, `bytes/s`."""
    said: float
    """The published number."""
    found: float | None
    """The number of the fit; null where it found none."""
    remark: str
    """A sentence: why they agree or differ."""


class SweepReportObject(Struct, frozen=True, kw_only=True):
    """One configuration of the experiment, whole."""

    sweep: SweepObject
    """What was measured."""
    fit: SweepFitObject
    """The limits that explain it."""
    truths: tuple[TruthObject, ...]
    """Enforced numbers compared with those that were found; empty where none are known."""
    published: tuple[PublishedObject, ...]
    """Published numbers compared with those that were found; empty without any."""


class SweepDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll sweep.

    What `plimsoll sweep` and `plimsoll lab run io-size-sweep` write. Every field is always present;
    null means not known or does not apply. SI units throughout: seconds, bytes, operations, ratios
    0–1.
    """

    schema: Literal["plimsoll.sweep/1"] = "plimsoll.sweep/1"
    """Name and version of this form."""
    configurations: tuple[SweepReportObject, ...]
    """The measurements, one entry for each configuration; a sweep of a path or a server has one."""


def render_sweep_json(reports: Sequence[SweepReport]) -> str:
    """Return all configurations as JSON."""
    configurations = tuple(same_fields(SweepReportObject, report) for report in reports)
    return json_text(SweepDocument(configurations=configurations))
