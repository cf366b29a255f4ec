"""Recorded snapshots as files: `.json`, and `.json.gz` for long ones."""

import gzip
from pathlib import Path

from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import encode_snapshot
from plimsoll.reports.files.file import write_aside

# Level 6 of 9: a fortnight of twelve metrics packs to a fifth; 9 takes thrice as long for 1 % more.
_GZIP_LEVEL = 6


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """
    Write a snapshot; a name that ends in `.gz` is compressed. Equal snapshots give equal bytes.

    Raises:
        UsageError: the folder does not exist, is not ours to write, or the disk is full.
    """
    data = encode_snapshot(snapshot)
    if path.suffix.lower() == ".gz":
        # No time of day in the header: the bytes depend on the snapshot only.
        data = gzip.compress(data, _GZIP_LEVEL, mtime=0)
    write_aside(path, data, is_private=True)
