"""
Find what an assistant may read: files below one folder, and the live targets that were named at the start.

Rule 1: a path is judged by where it really is, after every link; what a folder contains is judged too.
Rule 2: hidden files are never read. They hold keys and settings, and no metrics.
Rule 3: an assistant chooses no server. It can only name one that the person named.
"""

import os
import stat
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from plimsoll.app.targets import LIVE, PROMETHEUS, RDS, Files, Prometheus, Rds, Target, is_several, target_of
from plimsoll.errors import UsageError

# A judgement: more than an export of a year in files of an hour, and listed in a second.
_ENTRIES_MAX = 20_000
# More names would not help to find the right one.
_NAMED_MAX = 12
_NAME_LENGTH_MAX = 60


class ReadTerms(Struct, frozen=True, kw_only=True):
    """What the person who starts the server lets it read."""

    root: str
    """Folder, absolute and without links."""
    live: tuple[str, ...] = ()
    """`rds:NAME` with shell patterns, and `prom:URL`."""
    dsn: str | None = None
    """The database that 'inspect' watches."""


def terms_of(root: Path, live: tuple[str, ...], dsn: str | None) -> ReadTerms:
    """
    Return the terms of a server.

    Raises:
        UsageError: the root is no folder, a live target is none, or its address contains a password.
    """
    if not root.is_dir():
        raise UsageError(f"root '{root}' is not a folder", "Give --root a folder with metrics.")
    for target in live:
        named = target_of(target)
        if not isinstance(named, LIVE) or target in {RDS, PROMETHEUS}:
            raise UsageError(f"'{target}' is not a live target", "Give --live rds:NAME, rds:'*' or prom:URL.")
        if isinstance(named, Prometheus) and "@" in target:
            raise UsageError(
                "the address of --live contains a user or a password",
                "Keep them in PLIMSOLL_PROM_USER and PLIMSOLL_PROM_PASSWORD.",
            )
    return ReadTerms(root=os.path.realpath(root), live=live, dsn=dsn or None)


def admitted(text: str, terms: ReadTerms) -> Target:
    """
    Return a target that may be read: a live one as it is, a file as its path below the root folder.

    Raises:
        UsageError: it is not below the root, hidden, missing, or a live target that was not named.
    """
    target = target_of(text)
    return Files(admitted_file(text, terms)) if isinstance(target, Files) else _admitted_live(target, terms)


def admitted_file(name: str, terms: ReadTerms) -> str:
    """
    Return the path of a file or folder below the root, without links.

    Raises:
        UsageError: it is not below the root, hidden, missing, or neither a file nor a folder.
    """
    root = Path(terms.root)
    try:
        # realpath follows links of names that do not exist, too; Path.resolve raises on a loop of them.
        real = Path(os.path.realpath(root / name))
        mode = real.stat().st_mode if real.is_relative_to(root) else None
    except FileNotFoundError:
        raise _missing(name, root) from None
    except (OSError, ValueError):
        raise UsageError(f"the path '{_short(name)}' cannot be read", "Give a path below the root folder.") from None
    if mode is None:
        raise UsageError(
            f"'{_short(name)}' is not below the root folder",
            "Only files below it can be read; the person who starts the server chooses --root.",
        )
    found = real.relative_to(root)
    if any(part.startswith(".") for part in found.parts):
        raise UsageError(f"'{_short(name)}' is hidden", "Hidden files and folders are not read.")
    if stat.S_ISDIR(mode):
        _check_folder(real, name, root)
    elif not stat.S_ISREG(mode) or Files(str(found)).is_standard_input:
        raise UsageError(f"'{_short(name)}' is neither a file nor a folder", "Give a file of metrics.")
    return str(found)


def _admitted_live(target: Rds | Prometheus, terms: ReadTerms) -> Target:
    text = str(target)
    # An address has no patterns.
    named = [one for one in terms.live if one == text or (one.startswith(RDS) and fnmatchcase(text, one))]
    if named and not is_several(target, None) and text.isprintable():
        return target
    some = ", ".join(terms.live[:_NAMED_MAX]) or "none"
    raise UsageError(
        f"'{_short(text)}' is not a live target that this server may read",
        f"It may read: {some}. The person who starts the server adds others with --live.",
    )


def _check_folder(folder: Path, name: str, root: Path) -> None:
    """Refuse a folder that leads out of the root by a link, or that has more files than an export."""
    count = 0
    for here, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        for entry in (*folders, *files):
            count += 1
            path = Path(here, entry)
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
                raise UsageError(
                    f"folder '{_short(name)}' contains a link that leads out of the root folder",
                    "Name a single file, or a folder without such links.",
                )
        if count > _ENTRIES_MAX:
            raise UsageError(
                f"folder '{_short(name)}' contains more than {_ENTRIES_MAX:,} files", "Name the folder of one instance."
            )


def _missing(name: str, root: Path) -> UsageError:
    """Return the error for a path that does not exist, with what the root folder contains."""
    try:
        names = sorted(one.name for one in root.iterdir() if not one.name.startswith("."))
    except OSError:
        names = []
    some = ", ".join(f"'{_short(one)}'" for one in names[:_NAMED_MAX]) or "nothing"
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return UsageError(f"'{_short(name)}' does not exist below the root folder", f"It contains {some}{more}.")


def _short(text: str) -> str:
    return text if len(text) <= _NAME_LENGTH_MAX else f"{text[: _NAME_LENGTH_MAX - 1]}…"
