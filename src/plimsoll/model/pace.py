"""The rate at which a batch may run now, and how it was computed."""

from enum import StrEnum

from msgspec import Struct

from plimsoll.model.ceiling import Family


class PaceBasis(StrEnum):
    """What an allowance rests on."""

    MEASURED = "measured"
    """Metrics are recent: ceilings, credits and the load of others are known."""
    BASELINE_SHARE = "baseline_share"
    """Metrics are missing or too old: a fixed share of each baseline, and no credits."""


class PacedCeiling(Struct, frozen=True, kw_only=True):
    """One ceiling of the chain, and what it leaves for the batch. Rates are those of all stripes together."""

    family: Family
    unit: str
    """`bytes/s` or `ops/s`."""
    baseline_per_s: float
    burst_per_s: float
    """Equal to the baseline where there are no credits."""
    balance_ratio: float | None
    """Credits left now, 0–1, estimated from the newest metric; None without a bucket, or if not measured."""
    total_per_s: float
    """What everybody may take together: baseline + (balance − reserve) ÷ time left, below the burst rate."""
    others_per_s: float | None
    """What everybody else takes; None if not measured."""
    batch_per_s: float
    """What is left for the batch at the device, ≥ 0."""
    device_per_batch_byte: float
    """Bytes or operations at the device for each byte of the batch."""
    batch_bytes_per_s: float
    """The same as a rate of the batch."""


class PaceRatio(Struct, frozen=True, kw_only=True):
    """What one byte of the batch costs at the device."""

    bytes_per_byte: float
    """Heap, WAL, full-page images, indexes and checkpoints together."""
    bytes_per_byte_sd: float
    """Standard deviation of that estimate."""
    ops_per_byte: float
    is_learned: bool
    """Whether it was measured; otherwise it is the assumption of the start."""
    wal_per_byte: float | None = None
    """WAL bytes for each byte of the batch; None if the server was not asked."""
    full_page_ratio: float | None = None
    """Full-page images for each WAL page written, 0–1; None if the server was not asked."""


class PaceAllowance(Struct, frozen=True, kw_only=True):
    """How fast a batch may go at one moment."""

    time_s: float
    """Moment to which it applies, epoch seconds."""
    basis: PaceBasis
    bytes_per_s: float
    """Rate in bytes of the batch, ≥ 0: the smallest of all ceilings, and no faster than steps allow."""
    unstepped_bytes_per_s: float
    """The same before the limit on steps."""
    binding: Family
    """The ceiling that gives the smallest rate."""
    ceilings: tuple[PacedCeiling, ...]
    ratio: PaceRatio
    reserve_ratio: float
    """Credits that stay in every bucket, 0–1."""
    time_left_s: float
    """Time over which the credits above the reserve are spent."""
    metrics_age_s: float | None
    """Age of the newest complete sample; None without samples."""
    peer_count: int
    """Batches that share the allowance, this one included."""
    unwritten_bytes: float
    """Pages that the server has changed and not yet written, a lower bound; their credits count as spent. Zero if
    the server was not asked."""
    notes: tuple[str, ...]
    """What is not known, and what is assumed instead."""


class PaceReport(Struct, frozen=True, kw_only=True):
    """The allowance of a target, with the names that a report shows."""

    identifier: str
    source: str
    """Where the metrics came from."""
    is_simulated: bool
    allowance: PaceAllowance


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
