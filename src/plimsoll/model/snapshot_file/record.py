"""The base class of all records of a snapshot file."""

from typing import Annotated

from msgspec import Meta, Struct

from plimsoll.model.instance import MOST_BOUGHT
from plimsoll.units import MIB

Size = Annotated[float, Meta(gt=0, le=MOST_BOUGHT)]
"""GiB that were bought."""
Rate = Annotated[float, Meta(ge=0, le=MOST_BOUGHT)]
"""IOPS or ACU that were bought, or that a class has."""
ByteRate = Annotated[float, Meta(ge=0, le=MOST_BOUGHT * MIB)]
"""Bytes per second that were bought, or that a class has."""
EpochTime = Annotated[int, Meta(ge=0, le=4_102_444_800)]
"""Epoch seconds up to 2100: a later one is milliseconds, or no time at all."""
Count = Annotated[int, Meta(ge=0, le=1_000_000_000_000_000)]
"""Connections, vCPUs or bytes of memory."""
Name = Annotated[str, Meta(max_length=255)]
"""As long as the longest name of a host; those of AWS are shorter."""


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    A part of the file; a field that is not in the form is an error, since it would be lost.

    Records have the names of the form, not of the model. `codec` converts names that differ from the
    model's, and `versions` renames those of older forms.
    """
