"""
What a gate needs of this machine, where its things lie, and which mounts are still there.

Rule 1: what is missing is said in one sentence with the remedy, before anything is started.
Rule 2: only mounts of a gate are ever detached: /proc/self/mountinfo says which those are.
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
"""How the daemon's mounts are called in /proc/self/mountinfo."""

FUSE = Path("/dev/fuse")
MOUNT_TABLE = Path("/proc/self/mountinfo")
FUSE_SETTINGS = Path("/etc/fuse.conf")
_FUSERMOUNT = "fusermount3"

# A path of a Unix socket is at most 107 bytes (unix(7)); what we put below a folder is shorter.
_SOCKET_PATH_MAX = 107

_OTHERWISE = "Run it on Linux, or in a Linux container or virtual machine."


class Mounted(Struct, frozen=True, kw_only=True):
    """One line of the mount table."""

    place: Path
    kind: str
    """`ext4`, `fuse.plimsoll-gate`"""
    device: str
    number: str = ""
    """Of the device, as `0:45`."""


def find_daemon() -> Path:
    """
    Return the program that does the work: beside this Python, in a checkout's target/release, or in PATH.

    Raises:
        UsageError: it is in none of them.
    """
    # Beside Python first: there lies the one that was installed with this package.
    places = [Path(sys.executable).parent / DAEMON]
    places += [folder / "target" / "release" / DAEMON for folder in _checkout()]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    found = shutil.which(DAEMON)
    if found is not None:
        return Path(found)
    raise UsageError(
        f"the program '{DAEMON}' was not found next to Python, in a checkout or in PATH",
        "In a checkout, 'cargo build --release -p plimsoll-gate' builds it.",
    )


def _checkout() -> Iterator[Path]:
    """Yield the checkout this package lies in, if it lies in one."""
    for folder in Path(__file__).resolve().parents:
        if (folder / "Cargo.toml").is_file() and (folder / "crates").is_dir():
            yield folder
            return


def check_machine(*, platform: str = sys.platform, is_root: bool | None = None) -> None:
    """
    Refuse a machine on which no gate can be mounted.

    Args:
        platform: as sys.platform has it.
        is_root: whether we are root; None asks the system.

    Raises:
        UsageError: no Linux, no FUSE, or no program that mounts for plain users.
        AccessDenied: the device of FUSE is there, but not for us.
    """
    root = os.geteuid() == 0 if is_root is None else is_root
    if platform != "linux":
        system = {"darwin": "macOS", "win32": "Windows"}.get(platform, platform)
        raise UsageError(f"a gate needs Linux and its FUSE, and this is {system}", _OTHERWISE)
    if not FUSE.exists():
        raise UsageError(
            f"this machine has no {FUSE}, so no file system can be mounted from a program",
            "Load the module with 'sudo modprobe fuse'; a container is started with "
            "'--device /dev/fuse --cap-add SYS_ADMIN'.",
        )
    # Only root may call mount(2); fusermount3 is setuid for everybody else.
    if not root and shutil.which(_FUSERMOUNT) is None:
        raise UsageError(
            f"a plain user mounts through {_FUSERMOUNT}, and it is not installed",
            "Install it with 'sudo apt-get install fuse3', or run as root.",
        )
    try:
        os.close(os.open(FUSE, os.O_RDWR))
    except OSError as error:
        raise AccessDenied(
            f"{FUSE} cannot be opened: {(error.strerror or str(error)).lower()}",
            "Start a container with '--device /dev/fuse --cap-add SYS_ADMIN'; on a host, "
            "'sudo chmod 666 /dev/fuse' lets plain users in.",
        ) from error


def is_shared_allowed() -> bool:
    """Return whether other accounts may be let into a mount: always by root, else as fuse.conf says."""
    if os.geteuid() == 0:
        return True
    try:
        lines = FUSE_SETTINGS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(line.strip() == "user_allow_other" for line in lines)


def mounts() -> list[Mounted]:
    """Return every mount of this process's namespace, in the order of the table."""
    try:
        text = MOUNT_TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    return parse_mounts(text)


def parse_mounts(text: str) -> list[Mounted]:
    """
    Return the mounts that a text in the form of /proc/self/mountinfo lists.

    Source:
        proc(5): fields up to a lone hyphen, then type and source; blanks are octal.
    """
    found = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if separator and len(before) >= 5 and len(after) >= 2:
            found.append(
                Mounted(
                    place=Path(_plain(before[4])),
                    kind=after[0],
                    device=_plain(after[1]),
                    number=before[2],
                )
            )
    return found


def _plain(field: str) -> str:
    for octal, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(octal, character)
    return field


def mounted_at(place: Path) -> Mounted | None:
    """Return what is mounted at a path, the uppermost; None for nothing."""
    wanted = Path(os.path.abspath(place))  # noqa: PTH100 - resolve() would enter a dead mount
    found = [mount for mount in mounts() if mount.place == wanted]
    # Mounts at one path lie on each other; the last one is seen.
    return found[-1] if found else None


def is_gate_at(place: Path) -> bool:
    """Return whether a gate is mounted at a path, alive or dead."""
    found = mounted_at(place)
    return found is not None and found.kind.startswith("fuse")


class MountAnswer(Enum):
    """What a mount answers to who opens it."""

    SERVED = "served"
    DEAD = "dead"
    """Its daemon is gone: every access fails at once."""
    NONE = "none"
    """Nothing: its daemon is stopped, or what is left of a killed one holds the connection."""


def answer_of(place: Path, patience_s: float = 2.0) -> MountAnswer:
    """
    Return what the mount at a path answers.

    It is opened, and not only looked at: attributes may be known to the kernel, which then answers for a
    daemon that is gone.

    Args:
        place: of the mount.
        patience_s: how long it may take. A mount that answers at all does so in milliseconds.
    """
    answers: queue.SimpleQueue[MountAnswer] = queue.SimpleQueue()

    def look() -> None:
        try:
            os.close(os.open(place, os.O_RDONLY | os.O_DIRECTORY))
        except OSError as error:
            answers.put(MountAnswer.DEAD if error.errno in _DEAD else MountAnswer.SERVED)
        else:
            answers.put(MountAnswer.SERVED)

    # It may wait for ever, and goes with the connection, or with us.
    threading.Thread(target=look, daemon=True).start()
    try:
        return answers.get(timeout=patience_s)
    except queue.Empty:
        return MountAnswer.NONE


def is_dead(place: Path) -> bool:
    """Return whether the mount at a path has lost its daemon: every access to it fails at once."""
    return answer_of(place) is MountAnswer.DEAD


# ENOTCONN: the daemon is gone. ECONNABORTED: the connection was ended from /sys.
_DEAD = (107, 103)


def abort(place: Path) -> None:
    """End the connection of a mount that answers nothing, so that whoever waits for it gets an error."""
    found = mounted_at(place)
    minor = found.number.partition(":")[2] if found is not None else ""
    try:
        # Where it is mounted, a plain user may do this to mounts of his own.
        (_CONNECTIONS / minor / "abort").write_text("1")
    except OSError:
        # Ends the connection, and then finds that the mount is in use. Only root may.
        tool = find_tool("umount")
        if tool is not None:
            subprocess.run([tool, "-f", str(place)], capture_output=True, check=False)  # noqa: S603


_CONNECTIONS = Path("/sys/fs/fuse/connections")


def has_ended(pid: int) -> bool:
    """Return whether there is no such process, or nothing but its entry is left."""
    return _stat_of(pid)[:1] in ([], ["Z"])


def started_ticks(pid: int) -> int | None:
    """Return when a process began, in ticks since the machine did; None where it cannot be seen."""
    fields = _stat_of(pid)
    return int(fields[_STARTED]) if len(fields) > _STARTED else None


# proc(5): the state is field 3, the start field 22.
_STARTED = 22 - 3


def _stat_of(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; none if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    # The name before it may hold blanks and brackets.
    return text.rpartition(")")[2].split()


def unmount(place: Path) -> bool:
    """Take a mount away if nobody uses it; whether it is gone."""
    # umount works for root, fusermount3 for the user who mounted.
    for tool, *flags in (("umount",), (_FUSERMOUNT, "-u")):
        path = find_tool(tool)
        if path is not None and mounted_at(place) is not None:
            subprocess.run([path, *flags, str(place)], capture_output=True, check=False)  # noqa: S603
    return mounted_at(place) is None


def detach(place: Path) -> None:
    """
    Take a gate's mount away, whoever still uses it; nothing if none is there.

    Raises:
        SourceError: it could not be taken away.
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
            f"the mount at {place} could not be taken away: {last or 'no program that does it'}",
            f"Run 'sudo umount -l {shell_word(str(place))}'.",
        )


def detach_commands(place: Path) -> list[list[str]]:
    """Return the commands that take a mount away, those that may work for us, best first."""
    # Lazily: the mount goes from the tree at once, and its files when the last one is closed.
    tools = (("umount", "-l"), (_FUSERMOUNT, "-u", "-z"))
    return [
        [path, *flags, str(place)]
        for tool, *flags in tools
        if (path := shutil.which(tool, path=_TOOL_PATH)) is not None
    ]


# umount and losetup are in sbin on some systems, which plain users often do not have in PATH.
_TOOL_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def find_tool(name: str) -> str | None:
    """Return a program of the system, sbin included; None where it is not installed."""
    return shutil.which(name, path=_TOOL_PATH)


def gates_folder() -> Path:
    """
    Return the folder that holds one folder for each gate of this account, made on first use.

    Raises:
        SourceError: it cannot be made, or is not ours alone.
    """
    # One folder for each account, so that another process of it finds the gates and nobody else
    # does.
    folder = Path(tempfile.gettempdir()) / f"plimsoll-gates-{os.geteuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise SourceError(
            f"'{folder}' cannot be made: {(error.strerror or str(error)).lower()}",
            "Set TMPDIR to a folder you may write to.",
        ) from error
    # Anyone can make a folder in /tmp before us, and would then own our sockets.
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not is_ours or found.st_mode & 0o077:
        raise SourceError(
            f"'{folder}' is not ours alone",
            "Remove it, or set TMPDIR to a folder that only you may write to.",
        )
    return folder


def new_home() -> Path:
    """
    Return a folder for one gate's socket, record and settings.

    Raises:
        SourceError: it cannot be made, or its path is too long for a socket.
    """
    # Whose it is stands in the name: who is killed before he wrote more down leaves no riddle.
    home = Path(tempfile.mkdtemp(prefix=f"gate-{os.getpid()}-", dir=gates_folder()))
    # In bytes, which is what the kernel counts.
    if len(os.fsencode(home / "gate.sock")) > _SOCKET_PATH_MAX:
        home.rmdir()
        raise SourceError(
            f"the path '{home}' is too long for a socket", "Set TMPDIR to a folder near the root."
        )
    return home


def remove_home(home: Path) -> None:
    """
    Remove a gate's folder: its files, and its empty folders.

    Never what lies deeper: a mount that could not be taken away holds the user's data.
    """
    with contextlib.suppress(OSError):
        for path in home.iterdir():
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    path.rmdir()
                else:
                    path.unlink()
        home.rmdir()


def on_disk() -> Path:
    """Return a folder for data that is on a disk: /tmp is often memory. The one that TMPDIR names wins."""
    if not os.environ.get("TMPDIR") and os.access("/var/tmp", os.W_OK):  # noqa: S108
        return Path("/var/tmp")  # noqa: S108
    return Path(tempfile.gettempdir())
