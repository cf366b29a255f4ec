"""
Find the processes that use a mount: their working directory or an open file is in it.

Rule 1: processes that may not be inspected, for example of other accounts, are left out. So an empty answer
        does not prove that the mount is unused; only unmounting does.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

PROCESSES = Path("/proc")

# More than three names would not help anybody.
_NAMED_MAX = 3


class User(Struct, frozen=True, order=True, kw_only=True):
    """Name a process that uses a mount."""

    pid: int
    name: str


def users_of(mount: Path) -> list[User]:
    """Return the other processes with their working directory or an open file in a mount."""
    found = []
    for folder in PROCESSES.iterdir():
        # Without ourselves: our record may be open, and naming us does not help the user.
        if folder.name.isdigit() and int(folder.name) != os.getpid() and _uses(folder, str(mount)):
            name = ""
            with suppress(OSError):
                name = (folder / "comm").read_text(errors="replace").strip()
            found.append(User(pid=int(folder.name), name=name or "a process"))
    return sorted(found)


def user_names(users: Sequence[User]) -> str:
    """Format the processes that use a mount: `postgres (4711), psql (4720) and 5 more`."""
    if not users:
        return "a process that cannot be seen from here"
    named = [f"{user.name} ({user.pid})" for user in users[:_NAMED_MAX]]
    more = len(users) - len(named)
    if more:
        return f"{', '.join(named)} and {more} more"
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def _uses(process: Path, mount: str) -> bool:
    return any(place == mount or place.startswith(f"{mount}/") for place in _places(process))


def _places(process: Path) -> Iterator[str]:
    """Yield a process's working directory, root, program and open files."""
    for name in ("cwd", "root", "exe"):
        with suppress(OSError):
            yield str((process / name).readlink())
    with suppress(OSError):
        for handle in (process / "fd").iterdir():
            with suppress(OSError):
                yield str(handle.readlink())
