"""How long a load will take, by a sample of its rows."""

from decimal import Decimal
from typing import Annotated

from msgspec import Struct

from plimsoll.model.ceiling import Family
from plimsoll.model.written import Count, Number, OneOf, Positive, Ratio


class Span(Struct, frozen=True, kw_only=True):
    """A number that is known within bounds."""

    low: Number
    """Lower bound; null for a time that never ends."""
    likely: Positive | None
    """Null if only the bounds are known, or for a time that never ends."""
    high: Number
    """Upper bound; null if there is none."""


class RehearsedIndex(Struct, frozen=True, kw_only=True):
    """One index of the table, as the sample filled it."""

    name: str
    """Its name."""
    method: str
    """For example `btree`."""
    bytes_per_row: Positive
    """Growth for each row."""
    present_bytes: Positive
    """Size of the index of your table."""
    scatter_ratio: Ratio | None
    """Share of rows that touch another page than the rows before: 0 in order, 1 at random; null if not known."""


class RehearsedCost(Struct, frozen=True, kw_only=True):
    """What the sample cost."""

    sample_bytes: Positive
    """Bytes of the files that were copied, unpacked."""
    row_count: Count
    """Rows that were copied."""
    place_count: Count
    """Places of the files from which they were taken."""
    seconds: Positive
    """Time of the copies."""
    table_per_byte: Positive
    """Bytes of the table with its TOAST table for each byte of the files."""
    index_per_byte: Positive
    """Bytes of all indexes together."""
    wal_per_byte: Positive
    """Bytes of WAL without full-page images."""
    input_bytes_per_s: Span
    """How fast the load goes if storage does not limit it."""
    indexes: tuple[RehearsedIndex, ...]
    """In the order of their creation."""


class RehearsedWork(Struct, frozen=True, kw_only=True):
    """What the whole load asks of the device of the present instance."""

    device_bytes: Span
    """Bytes read and written until the last row is committed."""
    device_ops: Span
    """Operations."""
    checkpoint_count: Positive | None
    """Checkpoints in the likely case; null if it is not known."""


class RehearsedTime(Struct, frozen=True, kw_only=True):
    """How long the load takes on one class."""

    db_class: str | None
    """For example `db.m6g.xlarge`; null if not known."""
    is_present: bool
    """Whether it is the present class."""
    seconds: Span
    """Time of the load; `high` is null if it may never end."""
    credits_end_s: Positive | None
    """When burst credits end, seconds after the start; null if they do not, or if that is not known."""
    binding: Family | None
    """The limit that decides at the end; null if the load itself decides."""
    end_per_s: Positive
    """What that limit leaves for the load; of the load itself bytes of input per second."""
    unit: Annotated[str, OneOf(("bytes/s", "ops/s"))]
    """Unit of `end_per_s`."""
    fits: bool | None
    """Whether it finishes in the given time; null without one, or if the bounds do not tell."""
    usd_per_day_more: Decimal | None = None
    """Dollars a day more than the present instance; null if a price is not known."""
    usd_for_load: Decimal | None = None
    """The same for the duration of the load alone."""


class Rehearsal(Struct, frozen=True, kw_only=True):
    """The answer of a rehearsal."""

    identifier: str
    """The instance; empty without a target."""
    source: str
    """Where the metrics came from; empty without a target."""
    is_simulated: bool
    """Whether they come from a simulator."""
    table: str
    """The table, with its schema."""
    input_bytes: Positive
    """All files together, unpacked."""
    reserve_ratio: Ratio
    """Credits that stay in every bucket."""
    finish_within_s: Positive | None
    """The time that was given; null without one."""
    cost: RehearsedCost
    """What the sample cost."""
    work: RehearsedWork
    """What the whole load asks of the device."""
    present: RehearsedTime
    """On the present instance."""
    classes: tuple[RehearsedTime, ...]
    """On other classes with the present storage, the cheapest first; those without a price last."""
    cheapest: RehearsedTime | None
    """The cheapest class that finishes in time; null without a time, or if none is known to."""
    prices_as_of: str | None
    """Date of the oldest price; null without prices."""
    notes: tuple[str, ...]
    """What is not known, and what follows from that."""
