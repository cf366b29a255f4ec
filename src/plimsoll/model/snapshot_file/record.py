"""What all records of a snapshot file share."""

from msgspec import Struct


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    A part of the file; a field that is not in the form is an error, since it would be lost.

    Records have the names of the form, not of the model: what the model calls otherwise is converted in
    `codec`, and what an older form called otherwise is renamed in `versions`.
    """
