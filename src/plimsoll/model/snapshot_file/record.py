"""The base class of all records of a snapshot file."""

from msgspec import Struct


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    A part of the file; a field that is not in the form is an error, since it would be lost.

    Records have the names of the form, not of the model. `codec` converts names that differ from the
    model's, and `versions` renames those of older forms.
    """
