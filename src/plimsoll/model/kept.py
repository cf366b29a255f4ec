"""The base of what a snapshot file keeps, and the bounds of its numbers, which decoding checks."""

from typing import Annotated

from msgspec import Meta, Struct

from plimsoll.model.written import Moment
from plimsoll.units import MIB

MOST_BOUGHT = 1e9
"""A larger number of GiB, IOPS or MiB/s is a mistake: the largest volume has 65,536 GiB, the most IOPS are 256,000."""

Size = Annotated[float, Meta(gt=0, le=MOST_BOUGHT)]
"""GiB that were bought."""
Rate = Annotated[float, Meta(ge=0, le=MOST_BOUGHT)]
"""IOPS or ACU that were bought, or that a class has."""
ByteRate = Annotated[float, Meta(ge=0, le=MOST_BOUGHT * MIB)]
"""Bytes per second that were bought, or that a class has."""
EpochTime = Annotated[Moment, Meta(ge=0, le=4_102_444_800)]
"""Epoch seconds up to 2100: a later one is milliseconds, or no time at all."""
Amount = Annotated[int, Meta(ge=0, le=1_000_000_000_000_000)]
"""Connections, vCPUs or bytes of memory."""
Name = Annotated[str, Meta(max_length=255)]
"""As long as the longest name of a host; those of AWS are shorter."""


class Kept(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    A part of a snapshot file; a field that is not in the form is an error, since it would be lost.

    The names of its fields are those of the file. Another name, or another meaning, is a new version of the form
    (see `snapshot_file`), and `versions` renames the fields of older files.
    """
