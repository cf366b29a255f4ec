"""
The manifest of a delivery: what its files are, and what must become of them.

Rule 1: `manifest.json` is written last, so a delivery that has one is complete.
Rule 2: the manifest is exact. Whoever loads a delivery compares counts and sums with it, not about.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from claims_pipeline.errors import DataError

NAME = "manifest.json"
DUPLICATE = "duplicate"
"""Class of records that were there before, which only the load can see."""
SUPERSEDED = "superseded"
"""Class of beneficiaries of whom a newer delivery was loaded before; no sender can foresee it."""


class Formatted(Struct, frozen=True, kw_only=True):
    """What the formatter reports: duplicates are still among the rows."""

    rows: int
    sums: dict[str, str]


class DeliveredFile(Struct, frozen=True, kw_only=True):
    """One file, and what its table gains by it."""

    name: str
    kind: str
    bytes: int
    sha256: str
    records: int
    """All lines: `rows` and all `defects`."""
    rows: int
    """Records that become rows of the table."""
    sums: dict[str, str]
    """Sum of each amount over `rows`, in dollars with cents."""
    defects: dict[str, int]
    """Records that must be quarantined, by the class with which the reason begins."""
    formatted: Formatted
    orphans: int = 0
    """Rows whose claim's header was damaged, so that it has no row."""


class Manifest(Struct, frozen=True, kw_only=True):
    """One delivery."""

    organisation: str
    month: str
    """CCYY-MM."""
    scale: int
    seed: int
    files: tuple[DeliveredFile, ...]


def class_of(reason: str) -> str:
    """Return the class of a quarantine reason, for example `bad date`."""
    for name in (DUPLICATE, SUPERSEDED):
        if reason.startswith(f"{name} "):
            return name
    return reason.partition(":")[0]


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    (folder / NAME).write_bytes(text + b"\n")


def parse(text: bytes, origin: str = NAME) -> Manifest:
    """
    Return the manifest in a text.

    Raises:
        DataError: the text is no manifest.
    """
    try:
        return msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"'{origin}' is no manifest: {error}") from None
