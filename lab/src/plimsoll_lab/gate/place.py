"""
Find what a gate needs on this machine, where its files lie, and which mounts still exist.

Rule 1: what is missing is reported in one sentence with a remedy, before anything is started.
Rule 2: only mounts of a gate are ever detached; /proc/self/mountinfo says which those are.
"""

import contextlib
import os
import queue
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from msgspec import Struct

from plimsoll.errors import AccessDenied, SourceError, UsageError
from plimsoll.model.shell import shell_word

DAEMON = "plimsoll-gate"
MOUNT_KIND = "fuse.plimsoll-gate"
"""Type of the daemon's mounts in /proc/self/mountinfo."""

FUSE = Path("/dev/fuse")
MOUNT_TABLE = Path("/proc/self/mountinfo")
FUSE_SETTINGS = Path("/etc/fuse.conf")
_FUSERMOUNT = "fusermount3"

# The path of a Unix socket has at most 107 bytes (unix(7)); our file names below a folder are shorter.
_SOCKET_PATH_MAX = 107

_USE_LINUX = "Run it on Linux, or in a Linux container or virtual machine."


class Mounted(Struct, frozen=True, kw_only=True):
    """Describe one line of the mount table."""

    place: Path
    kind: str
    """Type, for example `ext4` or `fuse.plimsoll-gate`."""
    device: str
    number: str = ""
    """Number of the device, for example `0:45`."""


def find_daemon() -> Path:
    """
    Return the daemon's program: next to Python, in a checkout's target/release, or in PATH.

    Raises:
        UsageError: none of these places has it.
    """
    # The wheel installs it next to Python.
    places = [Path(sys.executable).parent / DAEMON]
    places += [folder / "target" / "release" / DAEMON for folder in _checkout()]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    found = shutil.which(DAEMON)
    if found is not None:
        return Path(found)
    raise UsageError(
        f"the program '{DAEMON}' was not found next to Python or in PATH",
        "The package plimsoll-lab for Linux contains it; in a checkout, 'cargo build --release -p plimsoll-gate' builds it.",
    )


def _checkout() -> Iterator[Path]:
    """Yield the checkout that contains this package, if there is one."""
    for folder in Path(__file__).resolve().parents:
        if (folder / "Cargo.toml").is_file() and (folder / "crates").is_dir():
            yield folder
            return


def check_machine(*, platform: str = sys.platform, is_root: bool | None = None) -> None:
    """
    Check that a gate can be mounted on this machine.

    Args:
        platform: value of sys.platform.
        is_root: whether we are root; None asks the system.

    Raises:
        UsageError: no Linux, no FUSE, or no program that mounts for plain users.
        AccessDenied: the FUSE device exists, but we may not open it.
    """
    root = os.geteuid() == 0 if is_root is None else is_root
    if platform != "linux":
        system = {"darwin": "macOS", "win32": "Windows"}.get(platform, platform)
        raise UsageError(f"a gate needs Linux with FUSE, but this is {system}", _USE_LINUX)
    if not FUSE.exists():
        raise UsageError(
            f"this machine has no {FUSE}, so no program can serve a file system",
            "Load the module with 'sudo modprobe fuse'; start a container with "
            "'--device /dev/fuse --cap-add SYS_ADMIN'.",
        )
    # Only root may call mount(2); the setuid program fusermount3 does it for everybody else.
    if not root and shutil.which(_FUSERMOUNT) is None:
        raise UsageError(
            f"a plain user mounts through {_FUSERMOUNT}, which is not installed",
            "Install it with 'sudo apt-get install fuse3', or run as root.",
        )
    try:
        os.close(os.open(FUSE, os.O_RDWR))
    except OSError as error:
        raise AccessDenied(
            f"unable to open {FUSE}: {(error.strerror or str(error)).lower()}",
            "Start a container with '--device /dev/fuse --cap-add SYS_ADMIN'; on a host, "
            "'sudo chmod 666 /dev/fuse' allows plain users.",
        ) from error


def is_shared_allowed() -> bool:
    """Return whether other accounts may use a mount: always for root, else if fuse.conf allows it."""
    if os.geteuid() == 0:
        return True
    try:
        lines = FUSE_SETTINGS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(line.strip() == "user_allow_other" for line in lines)


def mounts() -> list[Mounted]:
    """Return all mounts of this process's mount namespace, in the order of the table."""
    try:
        text = MOUNT_TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    return parse_mounts(text)


def parse_mounts(text: str) -> list[Mounted]:
    """
    Parse a mount table in the format of /proc/self/mountinfo.

    Source:
        proc(5): fields up to a lone hyphen, then type and source; blanks are written in octal.
    """
    found = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if separator and len(before) >= 5 and len(after) >= 2:
            found.append(
                Mounted(place=Path(_plain(before[4])), kind=after[0], device=_plain(after[1]), number=before[2])
            )
    return found


def _plain(field: str) -> str:
    for octal, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(octal, character)
    return field


def mounted_at(place: Path) -> Mounted | None:
    """Return the topmost mount at a path; None for none."""
    wanted = Path(os.path.abspath(place))  # noqa: PTH100 - resolve() would enter a dead mount
    found = [mount for mount in mounts() if mount.place == wanted]
    # Later mounts at a path cover earlier ones; the last one is visible.
    return found[-1] if found else None


def is_gate_at(place: Path) -> bool:
    """Return whether a gate is mounted at a path, alive or dead."""
    found = mounted_at(place)
    return found is not None and found.kind.startswith("fuse")


class MountAnswer(Enum):
    """Describe how a mount answers an open."""

    SERVED = "served"
    DEAD = "dead"
    """Its daemon is gone: every access fails at once."""
    NONE = "none"
    """No answer: its daemon is stopped, or the rest of a killed one keeps the connection open."""


def answer_of(place: Path, patience_s: float = 2.0) -> MountAnswer:
    """
    Return how the mount at a path answers.

    It is opened, because stat(2) may be answered from the kernel's attribute cache even if the daemon is
    gone.

    Args:
        place: path of the mount.
        patience_s: how long to wait. A mount that answers does so within milliseconds.
    """
    answers: queue.SimpleQueue[MountAnswer] = queue.SimpleQueue()

    def look() -> None:
        try:
            os.close(os.open(place, os.O_RDONLY | os.O_DIRECTORY))
        except OSError as error:
            answers.put(MountAnswer.DEAD if error.errno in _DEAD else MountAnswer.SERVED)
        else:
            answers.put(MountAnswer.SERVED)

    # It may wait for ever; a daemon thread does not keep this process from ending.
    threading.Thread(target=look, daemon=True).start()
    try:
        return answers.get(timeout=patience_s)
    except queue.Empty:
        return MountAnswer.NONE


def is_dead(place: Path) -> bool:
    """Return whether the mount at a path has lost its daemon: every access to it fails at once."""
    return answer_of(place) is MountAnswer.DEAD


# ENOTCONN: the daemon is gone. ECONNABORTED: the connection was aborted through /sys.
_DEAD = (107, 103)


def abort(place: Path) -> None:
    """Abort the connection of a mount that does not answer; waiting processes then get an error."""
    found = mounted_at(place)
    minor = found.number.partition(":")[2] if found is not None else ""
    try:
        # The file is in fusectl; a plain user may write it for mounts of their own
        # (Linux, filesystems/fuse.rst, "Control filesystem").
        (_CONNECTIONS / minor / "abort").write_text("1")
    except OSError:
        # umount -f aborts the connection, then fails because the mount is in use. Only root may do this.
        tool = find_tool("umount")
        if tool is not None:
            subprocess.run([tool, "-f", str(place)], capture_output=True, check=False)  # noqa: S603


_CONNECTIONS = Path("/sys/fs/fuse/connections")


def has_ended(pid: int) -> bool:
    """Return whether no process has this id, or only a zombie."""
    return _stat_of(pid)[:1] in ([], ["Z"])


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped, by SIGSTOP or by a debugger."""
    return _stat_of(pid)[:1] in (["T"], ["t"])


def started_ticks(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot; None if it is not visible."""
    fields = _stat_of(pid)
    return int(fields[_STARTED]) if len(fields) > _STARTED else None


# proc(5): the state is field 3, the start field 22.
_STARTED = 22 - 3


def _stat_of(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; empty if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    # The process name before it may contain blanks and parentheses (proc(5)).
    return text.rpartition(")")[2].split()


def unmount(place: Path) -> bool:
    """Unmount if no process uses the mount; return whether it is gone."""
    # umount works for root, fusermount3 for the user who mounted.
    for tool, *flags in (("umount",), (_FUSERMOUNT, "-u")):
        path = find_tool(tool)
        if path is not None and mounted_at(place) is not None:
            # umount waits for a daemon that does not answer.
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(  # noqa: S603
                    [path, *flags, str(place)], capture_output=True, check=False, timeout=_UNMOUNT_S
                )
    return mounted_at(place) is None


# fusermount3 takes milliseconds. One that hangs longer waits for a daemon that is stopped, and is ended.
_UNMOUNT_S = 10.0


def detach(place: Path) -> None:
    """
    Detach a gate's mount, even if it is in use; do nothing if there is none.

    Raises:
        SourceError: the mount could not be detached.
    """
    if not is_gate_at(place):
        return
    last = ""
    for argv in detach_commands(place):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode == 0:
            return
        last = done.stderr.strip() or last
    if is_gate_at(place):
        raise SourceError(
            f"unable to detach the mount at {place}: {last or 'there is no program for it'}",
            f"Run 'sudo umount -l {shell_word(str(place))}'.",
        )


def detach_commands(place: Path) -> list[list[str]]:
    """Return the commands that detach a mount, those that may work for us, best first."""
    # Lazy: the mount leaves the tree at once, and ends when its last file is closed (umount(8), -l).
    tools = (("umount", "-l"), (_FUSERMOUNT, "-u", "-z"))
    return [
        [path, *flags, str(place)]
        for tool, *flags in tools
        if (path := shutil.which(tool, path=_TOOL_PATH)) is not None
    ]


# umount and losetup are in sbin on some systems, which is often not in a plain user's PATH.
_TOOL_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def find_tool(name: str) -> str | None:
    """Return the path of a system program, including sbin; None if it is not installed."""
    return shutil.which(name, path=_TOOL_PATH)


def gates_folder() -> Path:
    """
    Return the folder with one folder for each gate of this account; create it on first use.

    Raises:
        SourceError: it cannot be created, or does not belong to us alone.
    """
    # One folder for each account: its other processes find the gates there, and other accounts
    # cannot enter it.
    folder = Path(tempfile.gettempdir()) / f"plimsoll-gates-{os.geteuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise SourceError(
            f"unable to create '{folder}': {(error.strerror or str(error)).lower()}",
            "Set TMPDIR to a folder you may write to.",
        ) from error
    # Anybody can create a folder in /tmp before us, and would then control our sockets.
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not is_ours or found.st_mode & 0o077:
        raise SourceError(
            f"'{folder}' belongs to another account, or others may enter it",
            "Remove it, or set TMPDIR to a folder that only you may write to.",
        )
    return folder


def new_home() -> Path:
    """
    Return a new folder for one gate's socket, record and settings.

    Raises:
        SourceError: it cannot be created, or its path is too long for a socket.
    """
    # The name has the process id, so that the folder can be cleared even if we are killed before
    # gate.json is written.
    home = Path(tempfile.mkdtemp(prefix=f"gate-{os.getpid()}-", dir=gates_folder()))
    # Count bytes, as the kernel does.
    if len(os.fsencode(home / "gate.sock")) > _SOCKET_PATH_MAX:
        home.rmdir()
        raise SourceError(f"the path '{home}' is too long for a socket", "Set TMPDIR to a folder near the root.")
    return home


def remove_home(home: Path) -> None:
    """
    Remove a gate's folder: its files and its empty folders.

    Keep whatever lies deeper: it may be a mount that could not be detached, with the user's data.
    """
    with contextlib.suppress(OSError):
        for path in home.iterdir():
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    path.rmdir()
                else:
                    path.unlink()
        home.rmdir()


def disk_folder() -> Path:
    """Return a folder for data on a disk: that of TMPDIR if set, else /var/tmp, since /tmp is often memory."""
    if not os.environ.get("TMPDIR") and os.access("/var/tmp", os.W_OK):  # noqa: S108
        return Path("/var/tmp")  # noqa: S108
    return Path(tempfile.gettempdir())
