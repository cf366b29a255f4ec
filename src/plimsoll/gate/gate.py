"""
A gate: a folder behind emulated limits, for as long as a `with` block lasts.

Rule 1: what is started here is ended here, by process id, and no mount is left behind: the keeper
        (`keeper.py`) sees to it even when we are killed.
Rule 2: a gate that cannot enforce is refused before anything is mounted, in one sentence.
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
from plimsoll.gate import block
from plimsoll.gate import keeper as gate_keeper
from plimsoll.gate import place as gate_place
from plimsoll.gate.config import GateSetup, config_of
from plimsoll.gate.control import RECORD, SOCKET, GateControl, GateStatus, Home
from plimsoll.gate.record import (
    GateChange,
    RecordLine,
    Truth,
    read_line,
    read_lines,
    snapshot_of,
    truth_of,
)
from plimsoll.gate.stale import clean_stale
from plimsoll.gate.users import User, users_of
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import KIB

# The daemon mounts in milliseconds; a machine under load may need seconds for it.
_START_S = 30.0
# The keeper itself ends the daemon within 25 s, by force if need be, and undoes each step in 60 s.
_END_S = 240.0
# A daemon gives programs 0.3 s to leave, serves open files for 2 s more, and writes out what is held.
_DAEMON_END_S = 15.0

# Who still uses the mount is looked for this often, and named once a moment has passed.
_GLANCE_S = 0.1
_MOMENT_S = 0.5

# Two minutes of lines at clock 1, with room to spare.
_TAIL_BYTES = 256 * KIB

# The keeper's exit status when the daemon ended in good order without having been told to.
_UNMOUNTED = 3


class Gate:
    """A mounted gate. Its record can be read after the end, as long as this object lives."""

    def __init__(
        self,
        setup: GateSetup,
        backing: Path,
        mount: Path,
        *,
        facts: Catalog | None = None,
        lent: tuple[Path, ...] = (),
    ) -> None:
        """
        Say what is to be emulated and where; nothing is started yet.

        Args:
            setup: what is emulated.
            backing: folder on the real disk that holds the data; made if it is not there.
            mount: folder at which it appears behind the limits; made if it is not there, and removed
                at the end if so.
            facts: the documented limits; None for the catalog of this package.
            lent: folders that are removed with all they hold if this process is killed.
        """
        self.setup = setup
        self.backing = _resolved(backing)
        self.mount = _resolved(mount)
        self._catalog = facts if facts is not None else catalog()
        self._lent = lent
        self._control: GateControl | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._daemon_mount = self.mount
        self.daemon_pid = 0
        self._ended_with: int | None = None

    @property
    def folder(self) -> Path:
        """Where socket and record lie."""
        return self._known.folder

    @property
    def socket_path(self) -> Path:
        """Where the daemon answers."""
        return self.folder / SOCKET

    @property
    def record_path(self) -> Path:
        """The file to which the daemon adds a line each second."""
        return self.folder / RECORD

    @property
    def is_running(self) -> bool:
        """Whether the daemon still runs."""
        return self._keeper is not None and self._keeper.poll() is None

    def __enter__(self) -> Self:
        """
        Mount, and wait until files can be used.

        Raises:
            UsageError: this machine has no FUSE, the folders cannot be, or there is nothing to emulate.
            AccessDenied: FUSE is not allowed here.
            SourceError: the daemon did not start, or a step of block mode failed.
        """
        gate_place.check_machine()
        if self.setup.mode == "block":
            block.check_block()
        daemon = gate_place.find_daemon()
        # What a killed gate left may hold the very folders that are asked for.
        clean_stale()
        made = self._prepare_folders()
        home = gate_place.new_home()
        self._control = GateControl(home)
        # Not at the end of the block: the record is still to be read then.
        weakref.finalize(self, gate_place.remove_home, home)
        try:
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
        """Unmount and end the daemon."""
        self.stop()

    def status(self) -> GateStatus:
        """
        Return how it stands now.

        Raises:
            SourceError: the daemon does not answer.
        """
        return self._known.status()

    def change(self, instance: Instance, *, is_restart: bool = False) -> None:
        """
        Emulate another class or storage from now on, as `GateControl.change` says.

        Raises:
            UsageError: the instance has no documented storage limits.
            CatalogError: its class is not in the catalog.
            SourceError: the daemon does not answer.
        """
        self._known.change(instance, self._catalog, is_restart=is_restart)

    def set_balance(self, family: Family, ratio: float) -> None:
        """
        Set the credits of a family: 1.0 grants a full bucket, 0.0 drains it.

        Raises:
            UsageError: the family has no credits here, or the ratio is outside 0–1.
            SourceError: the daemon does not answer.
        """
        self._known.set_balance(family, ratio)

    def lines(self) -> list[RecordLine]:
        """Return what the daemon has recorded so far, also after the end."""
        try:
            return read_lines(self.record_path.read_bytes())
        except FileNotFoundError:
            return []

    def changes(self) -> tuple[GateChange, ...]:
        """Return what was changed while it ran, by whomever."""
        return self._known.changes()

    def snapshot(self) -> Snapshot:
        """
        Return what CloudWatch would have shown so far.

        Raises:
            DataError: not one whole emulated minute has passed.
        """
        return snapshot_of(self.lines(), self.setup, changes=self.changes())

    def last_minutes(self) -> Snapshot:
        """
        Return the last samples of `snapshot`, at a cost that does not grow with the record.

        Raises:
            DataError: not one whole emulated minute has passed.
        """
        try:
            with self.record_path.open("rb") as file:
                first = file.readline()
                start, end = file.tell(), file.seek(0, os.SEEK_END)
                # The first line was read above, since it tells when the record began.
                file.seek(max(end - _TAIL_BYTES, start))
                if file.tell() > start:
                    file.readline()  # It was cut in the middle.
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
        """Return what bound so far, and whether this machine kept up."""
        return truth_of(self.lines())

    def wait(self, seconds: float) -> bool:
        """Wait that long, or until the daemon has ended by itself; whether it has."""
        if self._keeper is None:
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._keeper.wait(seconds)
        return self._keeper.poll() is not None

    def leave(self, tell: Callable[[Sequence[User]], None], patience_s: float | None) -> bool:
        """
        Lift all limits, end the record, and unmount as soon as nobody uses the mount.

        Args:
            tell: called with those who use it, at first and whenever others do.
            patience_s: how long to wait; None as long as it takes.

        Returns:
            Whether nobody uses it any more; `stop` takes it from who still does.
        """
        # A daemon that is gone holds nobody back.
        with contextlib.suppress(PlimsollError):
            self._known.ask({"ask": "lift"})
        end = None if patience_s is None else time.monotonic() + patience_s
        # Who has just ended leaves its files a moment later.
        told: list[User] | None = None
        since = time.monotonic()
        while self.is_running and not gate_place.unmount(self.mount):
            if end is not None and time.monotonic() >= end:
                return False
            users = users_of(self.mount)
            if users != told and time.monotonic() - since >= _MOMENT_S:
                tell(users)
                told = users
            self.wait(_GLANCE_S)
        return True

    def stop(self) -> None:
        """
        Unmount, end the daemon, and wait for both; nothing if that was done.

        Who still uses the mount loses it within a second: `leave` waits for them.

        Raises:
            SourceError: a mount could not be taken away.
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
            # Someone ended the keeper by force; its work is left to us.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.daemon_pid, signal.SIGTERM)
            # It takes its mount away itself and has all of it written out. Where we are quicker, what
            # programs wrote and the kernel still holds is lost.
            _wait_for_end(self.daemon_pid)
        gate_place.detach(self._daemon_mount)

    def check(self) -> None:
        """
        Notice a daemon that failed.

        Raises:
            SourceError: it ended by itself, and not because the mount was taken away in good order.
        """
        if self._keeper is not None:
            self._ended_with = self._keeper.poll()
        if self._ended_with not in (None, 0, _UNMOUNTED):
            raise SourceError(
                f"the gate has ended: {_complaint(self.folder)[0] or 'it was killed'}",
                f"What was brought to disk with fsync is in '{self.backing}'; start it again.",
            )

    @property
    def _known(self) -> GateControl:
        if self._control is None:
            raise SourceError("the gate was not started", "Use it in a 'with' block.")
        return self._control

    def _prepare_folders(self) -> list[Path]:
        """Check and make the folders; those of them that are ours to remove."""
        backing, mount = self.backing, self.mount
        if gate_place.is_gate_at(mount):
            if not gate_place.is_dead(mount):
                raise UsageError(
                    f"a file system of FUSE is mounted at '{mount}' already",
                    "Choose another folder.",
                )
            gate_place.detach(mount)
        # The daemon would have to ask itself for its own files, and wait for ever.
        if backing.is_relative_to(mount) or mount.is_relative_to(backing):
            raise UsageError(
                f"the data folder '{backing}' and the mount '{mount}' lie within each other",
                "Choose two folders side by side.",
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
                f"'{error.filename or mount}' cannot be used: {(error.strerror or '').lower()}",
                "Name folders that you may write to.",
            ) from error
        # A mount hides what lies below it, and a user would miss it.
        if not is_empty:
            raise UsageError(
                f"the mount '{mount}' is not empty", "Name an empty folder, or one to be made."
            )
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
            "lent": [str(path) for path in self._lent],
            "home": str(home),
        }
        self._known.keep(
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
            # Isolated (-I): no variable and no folder of the user's changes what the keeper
            # imports.
            [sys.executable, "-I", gate_keeper.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C in the terminal goes to all of a session: the keeper must outlive it.
            start_new_session=True,
            cwd="/",
        )
        self._say(job)
        pid, ready = self._hear(), self._hear()
        if pid is None or ready is None:
            self.stop()
            message, hint = _complaint(home)
            raise SourceError(
                f"the gate did not start: {message or 'it gave no reason'}",
                hint or f"Its log was in '{home}'.",
            )
        self.daemon_pid = int(json.loads(pid)["pid"])

    def _undo(self, argv: list[str]) -> None:
        self._say({"undo": argv})

    def _say(self, word: Mapping[str, object]) -> None:
        assert self._keeper is not None
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(json.dumps(word).encode() + b"\n")
        self._keeper.stdin.flush()

    def _hear(self) -> bytes | None:
        """Return the next line of the keeper or the daemon; None if none comes in time."""
        assert self._keeper is not None
        assert self._keeper.stdout is not None
        end = time.monotonic() + _START_S
        line = b""
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._keeper.stdout], [], [], left)[0]:
                return None
            # Byte by byte, so that nothing of the next line is read and lost.
            part = os.read(self._keeper.stdout.fileno(), 1)
            if not part:
                return None
            line += part
        return line


def _resolved(place: Path) -> Path:
    """Return the path as the mount table has it; the last part stays, since a dead mount cannot be entered."""
    place = place.absolute()
    return place.parent.resolve() / place.name if place.name not in {"", ".."} else place.resolve()


def _complaint(home: Path) -> tuple[str, str]:
    """Return what the daemon said was wrong, and its hint; the last line where it did not say `error:`."""
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
        time.sleep(_GLANCE_S)
