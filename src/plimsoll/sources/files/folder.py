"""
List the files of a folder that could be data.

Rule: a folder bounds what is read: a link to a folder outside of it is not followed, and what is listed has a bound.
"""

import os
import stat
from itertools import islice
from pathlib import Path

from plimsoll.errors import AccessDenied, DataError, SourceError
from plimsoll.model.snapshot import Gap
from plimsoll.sources.values.shown import shown

MOST_FILES = 20_000
"""Firehose writes a file per five minutes: a fortnight is 4,032, a large fleet's day some more."""

NOT_DATA = frozenset(
    {".md", ".txt", ".rst", ".html", ".htm", ".pdf", ".png", ".svg", ".jpg", ".log", ".sh", ".py"}
    | {".toml", ".ini", ".cfg", ".yaml", ".yml", ".sql", ".zip", ".tar", ".xlsx", ".part"}
)
"""Left alone in a folder; a file named on the command line is read whatever its name."""

# Of one folder or of many, hidden ones and those that are no data included: listing has a cost too.
_MOST_ENTRIES = 5 * MOST_FILES


def data_files(folder: Path) -> tuple[list[Path], list[Gap]]:
    """
    Return every file that could be data, in a fixed order, and the folders below that could not be read.

    Hidden entries, loops, and entries that vanish meanwhile are left out.

    Raises:
        AccessDenied, SourceError: the folder itself cannot be listed.
        DataError: there are more files, or more entries of any kind, than an export has.
    """
    found: list[Path] = []
    gaps: list[Gap] = []
    pending = [folder]
    root = folder.resolve()
    seen: set[Path] = set()
    left = _MOST_ENTRIES
    while pending:
        here = pending.pop()
        name = shown(f"folder {os.path.relpath(here, folder)}", 120)
        try:
            real = here.resolve()
            if real in seen:
                continue
            seen.add(real)
            if not real.is_relative_to(root):
                gaps.append(_outside(name))
                continue
            entries = sorted(islice(here.iterdir(), left + 1))
        except OSError as error:
            refusal = _refusal(here, error)
            if here == folder:
                raise refusal from error
            gaps.append(Gap(metric=name, reason=refusal.message, remedy=refusal.hint))
            continue
        left -= len(entries)
        for entry in entries:
            mode = 0 if entry.name.startswith(".") else _mode_of(entry)
            if stat.S_ISDIR(mode):
                pending.append(entry)
            elif stat.S_ISREG(mode) and entry.suffix.lower() not in NOT_DATA:
                found.append(entry)
        if left < 0 or len(found) > MOST_FILES:
            raise DataError(
                f"folder '{shown(folder, 200)}' contains more than {MOST_FILES:,} files",
                "Give the folder of one instance and one window.",
            )
    return sorted(found), gaps


def _mode_of(entry: Path) -> int:
    """Return the mode of what an entry is or links to; 0 if it vanished, or nobody may know."""
    try:
        return entry.stat().st_mode
    except OSError:
        return 0


def _outside(name: str) -> Gap:
    return Gap(
        metric=name,
        reason="a link out of the folder, which is not followed",
        remedy="Copy or move what it links to into the folder, or name it as a target.",
    )


def _refusal(here: Path, error: OSError) -> SourceError:
    if isinstance(error, PermissionError):
        return AccessDenied(f"unable to list '{shown(here, 200)}': permission denied", "Check the mode of the folder.")
    return SourceError(
        f"unable to list '{shown(here, 200)}': {(error.strerror or 'error').lower()}",
        "Check that the path names a readable folder.",
    )
