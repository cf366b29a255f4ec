"""
Recorded snapshots as files: `.json`, and `.json.gz` for long ones.

A file appears whole or not at all: it is written beside its place, brought to disk and renamed.
"""

import gzip
import os
from pathlib import Path

from plimsoll.errors import DataError, SourceError
from plimsoll.model.snapshot import Snapshot, decode_snapshot, encode_snapshot
from plimsoll.sources.assemble import MOST_STEPS
from plimsoll.sources.file_bytes import load
from plimsoll.sources.merge import MOST_OF_ANYTHING, longest_window_steps
from plimsoll.sources.shown import shown
from plimsoll.sources.steps import LONGEST_STEP_S
from plimsoll.sources.times import LATEST_S

_HINT = "Save snapshots with 'plimsoll record TARGET -o FILE'."

# Level 6 of 9: a fortnight of twelve metrics packs to a fifth; 9 takes thrice as long for 1 % more.
_GZIP_LEVEL = 6


def read_snapshot(path: Path) -> Snapshot:
    """
    The snapshot in a file, packed or not.

    Raises:
        SourceError: it cannot be opened.
        DataError: it is no snapshot of this version.
    """
    return decode(load(path), path)


def decode(data: bytes, path: Path) -> Snapshot:
    """
    The snapshot in the content of a file; `path` names it in messages.

    Raises:
        DataError: it is no snapshot of this version.
    """
    name = f"'{shown(path.name, 100)}'"
    try:
        snapshot = decode_snapshot(data)
    except DataError as error:
        raise DataError(f"{name}: {shown(error.message, 300)}", error.hint) from error
    except (RecursionError, OverflowError, AssertionError, TypeError) as error:
        # Numbers beyond 64 bits pass the schema and fail in the arrays.
        raise DataError(f"{name} is not a readable snapshot", _HINT) from error
    for series in snapshot.series.values():
        impossible = (series.value < 0) | (series.value > MOST_OF_ANYTHING)
        late = (series.time_s < 0) | (series.time_s >= LATEST_S)
        if impossible.any() or late.any() or series.step_s > LONGEST_STEP_S:
            raise DataError(
                f"{name} holds impossible values or times in series '{series.metric.value}'", _HINT
            )
    if longest_window_steps(snapshot.series.values()) > MOST_STEPS:
        raise DataError(f"the times in {name} are too far apart to be one window", _HINT)
    return snapshot


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """
    Save a snapshot; a name that ends in `.gz` is packed. Equal snapshots give equal bytes.

    Raises:
        SourceError: the folder does not exist, is not ours to write, or the disk is full.
    """
    data = encode_snapshot(snapshot)
    if path.suffix == ".gz":
        # No time of day in the header: the bytes depend on the snapshot only.
        data = gzip.compress(data, _GZIP_LEVEL, mtime=0)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with part.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SourceError(
            f"unable to write '{path}': {reason}", "Name a file in a folder you may write to."
        ) from error


def _sync_folder(folder: Path) -> None:
    """Bring the rename itself to disk; without it a power cut may bring the old file back."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
