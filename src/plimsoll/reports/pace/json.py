"""
An allowance as JSON: the form `plimsoll.pace/1`, described in docs/reference/pace-json.md.

Rule: every field is always there; what is not known is null. Keys are sorted, so equal allowances give equal
bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.ceiling import Family
from plimsoll.model.pace import PaceBasis, PaceReport
from plimsoll.reports.render.json_values import Count, Moment, Positive, Ratio, json_bytes, same_fields
from plimsoll.units import format_time


class PaceCeilingObject(Struct, frozen=True, kw_only=True):
    """One ceiling of the chain, and what it leaves for the batch; rates of all volumes together."""

    family: Family
    """The limit, for example `instance_ebs_throughput`."""
    unit: Literal["bytes/s", "ops/s"]
    """Unit of its rates."""
    baseline_per_s: Positive
    """Rate that refilled credits sustain."""
    burst_per_s: Positive
    """Rate while credits last; equal to the baseline where there are none."""
    balance_ratio: Ratio | None
    """Credits left, rolled forward from the newest sample; null without credits, or if not measured."""
    total_per_s: Positive
    """What everybody may take: baseline + (balance − reserve) ÷ time left, below the highest rate."""
    others_per_s: Positive | None
    """What everybody else takes; null if not measured."""
    batch_per_s: Positive
    """What is left for the batch at the device."""
    device_per_batch_byte: Positive
    """Bytes or operations at the device for each byte of the batch."""
    batch_bytes_per_s: Positive
    """The same as bytes of the batch."""


class PaceRatioObject(Struct, frozen=True, kw_only=True):
    """The cost of one byte of the batch at the device."""

    bytes_per_byte: Positive
    """Heap, WAL, full-page images, indexes and checkpoints together."""
    bytes_per_byte_sd: Positive
    """Standard deviation of that estimate."""
    ops_per_byte: Positive
    """Operations for each byte."""
    is_learned: bool
    """Whether it was measured; otherwise it is the assumption of the start."""
    wal_per_byte: Positive | None
    """WAL bytes for each byte of the batch; null if the server was not asked."""
    full_page_ratio: Ratio | None
    """Share of WAL that is full-page images; null if the server was not asked."""


class PaceDocument(Struct, frozen=True, kw_only=True):
    """
    How fast a batch may go now.

    What `plimsoll pace --format json` writes. Every field is always present; null means not known.
    Seconds, bytes, operations and ratios 0–1.
    """

    schema: Literal["plimsoll.pace/1"] = "plimsoll.pace/1"
    """Name and version of this form."""
    identifier: str
    """The instance."""
    source: str
    """Where the metrics came from."""
    is_simulated: bool
    """Whether they come from a simulator."""
    time: Moment
    """Moment to which the allowance applies."""
    basis: PaceBasis
    """`baseline_share` if metrics are missing or too old."""
    bytes_per_s: Positive
    """Rate in bytes of the batch, with the limit on steps: a batch starts slowly."""
    unstepped_bytes_per_s: Positive
    """The same without the limit on steps."""
    binding: Family
    """The ceiling that gives the smallest rate."""
    ceilings: tuple[PaceCeilingObject, ...]
    """In the order in which requests pass them."""
    ratio: PaceRatioObject
    """The cost of one byte of the batch."""
    reserve_ratio: Ratio
    """Credits that stay in every bucket."""
    time_left_s: Positive
    """Time over which the credits above the reserve are spent."""
    metrics_age_s: Positive | None
    """Age of the newest complete sample; null without samples."""
    peer_count: Count
    """Batches that share the allowance, this one included."""
    unwritten_bytes: Positive
    """Pages that the server has changed and not yet written, at least; their credits count as spent."""
    notes: tuple[str, ...]
    """What is not known, and what is assumed instead."""


def render_pace_json(found: PaceReport) -> bytes:
    """Return an allowance as JSON."""
    document = same_fields(
        PaceDocument,
        found.allowance,
        identifier=found.identifier,
        source=found.source,
        is_simulated=found.is_simulated,
        time=format_time(found.allowance.time_s),
    )
    return json_bytes(document)
