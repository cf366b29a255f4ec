"""The rate at which a batch may run now, and how it was computed."""

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from plimsoll.model.ceiling import Family
from plimsoll.model.written import Count, Inline, Mark, OneOf, Positive, Ratio


class PaceBasis(StrEnum):
    """What an allowance rests on."""

    MEASURED = "measured"
    """Metrics are recent: ceilings, credits and the load of others are known."""
    BASELINE_SHARE = "baseline_share"
    """Metrics are missing or too old: a fixed share of each baseline, and no credits."""


class PacedCeiling(Struct, frozen=True, kw_only=True):
    """One ceiling of the chain, and what it leaves for the batch. Rates are those of all stripes together."""

    family: Family
    """The limit, for example `instance_ebs_throughput`."""
    unit: Annotated[str, OneOf(("bytes/s", "ops/s"))]
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


class PaceRatio(Struct, frozen=True, kw_only=True):
    """What one byte of the batch costs at the device."""

    bytes_per_byte: Positive
    """Heap, WAL, full-page images, indexes and checkpoints together."""
    bytes_per_byte_sd: Positive
    """Standard deviation of that estimate."""
    ops_per_byte: Positive
    """Operations for each byte."""
    is_learned: bool
    """Whether it was measured; otherwise it is the assumption of the start."""
    wal_per_byte: Positive | None = None
    """WAL bytes for each byte of the batch; null if the server was not asked."""
    full_page_ratio: Ratio | None = None
    """Share of WAL that is full-page images; null if the server was not asked."""


class PaceAllowance(Struct, frozen=True, kw_only=True):
    """How fast a batch may go at one moment."""

    time_s: Annotated[float, Mark.MOMENT]
    """Moment to which the allowance applies."""
    basis: PaceBasis
    """`baseline_share` if metrics are missing or too old."""
    bytes_per_s: Positive
    """Rate in bytes of the batch, with the limit on steps: a batch starts slowly."""
    unstepped_bytes_per_s: Positive
    """The same without the limit on steps."""
    binding: Family
    """The ceiling that gives the smallest rate."""
    ceilings: tuple[PacedCeiling, ...]
    """In the order in which requests pass them."""
    ratio: PaceRatio
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


class PaceReport(Struct, frozen=True, kw_only=True):
    """The allowance of a target, with the names that a report shows."""

    identifier: str
    """The instance."""
    source: str
    """Where the metrics came from."""
    is_simulated: bool
    """Whether they come from a simulator."""
    allowance: Inline[PaceAllowance]


class ReserveForecast(Struct, frozen=True, kw_only=True):
    """When every bucket of the chain holds a reserve, if others go on as they did."""

    reserve_ratio: float
    """The reserve that was asked for, 0–1."""
    ready_in_s: float | None
    """Seconds from now, 0 if they hold it now; None if not known, or not within a day."""
    family: Family | None
    """The bucket that takes longest; None if no bucket is below the reserve."""
    balance_ratio: float | None
    """Credits of that bucket now, 0–1; None if not measured."""
    text: str
    """A sentence without a full stop."""
