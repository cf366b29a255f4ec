"""Make a server's folder of the files that Maven brought."""

import hashlib
import shutil
import zipfile
from pathlib import Path

from plimsoll.errors import SourceError
from plimsoll_lab.servers.package import LockedFile, MavenPackage, ServerModule

# Read at a time, so that a large archive is never in memory.
_BLOCK_BYTES = 1 << 20


def lay_out(package: MavenPackage, jars: Path, home: Path) -> None:
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
        raise SourceError(f"'{archive.name}' is not a zip archive", "Delete it from ~/.m2, and try again.") from error


def _add_module(package: MavenPackage, module: ServerModule, jars: Path, home: Path) -> None:
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


def check_file(path: Path, file: LockedFile, package: MavenPackage) -> None:
    """
    Check that a file is the one that was locked.

    Raises:
        SourceError: it is missing or another.
    """
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
