"""
Unpack a server from packages of Debian, through apt-get and dpkg-deb; nothing is installed and root is not needed.

Rule 1: apt checks each package against the index that Debian signed; `files.csv` has the checksum of each file that
        was unpacked, and `check` compares.
Rule 2: libraries and Python modules that this machine lacks come too; others are the machine's own.
"""

import csv
import hashlib
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.servers.client import run_client
from plimsoll_lab.servers.package import DebianPackage, Progress

MANIFEST = "files.csv"
"""What was unpacked, below the folder of a package."""

# "'scheme://host/pool/…' etcd-server_3.4.23-4+b4_amd64.deb 6180000 MD5Sum:…", from --print-uris.
_FILE = re.compile(r"^'\S+' (\S+)_(\S+)_\w+\.deb (\d+) ", re.MULTILINE)
# "Get:1 scheme://host bookworm/main amd64 etcd-server amd64 3.4.23-4+b4 [6,180 kB]"
_COMES = re.compile(r"^Get:\d+ .* \[([\d.,]+) (k|M)?B\]")
_BYTES = {"": 1, "k": 1_000, "M": 1_000_000}
_ERROR = re.compile(r"^E: (.+)$", re.MULTILINE)
# What programs load; the rest that a package depends on sets up a service, which is not wanted.
_LOADED = re.compile(r"(?:lib(?!js-)|python3-)(?!.*-perl$)")
_UNPACKED = ("etc", "lib", "usr/bin", "usr/lib", "usr/sbin", "usr/share/prometheus")
# Read at a time: a program has 100 MB.
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class DebianFile:
    """One package of Debian that would be downloaded: its name, its version and its size in bytes."""

    name: str
    version: str
    size_bytes: int


def resolve(package: DebianPackage) -> tuple[DebianFile, ...]:
    """
    Return the packages that would be downloaded, the server's first; nothing is downloaded.

    Raises:
        UsageError: this machine has no apt, or apt does not know the packages.
        SourceError: apt failed.
    """
    # Before anything is downloaded: both are needed.
    apt_get, _ = (_program(package, name) for name in (package.client, "dpkg-deb"))
    status, output = run_client(
        [
            *(apt_get, "install", "--print-uris", "-y", "-q", "--reinstall"),
            *("--no-install-recommends", "-o", "Debug::NoLocking=true", *package.packages),
        ],
        lambda _line: None,
    )
    if status:
        raise _failure(package, output)
    found = [DebianFile(unquote(name), unquote(version), int(size)) for name, version, size in _FILE.findall(output)]
    wanted = [file for file in found if file.name in package.packages or _LOADED.match(file.name)]
    return tuple(sorted(wanted, key=lambda file: file.name != package.packages[0]))


def versions(packages: list[DebianPackage]) -> dict[str, DebianFile]:
    """Return what apt has of the servers of packages, by the name of the package; without a package list, nothing."""
    found = {}
    names = {package.packages[0]: package.name for package in packages}
    program = shutil.which("apt-cache")
    if program is None or not names:
        return {}
    answer = subprocess.run(  # noqa: S603 - the system's own client
        [program, "show", "--no-all-versions", *names], capture_output=True, text=True, check=False
    )
    for text in answer.stdout.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Size): (\S+)$", text, re.MULTILINE))
        if len(fields) == 3 and fields["Package"] in names:
            file = DebianFile(fields["Package"], fields["Version"], int(fields["Size"]))
            found[names[file.name]] = file
    return found


def bring(package: DebianPackage, part: Path, progress: Progress) -> str:
    """
    Prepare a package in the folder `home` of another, and return its version.

    Raises:
        UsageError: this machine has no apt or dpkg-deb, or apt does not know the packages.
        SourceError: a download failed, or a package could not be unpacked.
    """
    wanted = resolve(package)
    debs, everything, home = part / "debs", part / "everything", part / "home"
    for folder in (debs, everything, home):
        folder.mkdir()
    status, output = run_client(
        [
            # The account that apt downloads with may not write to our folder.
            *(_program(package, package.client), "-o", f"APT::Sandbox::User={_own_name()}", "download", "-q"),
            *(f"{file.name}={file.version}" for file in wanted),
        ],
        _count(sum(file.size_bytes for file in wanted), progress),
        folder=debs,
    )
    if status:
        raise _failure(package, output)
    for deb in sorted(debs.iterdir()):
        status, output = run_client(
            [_program(package, "dpkg-deb"), "-x", str(deb), str(everything)], lambda _line: None
        )
        if status:
            raise _failure(package, output)
    for name in _UNPACKED:
        if (everything / name).exists():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (everything / name).rename(home / name)
    if package.fixed_folder is not None:
        _make_relative(package, home / package.fixed_folder[0], package.fixed_folder[1])
    _write_manifest(home)
    return wanted[0].version


def check(package: DebianPackage, home: Path) -> None:
    """
    Check that the files of a package are those that were unpacked.

    Raises:
        SourceError: one of them has changed, or is missing.
    """
    with (home / MANIFEST).open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            path = home / row["file"]
            if not path.is_file() or _sha256(path) != row["sha256"]:
                raise SourceError(
                    f"'{path}' of {package.title} is not the file that was unpacked",
                    f"Remove the folder '{home}', and get {package.title} again.",
                )


def library_path(home: Path) -> str:
    """Return the folders of a package's libraries, as LD_LIBRARY_PATH has them."""
    return ":".join(str(path) for path in sorted(home.glob("**/lib/*-linux-gnu")))


def _make_relative(package: DebianPackage, program: Path, folder: str) -> None:
    """Move the first slash of a folder's path in a program to its end: the length stays."""
    content = program.read_bytes()
    if folder.encode() not in content:
        raise SourceError(
            f"'{program.name}' of {package.title} does not have the folder '{folder}' in it",
            "This version of Debian is not supported: report its version.",
        )
    program.write_bytes(content.replace(folder.encode(), f"{folder[1:]}/".encode()))


def _write_manifest(home: Path) -> None:
    found = sorted(path for path in home.rglob("*") if path.is_file() and not path.is_symlink())
    with (home / MANIFEST).open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(("sha256", "file"))
        writer.writerows((_sha256(path), path.relative_to(home)) for path in found)


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as content:
        while block := content.read(_BLOCK_BYTES):
            found.update(block)
    return found.hexdigest()


def _count(total: int, progress: Progress) -> Callable[[str], None]:
    come = 0

    def count(line: str) -> None:
        nonlocal come
        for number, scale in _COMES.findall(line):
            come += round(float(number.replace(",", "")) * _BYTES[scale])
            progress(min(come, total), total)

    return count


def _program(package: DebianPackage, name: str) -> str:
    program = shutil.which(name)
    if program is None:
        raise UsageError(
            f"this machine has no {name}, and {package.title} comes from Debian", "Run the command on Debian or Ubuntu."
        )
    return program


def _own_name() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def _failure(package: DebianPackage, output: str) -> SourceError | UsageError:
    reasons = _ERROR.findall(output) or output.strip().splitlines()[-1:] or ["it gave no reason"]
    if reasons[0].startswith(("Unable to locate package", "Package '")):
        return UsageError(
            f"apt-get does not know '{package.packages[0]}', the package of {package.title}",
            "Run 'sudo apt-get update', and try again.",
        )
    return SourceError(
        f"apt-get could not bring {package.title}: {reasons[0]}", "Run 'sudo apt-get update', and try again."
    )
