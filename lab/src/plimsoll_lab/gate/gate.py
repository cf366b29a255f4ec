"""
Mount a gate: a folder behind emulated limits while a `with` block lasts.

Rule 1: what this process starts it ends, by process id, and no mount stays behind. The keeper
        (`keeper.py`) ensures this even if this process is killed.
Rule 2: a setup that cannot be enforced is refused with one sentence, before anything is mounted.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from plimsoll.catalog.load import Catalog, catalog
from plimsoll.errors import PlimsollError, SourceError, UsageError
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import KIB
from plimsoll_lab.gate import block
from plimsoll_lab.gate import keeper as gate_keeper
from plimsoll_lab.gate import place as gate_place
from plimsoll_lab.gate.config import GateSetup, config_of
from plimsoll_lab.gate.control import RECORD, SOCKET, GateControl, GateStatus, Home
from plimsoll_lab.gate.record import GateChange, RecordLine, Truth, read_line, read_lines, snapshot_of, truth_of
from plimsoll_lab.gate.stale import clean_stale
from plimsoll_lab.gate.users import User, users_of

# The daemon mounts within milliseconds; a loaded machine may need seconds.
_START_S = 30.0
# The keeper ends the daemon within 25 s, by SIGKILL if necessary, and may undo each step for 60 s.
_END_S = 240.0
# On its end the daemon gives programs 0.3 s to leave, serves open files for 2 s more, and writes its caches.
_DAEMON_END_S = 15.0

# The processes that use the mount are looked up this often, and named only after the grace time.
_POLL_S = 0.1
_GRACE_S = 0.5

# More than two minutes of lines at clock 1.
_TAIL_BYTES = 256 * KIB

# The keeper's exit status if the daemon ended cleanly without a request to end.
_UNMOUNTED = 3


class Gate:
    """Mount a gate. Its record stays readable after the end, as long as this object lives."""

    def __init__(
        self,
        setup: GateSetup,
        backing: Path,
        mount: Path,
        *,
        facts: Catalog | None = None,
        also_remove: tuple[Path, ...] = (),
    ) -> None:
        """
        Set what is emulated and where; nothing is started yet.

        Args:
            setup: what is emulated.
            backing: folder on the real disk with the data; created if missing.
            mount: folder where the data appears behind the limits; created if missing, and then
                removed at the end.
            facts: the documented limits; None for the catalog of this package.
            also_remove: folders to remove with their contents if this process is killed.
        """
        self.setup = setup
        self.backing = _resolved(backing)
        self.mount = _resolved(mount)
        self._catalog = facts if facts is not None else catalog()
        self._also_remove = also_remove
        self._control: GateControl | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._daemon_mount = self.mount
        self.daemon_pid = 0
        self._ended_with: int | None = None

    @property
    def folder(self) -> Path:
        """Return the folder of the socket and the record."""
        return self._known.folder

    @property
    def socket_path(self) -> Path:
        """Return the path where the daemon answers."""
        return self.folder / SOCKET

    @property
    def record_path(self) -> Path:
        """Return the file to which the daemon adds a line each second."""
        return self.folder / RECORD

    @property
    def is_started(self) -> bool:
        """Return whether it was mounted; also true after its end."""
        return self.daemon_pid != 0

    @property
    def is_running(self) -> bool:
        """Return whether the daemon still runs."""
        return self._keeper is not None and self._keeper.poll() is None

    def __enter__(self) -> Self:
        """
        Mount the gate, and wait until its files can be used.

        Raises:
            UsageError: this machine has no FUSE, a folder is not usable, or there is nothing to emulate.
            AccessDenied: FUSE is not allowed here.
            SourceError: the daemon did not start, or a step of block mode failed.
        """
        gate_place.check_machine()
        if self.setup.mode == "block":
            block.check_block()
        daemon = gate_place.find_daemon()
        # A killed gate may have left a mount at the requested folder.
        clean_stale()
        made = self._prepare_folders()
        try:
            home = gate_place.new_home()
            self._control = GateControl(home)
            # Not at the end of the block: the record can still be read after it.
            weakref.finalize(self, gate_place.remove_home, home)
            self._start(daemon, home, made)
            if self.setup.mode == "block":
                block.attach(self._daemon_mount / block.IMAGE, self.mount, self._undo)
        except BaseException:
            with contextlib.suppress(PlimsollError):
                self.stop()
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        """Unmount, and end the daemon."""
        self.stop()

    def status(self) -> GateStatus:
        """
        Return the current state of the gate.

        Raises:
            SourceError: the daemon does not answer.
        """
        return self._known.status()

    def change(self, instance: Instance, *, is_restart: bool = False) -> None:
        """
        Emulate another class or storage from now on, as `GateControl.change` does.

        Raises:
            UsageError: the instance has no documented storage limits.
            CatalogError: its class is not in the catalog.
            SourceError: the daemon does not answer.
        """
        self._known.change(instance, self._catalog, is_restart=is_restart)

    def set_limited(self, *, is_limited: bool) -> None:
        """
        Enforce the limits, or let every request through, as `GateControl.set_limited` does.

        Raises:
            SourceError: the daemon has ended.
        """
        self._known.set_limited(self._catalog, is_limited=is_limited)

    def set_balance(self, family: Family, ratio: float) -> None:
        """
        Set the credits of a family: 1.0 grants a full bucket, 0.0 drains it.

        Raises:
            UsageError: the family has no credits here, or the ratio is outside 0–1.
            SourceError: the daemon does not answer.
        """
        self._known.set_balance(family, ratio)

    def lines(self) -> list[RecordLine]:
        """Return what the daemon has recorded so far; this also works after the end."""
        try:
            return read_lines(self.record_path.read_bytes())
        except FileNotFoundError:
            return []

    def changes(self) -> tuple[GateChange, ...]:
        """Return all changes made while it ran, from any process."""
        return self._known.changes()

    def snapshot(self) -> Snapshot:
        """
        Return what CloudWatch would show so far.

        Raises:
            DataError: less than one whole emulated minute has passed.
        """
        return snapshot_of(self.lines(), self.setup, changes=self.changes())

    def last_minutes(self) -> Snapshot:
        """
        Return the last samples of `snapshot`, at a cost that does not grow with the record.

        Raises:
            DataError: less than one whole emulated minute has passed.
        """
        try:
            with self.record_path.open("rb") as file:
                first = file.readline()
                start, end = file.tell(), file.seek(0, os.SEEK_END)
                # The first line was read above, because it has the start time of the record.
                file.seek(max(end - _TAIL_BYTES, start))
                if file.tell() > start:
                    file.readline()  # Skip the rest of a line that the seek cut.
                    text = file.read()
                else:
                    text = first + file.read()
        except FileNotFoundError:
            first, text = b"", b""
        began_s = None
        if first.endswith(b"\n"):
            line = read_line(first)
            began_s = line.t - line.dt
        lines = read_lines(text)
        return snapshot_of(lines, self.setup, changes=self.changes(), began_s=began_s)

    def truth(self) -> Truth:
        """Return which limits bound so far, and whether this machine kept up."""
        return truth_of(self.lines())

    def wait(self, seconds: float) -> bool:
        """Wait that long, or until the daemon has ended by itself; return whether it has."""
        if self._keeper is None:
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._keeper.wait(seconds)
        return self._keeper.poll() is not None

    def release(self, notify: Callable[[Sequence[User]], None], patience_s: float | None) -> bool:
        """
        Lift all limits, end the record, and unmount as soon as no process uses the mount.

        Args:
            notify: called with the processes that use it, at first and when they change.
            patience_s: how long to wait; None for as long as necessary.

        Returns:
            Whether the mount is free now; if not, `stop` detaches it nevertheless.
        """
        # A daemon that is stopped serves nobody, so nobody could close what they have open.
        if gate_place.is_stopped(self.daemon_pid):
            return False
        try:
            self._known.ask({"ask": "lift"})
        except PlimsollError:
            # If the daemon is gone, no limit has to be lifted; if it does not answer, it will not unmount.
            if self.is_running:
                return False
        end = None if patience_s is None else time.monotonic() + patience_s
        # A process that has just ended closes its files a moment later, so wait before naming any.
        notified: list[User] | None = None
        since = time.monotonic()
        while self.is_running and not gate_place.unmount(self.mount):
            if end is not None and time.monotonic() >= end:
                return False
            users = users_of(self.mount)
            if users != notified and time.monotonic() - since >= _GRACE_S:
                notify(users)
                notified = users
            self.wait(_POLL_S)
        return True

    def stop(self) -> None:
        """
        Unmount, end the daemon, and wait for both; do nothing if that was done before.

        Processes that still use the mount lose it within a second; `release` waits for them.

        Raises:
            SourceError: a mount could not be detached.
        """
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            assert keeper.stdin is not None
            with contextlib.suppress(OSError):
                keeper.stdin.write(b'{"end": true}\n')
                keeper.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                keeper.wait(_END_S)
            assert keeper.stdout is not None
            keeper.stdout.close()
            self._ended_with = keeper.returncode
        if self.daemon_pid and keeper is not None and keeper.returncode not in (0, 1, _UNMOUNTED):
            # Somebody killed the keeper, so its work is left to us.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.daemon_pid, signal.SIGTERM)
            # The daemon flushes and unmounts by itself on SIGTERM. If we detached first, data that
            # programs wrote and the kernel still caches would be lost.
            _wait_for_end(self.daemon_pid)
        gate_place.detach(self._daemon_mount)

    def check(self) -> None:
        """
        Raise an error if the daemon has failed.

        Raises:
            SourceError: the daemon ended by itself, but not after a clean unmount.
        """
        if self._keeper is not None:
            self._ended_with = self._keeper.poll()
        if self._ended_with not in (None, 0, _UNMOUNTED):
            raise SourceError(
                f"the gate has ended: {_daemon_error(self.folder)[0] or 'it was killed'}",
                f"Data written with fsync is in '{self.backing}'; start the gate again.",
            )

    @property
    def _known(self) -> GateControl:
        if self._control is None:
            raise SourceError("the gate was not started", "Use it in a 'with' block.")
        return self._control

    def _prepare_folders(self) -> list[Path]:
        """Check and create the folders; return those that we have to remove."""
        backing, mount = self.backing, self.mount
        if gate_place.is_gate_at(mount):
            if not gate_place.is_dead(mount):
                raise UsageError(f"a FUSE file system is already mounted at '{mount}'", "Choose another folder.")
            gate_place.detach(mount)
        # The daemon would have to serve its own requests for files, and would deadlock.
        if backing.is_relative_to(mount) or mount.is_relative_to(backing):
            raise UsageError(
                f"the data folder '{backing}' and the mount '{mount}' lie within each other",
                "Choose two separate folders.",
            )
        made = []
        try:
            backing.mkdir(parents=True, exist_ok=True)
            if not mount.exists():
                mount.mkdir(parents=True)
                made.append(mount)
            is_empty = not any(mount.iterdir())
        except OSError as error:
            raise UsageError(
                f"unable to use '{error.filename or mount}': {(error.strerror or '').lower()}",
                "Name folders that you may write to.",
            ) from error
        # A mount hides the files below it, so the user would miss them.
        if not is_empty:
            raise UsageError(f"the mount '{mount}' is not empty", "Name an empty folder, or a new one.")
        return made

    def _start(self, daemon: Path, home: Path, made: list[Path]) -> None:
        image_bytes = None
        if self.setup.mode == "block":
            image = block.make_image(self.backing, self.setup.instance.storage.size_gib)
            image_bytes = image.stat().st_size
            self._daemon_mount = home / "image"
            self._daemon_mount.mkdir()
        config = config_of(
            self.setup,
            self._catalog,
            backing=self.backing,
            mount=self._daemon_mount,
            socket=home / SOCKET,
            record=home / RECORD,
            is_shared=gate_place.is_shared_allowed(),
            image_bytes=image_bytes,
        )
        (home / "config.json").write_text(json.dumps(config))
        job = {
            "daemon": [str(daemon), str(home / "config.json")],
            "log": str(home / "log"),
            "mount": str(self._daemon_mount),
            "detach": gate_place.detach_commands(self._daemon_mount),
            "made": [str(path) for path in made],
            "also_remove": [str(path) for path in self._also_remove],
            "home": str(home),
        }
        self._known.save_home(
            Home(
                setup=self.setup,
                mount=str(self.mount),
                backing=str(self.backing),
                owner_pid=os.getpid(),
                owner_ticks=gate_place.started_ticks(os.getpid()),
                daemon_mount=str(self._daemon_mount),
            )
        )
        self._keeper = subprocess.Popen(  # noqa: S603 - our own interpreter and file
            # Isolated (-I, Python's command line): no variable and no folder of the user changes
            # what the keeper imports.
            [sys.executable, "-I", gate_keeper.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C in the terminal signals the whole session; the keeper must outlive it.
            start_new_session=True,
            cwd="/",
        )
        self._send(job)
        pid, ready = self._next_line(), self._next_line()
        if pid is None or ready is None:
            self.stop()
            message, hint = _daemon_error(home)
            raise SourceError(
                f"the gate did not start: {message or 'it gave no reason'}", hint or f"Its log was in '{home}'."
            )
        self.daemon_pid = int(json.loads(pid)["pid"])

    def _undo(self, argv: list[str]) -> None:
        self._send({"undo": argv})

    def _send(self, message: Mapping[str, object]) -> None:
        assert self._keeper is not None
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(json.dumps(message).encode() + b"\n")
        self._keeper.stdin.flush()

    def _next_line(self) -> bytes | None:
        """Return the next line from the keeper or the daemon; None if none arrives in time."""
        assert self._keeper is not None
        assert self._keeper.stdout is not None
        end = time.monotonic() + _START_S
        line = b""
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._keeper.stdout], [], [], left)[0]:
                return None
            # Read byte by byte, so that no byte of the next line is consumed.
            part = os.read(self._keeper.stdout.fileno(), 1)
            if not part:
                return None
            line += part
        return line


def _resolved(place: Path) -> Path:
    """Return the path as in the mount table; keep its last part, because a dead mount cannot be resolved."""
    place = place.absolute()
    return place.parent.resolve() / place.name if place.name not in {"", ".."} else place.resolve()


def _daemon_error(home: Path) -> tuple[str, str]:
    """Return the daemon's error and hint from its log; without an `error:`, its last line."""
    try:
        lines = (home / "log").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "", ""
    found = {"error": "", "hint": ""}
    for line in lines:
        word, _, rest = line.partition(": ")
        if word in found:
            found[word] = rest.strip()
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return found["error"] or last, found["hint"]


def _wait_for_end(pid: int) -> None:
    end = time.monotonic() + _DAEMON_END_S
    while not gate_place.has_ended(pid) and time.monotonic() < end:
        time.sleep(_POLL_S)
