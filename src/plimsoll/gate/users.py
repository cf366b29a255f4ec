"""
Who uses a mount: the processes that stand in it or have a file of it open.

Rule 1: what cannot be looked at, as processes of other accounts, is left out. So an empty answer does not
        say that nobody uses the mount; only unmounting does.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

PROCESSES = Path("/proc")

# Names of more processes would not help anyone to find them.
_NAMED_MAX = 3


class User(Struct, frozen=True, order=True, kw_only=True):
    """A process that uses a mount."""

    pid: int
    name: str


def users_of(mount: Path) -> list[User]:
    """Return the processes that stand in a mount or have a file of it open, without ourselves."""
    found = []
    for folder in PROCESSES.iterdir():
        # Ourselves left out: our own record lies beside the mount, and to name us helps nobody.
        if folder.name.isdigit() and int(folder.name) != os.getpid() and _uses(folder, str(mount)):
            name = ""
            with suppress(OSError):
                name = (folder / "comm").read_text(errors="replace").strip()
            found.append(User(pid=int(folder.name), name=name or "a process"))
    return sorted(found)


def user_names(users: Sequence[User]) -> str:
    """Return for people who uses a mount: `postgres (4711), psql (4720) and 5 more`."""
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
    """Return where a process stands, what it runs, and what it has open."""
    for name in ("cwd", "root", "exe"):
        with suppress(OSError):
            yield str((process / name).readlink())
    with suppress(OSError):
        for handle in (process / "fd").iterdir():
            with suppress(OSError):
                yield str(handle.readlink())
