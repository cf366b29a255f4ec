"""
A delivery: a folder of one organisation and month, with a manifest that is written last.

Rule 1: the keys of a delivery's objects are made here and nowhere else.
Rule 2: a name of a manifest or of a folder is checked before it becomes part of a path.
"""

import re
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from claims_pipeline.errors import DataError, UsageError

MANIFEST = "manifest.json"
ORGANISATION = r"\A[A-Z][0-9]{4}\Z"
MONTH = r"\A[0-9]{4}-(0[1-9]|1[0-2])\Z"
NAME = r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,200}\Z"

Count = Annotated[int, Meta(ge=0)]


class DeliveredFile(Struct, frozen=True, kw_only=True):
    """A file as the sender describes it."""

    name: Annotated[str, Meta(pattern=NAME)]
    kind: str
    bytes: Count
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    records: Count
    """Lines, with those that must be quarantined."""
    sums: dict[str, str] = {}
    defects: dict[str, Count] = {}


class Manifest(Struct, frozen=True, kw_only=True):
    """What a delivery contains."""

    organisation: Annotated[str, Meta(pattern=ORGANISATION)]
    month: Annotated[str, Meta(pattern=MONTH)]
    files: tuple[DeliveredFile, ...]


def manifest_of(content: bytes, organisation: str, month: str) -> Manifest:
    """
    Return a manifest.

    Raises:
        DataError: it is no manifest, it is another delivery's, or a name occurs twice.
    """
    place = f"{organisation}/{month}/{MANIFEST}"
    try:
        found = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"'{place}' is no manifest: {error}", "Ask the sender for it.") from error
    names = [file.name for file in found.files]
    if (found.organisation, found.month) != (organisation, month):
        raise DataError(
            f"'{place}' is the manifest of {found.organisation}/{found.month}", "Ask the sender for the right one."
        )
    if len(set(names)) < len(names) or MANIFEST in names:
        raise DataError(f"'{place}' names a file twice, or itself", "Ask the sender for another.")
    return found


def check_names(organisation: str, month: str) -> None:
    """
    Refuse what cannot be a delivery's folder.

    Raises:
        UsageError: it is none.
    """
    if not re.match(ORGANISATION, organisation):
        raise UsageError(f"'{organisation}' is no organisation", "For example A1001.")
    if not re.match(MONTH, month):
        raise UsageError(f"'{month}' is no month", "For example 2023-01.")


def raw_key(organisation: str, month: str, name: str) -> str:
    """Return the key of a file as it was delivered."""
    return f"raw/{organisation}/{month}/{name}"


def formatted_key(organisation: str, month: str, name: str) -> str:
    """Return the key of a file's rows."""
    return f"formatted/{organisation}/{month}/{name}.csv"


def quarantine_key(organisation: str, month: str, name: str) -> str:
    """Return the key of a file's lines that are no rows."""
    return f"formatted/{organisation}/{month}/{name}.quarantine.csv"


def received_key(organisation: str, sha256: str) -> str:
    """Return the key of the note that a content was received whole."""
    return f"received/{organisation}/{sha256}.json"
