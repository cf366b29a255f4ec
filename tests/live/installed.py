"""Servers that `.ci/servers` got: installed on this machine, or only unpacked below build/servers."""

import os
import shutil
from pathlib import Path

_UNPACKED = Path(__file__).parents[2] / "build/servers"
_PLACES = (_UNPACKED, Path("/"))

DEBIANS = "Debian's"
"""The PostgreSQL of this Debian: 15 on Debian 12."""
NEWEST = "18"
"""The wheel's that Plimsoll starts by itself."""
VERSIONS = ("14", DEBIANS, "16", "17", NEWEST)
"""Every PostgreSQL that an inspection is held to, oldest first."""


def program(name: str) -> Path:
    """
    A server's program.
    """
    folders = [str(place / "usr" / kind) for place in _PLACES for kind in ("bin", "sbin")]
    found = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *folders)))
    assert found is not None, f"{name} not found: run .ci/servers"
    return Path(found)


def postgres_binaries(version: str = DEBIANS) -> Path | None:
    """
    The folder of programs of one of `VERSIONS`; None for the newest, which is found without it.
    """
    if version == NEWEST:
        return None
    pattern = "usr/lib/postgresql/*/bin/initdb"
    if version == DEBIANS:
        found = [path.parent for place in _PLACES for path in place.glob(pattern)]
    else:
        found = [path.parent for path in _UNPACKED.glob(f"postgresql-{version}/bin/initdb")]
    assert found, f"no PostgreSQL {version} found: run .ci/servers"
    return min(found, key=lambda folder: folder.parent.name)
