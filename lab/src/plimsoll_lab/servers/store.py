"""
Keep the files of servers in one folder that all experiments share.

Rule 1: a package is there whole or not at all: it is prepared in a folder beside and then renamed.
Rule 2: nothing is used whose checksum is not the locked one. What Debian brings has no lock (`DebianPackage`): its
        files are used as long as they are those that were unpacked.
Rule 3: what is there needs no network.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from plimsoll.errors import UsageError
from plimsoll_lab.servers import debian, maven, pip
from plimsoll_lab.servers.package import DebianPackage, MavenPackage, Package, PipPackage, Progress

VARIABLE = "PLIMSOLL_CACHE"
_SYSTEM = Path("/var/cache/plimsoll")
# The archive and what is unpacked of it exist together for a moment. Wheels hold source text, which is small
# when packed, and its compiled form comes on top: 32 MB of moto are 250 MB on the disk.
_ROOM = {"mvn": 3, "pip": 8, "apt-get": 8}


@dataclass(frozen=True, slots=True)
class ServerStore:
    """The folder with the files of servers."""

    folder: Path

    def find(self, package: Package) -> Path | None:
        """Return the folder of a package; None if it is not there."""
        if isinstance(package, DebianPackage):
            # The newest: a version of Debian's is not known before it was unpacked.
            homes = (self.folder / "servers").glob(f"{package.name}-[0-9]*/{debian.MANIFEST}")
            return max((path.parent for path in homes), key=_age, default=None)
        home = self.folder / "servers" / f"{package.name}-{package.version}"
        if isinstance(package, PipPackage):
            return home if pip.is_installed(package, home) else None
        return home if home.is_dir() else None

    def get(self, package: Package, progress: Progress = lambda *_: None) -> Path:
        """
        Return the folder of a package, downloaded first if it is not there.

        Args:
            package: what to get.
            progress: is called while files come.

        Raises:
            UsageError: the registry's client is not installed, or the folder cannot be written.
            SourceError: a download failed, or a file is not the one that was locked or unpacked.
        """
        home = self.find(package)
        if home is None:
            with self._preparing(package) as part:
                # Another process may have prepared it while we waited for the lock.
                home = self.find(package) or self._bring(package, part, progress)
        if isinstance(package, DebianPackage):
            debian.check(package, home)
        return home

    def _bring(self, package: Package, part: Path, progress: Progress) -> Path:
        _check_room(part, package)
        version = _prepare(package, part, progress)
        _open(part / "home")
        home = self.folder / "servers" / f"{package.name}-{version}"
        shutil.rmtree(home, ignore_errors=True)
        (part / "home").rename(home)
        return home

    @contextmanager
    def _preparing(self, package: Package) -> Iterator[Path]:
        """Give a folder to prepare the package in, to one process at a time."""
        servers = self.folder / "servers"
        try:
            # Others may look: a server of root's runs as another account.
            servers.mkdir(parents=True, exist_ok=True)
            with (servers / f".{package.name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                # Left by a process that was killed.
                for left in servers.glob(f".part-{package.name}-*"):
                    shutil.rmtree(left, ignore_errors=True)
                # In the same file system, so that a rename puts it in its place at once.
                with tempfile.TemporaryDirectory(dir=servers, prefix=f".part-{package.name}-") as name:
                    yield Path(name)
        except OSError as error:
            raise UsageError(
                f"'{servers}' cannot be used: {(error.strerror or str(error)).lower()}",
                f"Set {VARIABLE} to a folder that you may write to.",
            ) from error


def default_store() -> ServerStore:
    """
    Return the store of this account: $PLIMSOLL_CACHE, or the cache folder of the system or the user.

    Root's is /var/cache/plimsoll: its servers run as another account, which may not look into root's home.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return ServerStore(Path(given).absolute())
    if os.geteuid() == 0:
        return ServerStore(_SYSTEM)
    base = os.environ.get("XDG_CACHE_HOME")
    return ServerStore((Path(base) if base else Path.home() / ".cache") / "plimsoll")


def download_bytes(package: Package) -> int:
    """
    Return how much getting a package downloads, in bytes.

    Raises:
        UsageError: it is one of Debian's, and this machine has no apt, or apt does not know it.
        SourceError: apt failed.
    """
    if isinstance(package, DebianPackage):
        return sum(file.size_bytes for file in debian.resolve(package))
    return package.size_bytes


def _prepare(package: Package, part: Path, progress: Progress) -> str:
    """Prepare a package in the folder `home` of another with its registry's client; return its version."""
    match package:
        case MavenPackage():
            return maven.bring(package, part, progress)
        case PipPackage():
            return pip.bring(package, part, progress)
        case DebianPackage():
            return debian.bring(package, part, progress)


def _age(home: Path) -> float:
    return home.stat().st_mtime


def _open(home: Path) -> None:
    """Let other accounts read and run the files, and nobody but ours change them."""
    for path in (home, *home.rglob("*")):
        # The mode of a link is that of what it leads to, which is not ours.
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def _check_room(folder: Path, package: Package) -> None:
    free, needed = shutil.disk_usage(folder).free, _ROOM[package.client] * download_bytes(package)
    if free < needed:
        raise UsageError(
            f"'{folder.parent}' has {free / 1e6:.0f} MB free, and {package.title} needs "
            f"{needed / 1e6:.0f} MB while it is unpacked",
            f"Free some space, or set {VARIABLE} to another folder.",
        )
