"""How long a load will take, by a sample of its rows."""

from decimal import Decimal

from msgspec import Struct

from plimsoll.model.ceiling import Family


class Span(Struct, frozen=True, kw_only=True):
    """A number that is known within bounds."""

    low: float
    likely: float | None
    """None if only the bounds are known."""
    high: float


class RehearsedIndex(Struct, frozen=True, kw_only=True):
    """One index of the table, as the sample filled it."""

    name: str
    method: str
    """For example `btree`."""
    bytes_per_row: float
    """Growth for each row."""
    present_bytes: float
    """Size of the index of the table that will be loaded."""
    scatter_ratio: float | None
    """Pages that a row touches anew, 0–1: 0 for rows in the order of the index, 1 for random order; None if not known."""


class RehearsedCost(Struct, frozen=True, kw_only=True):
    """What the sample cost."""

    sample_bytes: float
    """Of the files, unpacked."""
    row_count: int
    place_count: int
    """Places of the files from which rows were taken."""
    seconds: float
    """Time of the copies."""
    table_per_byte: float
    """Bytes of the table with its TOAST table for each byte of the files."""
    index_per_byte: float
    """Bytes of all indexes together."""
    wal_per_byte: float
    """Bytes of WAL without full-page images."""
    input_bytes_per_s: Span
    """How fast the load goes if storage does not limit it; an infinite `high` if the sample does not show it."""
    indexes: tuple[RehearsedIndex, ...]


class RehearsedWork(Struct, frozen=True, kw_only=True):
    """What the whole load asks of the device of the present instance."""

    device_bytes: Span
    device_ops: Span
    checkpoint_count: float | None
    """Checkpoints in the likely case."""


class RehearsedTime(Struct, frozen=True, kw_only=True):
    """How long the load takes on one class."""

    db_class: str | None
    is_present: bool
    seconds: Span
    """Infinite if the load never ends."""
    credits_end_s: float | None
    """When credits end, seconds after the start; None if they do not, or if that is not known."""
    binding: Family | None
    """The limit that decides at the end; None if the load itself decides."""
    end_per_s: float
    """What that limit leaves for the load, in bytes/s or operations/s; for the load itself bytes of input."""
    unit: str
    """`bytes/s` or `ops/s`."""
    fits: bool | None
    """Whether it finishes within the time that was given; None without one, or if that is not known."""
    usd_per_day_more: Decimal | None = None
    """More than the present instance; None if a price is not known."""
    usd_for_load: Decimal | None = None
    """The same for the duration of the load alone."""


class Rehearsal(Struct, frozen=True, kw_only=True):
    """The answer of a rehearsal."""

    identifier: str
    source: str
    """Where the metrics came from; empty without metrics."""
    is_simulated: bool
    table: str
    input_bytes: float
    """All files together, unpacked."""
    reserve_ratio: float
    """Credits that stay in every bucket, 0–1."""
    finish_within_s: float | None
    cost: RehearsedCost
    work: RehearsedWork
    present: RehearsedTime
    classes: tuple[RehearsedTime, ...]
    """Other classes with the present storage, the cheapest first; those without a price last."""
    cheapest: RehearsedTime | None
    """The cheapest class, the present one included, that finishes in time."""
    prices_as_of: str | None
    """Date of the oldest price; None without prices."""
    notes: tuple[str, ...]
    """What is not known, and what follows from that."""
