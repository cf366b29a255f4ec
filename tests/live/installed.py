"""Servers that `.ci/servers` got: installed on this machine, or only unpacked below build/servers."""

import os
import shutil
from pathlib import Path

_PLACES = (Path(__file__).parents[2] / "build/servers", Path("/"))


def program(name: str) -> Path:
    """
    A server's program.
    """
    folders = [str(place / "usr" / kind) for place in _PLACES for kind in ("bin", "sbin")]
    found = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *folders)))
    assert found is not None, f"{name} not found: run .ci/servers"
    return Path(found)


def postgres_binaries() -> Path:
    """
    The folder of programs of Debian's own PostgreSQL, which is older than the wheel's.
    """
    found = [
        path.parent for place in _PLACES for path in place.glob("usr/lib/postgresql/*/bin/initdb")
    ]
    assert found, "no PostgreSQL of Debian found: run .ci/servers"
    return min(found, key=lambda folder: int(folder.parent.name))
