"""
Control a running gate, from its own process or from another one.

A gate's folder has what is needed for that: `gate.sock` (questions and answers, one JSON document a
line), `gate.json` (what is emulated now, and where), `record.jsonl` (what the daemon counted) and
`changes.jsonl` (what was changed while it ran, written here).
"""

import contextlib
import json
import os
import socket
import struct
import time
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.errors import DataError, SourceError, UsageError
from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import EventKind
from plimsoll.units import format_ratio
from plimsoll_lab.gate import place
from plimsoll_lab.gate.config import (
    GateSetup,
    chain_document,
    enforced_stages_of,
    has_credits,
    part_of,
    stages_of_document,
)
from plimsoll_lab.gate.record import GateChange, storage_of

SOCKET = "gate.sock"
RECORD = "record.jsonl"
CHANGES = "changes.jsonl"
STATE = "gate.json"

# The daemon answers in microseconds; a machine that swaps or was suspended takes longer.
_PATIENCE_S = 10.0
# So many times its limits, an instance serves more than any disk.
_LIFTED = 1e4
# A status has some hundred bytes for each stage; a longer answer is not from the daemon.
_ANSWER_BYTES_MAX = 1_000_000


class Home(Struct, frozen=True, kw_only=True):
    """Describe the gate for other processes; the content of `gate.json`."""

    setup: GateSetup
    """What is emulated now."""
    mount: str
    backing: str
    owner_pid: int
    daemon_mount: str
    """Mount of the daemon's file system; the mount itself, except in block mode."""
    owner_ticks: int | None = None
    """Start time of the owner, to recognise another process that got the same process id."""


class GateStatus(Struct, frozen=True, kw_only=True):
    """Describe the state of a gate at this moment."""

    balance: dict[str, float | None]
    """Credits left, 0–1, by stage; None for a stage without credits."""
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_ops_per_s: float
    write_ops_per_s: float
    """Over the last second."""
    queue_depth: float
    late_ratio: float
    """Share 0–1 of all operations so far that completed late."""
    late_s_max: float
    binding: str | None
    """Stage that made requests wait in the last second; None for none."""
    phase: Phase | None
    """Phase in which it did so: burst, baseline or fixed."""
    chain: tuple[Stage, ...]
    clock: float
    """Credit clock: one emulated minute is 60/clock seconds."""

    @property
    def bytes_per_s(self) -> float:
        """Return the rate of reads and writes together."""
        return self.read_bytes_per_s + self.write_bytes_per_s

    @property
    def ops_per_s(self) -> float:
        """Return the rate of reads and writes together."""
        return self.read_ops_per_s + self.write_ops_per_s

    def empty_in_s(self, stage: str) -> float | None:
        """
        Return the real seconds until the credits of a stage run out at the rate of the last second.

        Returns:
            None if the stage has no credits, or its balance does not fall at that rate.
        """
        found = next((s for s in self.chain if s.name == stage), None)
        left = self.balance.get(stage)
        if found is None or left is None or not has_credits(found) or self.ops_per_s <= 0:
            return None
        # A request's cost depends on its size; use the mean size of the last second for all.
        mean_bytes = max(self.bytes_per_s / self.ops_per_s, 1.0)
        rate = self.ops_per_s * found.cost_per_op(mean_bytes)
        # The daemon's capacities are divided by the clock, so the result is in real seconds.
        seconds = found.time_to_empty_s(left * found.capacity / self.clock, rate)
        return seconds if isfinite(seconds) else None


class GateControl:
    """Control a running gate through its folder; it may belong to another process."""

    def __init__(self, folder: Path) -> None:
        """Remember the folder of the gate; nothing is asked yet."""
        self.folder = folder

    @property
    def record_path(self) -> Path:
        """Return the file to which the daemon adds a line each second."""
        return self.folder / RECORD

    @property
    def home(self) -> Home:
        """
        Return what is emulated now, and where.

        Raises:
            SourceError: the folder has no gate.
            DataError: another version started the gate.
        """
        path = self.folder / STATE
        try:
            return msgspec.json.decode(path.read_bytes(), type=Home)
        except OSError as error:
            raise SourceError(
                f"there is no gate at '{self.folder / SOCKET}'",
                "Start one with 'plimsoll gate mount', which prints the path of its socket.",
            ) from error
        except (msgspec.DecodeError, ValueError) as error:
            raise DataError(f"another version of this program wrote '{path}'", "Start the gate again.") from error

    def save_home(self, home: Home) -> None:
        """Write what is emulated now to `gate.json`, atomically."""
        part = self.folder / f".{STATE}.part"
        part.write_bytes(msgspec.json.encode(home))
        # A rename is atomic (rename(2)): another process reads the old state or the new one, never a mix.
        part.replace(self.folder / STATE)

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """
        Send one question to the daemon and return its answer.

        Raises:
            SourceError: the daemon does not run, does not answer, or refuses.
        """
        try:
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(_PATIENCE_S)
                line.connect(str(self.folder / SOCKET))
                line.sendall(json.dumps(question).encode() + b"\n")
                with line.makefile("rb") as answers:
                    text = answers.readline(_ANSWER_BYTES_MAX)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise SourceError(
                f"the gate at '{self.folder / SOCKET}' does not answer: {reason}",
                "It has ended; start it again with 'plimsoll gate mount'.",
            ) from error
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise SourceError(
                f"the gate at '{self.folder / SOCKET}' ended without an answer",
                "Start it again with 'plimsoll gate mount'.",
            )
        if "error" in answer:
            raise SourceError(f"the gate refused: {answer['error']}", str(answer.get("hint") or ""))
        return answer

    def status(self) -> GateStatus:
        """
        Return the current state of the gate.

        Raises:
            SourceError: the gate does not answer.
        """
        return status_of(self.ask({"ask": "status"}))

    def change(self, instance: Instance, catalog: Catalog, *, is_restart: bool = False) -> None:
        """
        Give the running gate the limits of another class or storage.

        A stage that existed before keeps its share of credits; a new one starts full. AWS does not
        document what happens to credits when a class is changed.

        Args:
            instance: what is emulated from now on.
            catalog: the documented limits.
            is_restart: treat it as stopped and started, which replaces legacy limits with today's.

        Raises:
            UsageError: the instance has no documented storage limits, or the gate has limits from a file.
            CatalogError: its class is not in the catalog.
            SourceError: the gate does not answer.
        """
        home = self.home
        setup = msgspec.structs.replace(
            home.setup,
            instance=instance,
            stages=None,
            legacy=False if is_restart or _is_other_class(home.setup, instance) else home.setup.legacy,
        )
        chain = enforced_stages_of(setup, catalog)
        left = self.status().balance
        ratios = [_known(left.get(stage.name)) for stage in chain]
        self.ask({"ask": "set", "chain": chain_document(chain), "balance_ratio": ratios})
        for kind, text in _differences(home.setup, instance, is_restart=is_restart):
            self._log_change(GateChange(t=time.time(), text=text, kind=kind, instance=instance))
        self.save_home(msgspec.structs.replace(home, setup=setup))

    def set_limited(self, catalog: Catalog, *, is_limited: bool) -> None:
        """
        Enforce the limits, or let every request through: for work that an experiment does not count.

        Raises:
            SourceError: the gate does not answer.
        """
        home = self.home
        chain = enforced_stages_of(home.setup, catalog)
        if not is_limited:
            chain = tuple(part_of(stage, 1 / _LIFTED) for stage in chain)
        left = self.status().balance
        ratios = [_known(left.get(stage.name)) for stage in chain]
        self.ask({"ask": "set", "chain": chain_document(chain), "balance_ratio": ratios})
        text = "limits are enforced" if is_limited else "limits are not enforced"
        self._log_change(GateChange(t=time.time(), text=text))

    def set_balance(self, family: Family | str, ratio: float) -> None:
        """
        Set the credits of a stage: 1.0 grants a full bucket, 0.0 drains it.

        Raises:
            UsageError: the stage is unknown or has no credits, or the ratio is outside 0–1.
            SourceError: the gate does not answer.
        """
        name = family.value if isinstance(family, Family) else family
        if not 0 <= ratio <= 1:
            raise UsageError(f"a balance of {ratio:g} is not possible", "Give a share of the bucket, from 0 to 1.")
        chain = self.status().chain
        with_credits = [stage.name for stage in chain if has_credits(stage)]
        if name not in with_credits:
            raise UsageError(
                f"stage '{name}' has no credits here",
                f"Stages with credits: {', '.join(with_credits)}." if with_credits else "No stage has credits.",
            )
        self.ask({"ask": "balance", "stage": name, "ratio": ratio})
        text = f"balance of {name.replace('_', ' ')} set to {format_ratio(ratio)}"
        self._log_change(GateChange(t=time.time(), text=text))

    def changes(self) -> tuple[GateChange, ...]:
        """Return what was changed since the gate started, in order of time."""
        try:
            text = (self.folder / CHANGES).read_bytes()
        except FileNotFoundError:
            return ()
        return tuple(msgspec.json.decode(line, type=GateChange) for line in text.splitlines())

    def _log_change(self, change: GateChange) -> None:
        # One write for the line: other processes may append theirs at the same time (O_APPEND, open(2)).
        handle = os.open(self.folder / CHANGES, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, msgspec.json.encode(change) + b"\n")
        finally:
            os.close(handle)


def status_of(answer: dict[str, Any]) -> GateStatus:
    """
    Convert the daemon's answer to `status`.

    Raises:
        DataError: it is not a status.
    """
    try:
        chain = stages_of_document(answer.get("chain"))
        status = msgspec.convert(answer | {"chain": ()}, GateStatus)
        return msgspec.structs.replace(status, chain=chain)
    except (msgspec.ValidationError, DataError) as error:
        raise DataError(
            f"the gate's answer is not a status: {error}",
            "The gate and this program have different versions: build both again.",
        ) from error


def find_gate(at: Path | None) -> GateControl:
    """
    Return the gate at a socket or folder; without one, the only running gate of this account.

    Raises:
        SourceError: there is none.
        UsageError: there are several.
    """
    if at is not None:
        control = GateControl(at if at.is_dir() else at.parent)
        assert control.home  # Raises a SourceError if there is no gate.
        return control
    running = [control for control in known_gates() if is_alive(control)]
    if not running:
        raise SourceError("this account has no running gate", "Start one with 'plimsoll gate mount', or give --socket.")
    # Do not guess among several: that could spend the credits of the wrong gate.
    if len(running) > 1:
        sockets = ", ".join(str(control.folder / SOCKET) for control in running)
        raise UsageError(f"{len(running)} gates run here", f"Choose with --socket: {sockets}.")
    return running[0]


def known_gates() -> list[GateControl]:
    """Return every gate of this account that has a folder, running or not."""
    return [GateControl(path) for path in sorted(place.gates_folder().iterdir()) if (path / STATE).is_file()]


def is_alive(control: GateControl) -> bool:
    """
    Return whether a daemon listens at the gate's socket.

    A killed daemon may leave the socket open for a while, without answering.
    """
    with socket.socket(socket.AF_UNIX) as line, contextlib.suppress(OSError):
        line.settimeout(_PATIENCE_S)
        line.connect(str(control.folder / SOCKET))
        peer = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        pid, _, _ = _PEER.unpack(peer)
        # The number is 0 for a process in another PID namespace (pid_namespaces(7)).
        return pid == 0 or not place.has_ended(pid)
    return False


# struct ucred: process, user and group id (unix(7), SO_PEERCRED).
_PEER = struct.Struct("3i")


def _known(ratio: float | None) -> float:
    return 1.0 if ratio is None else min(max(ratio, 0.0), 1.0)


def _is_other_class(setup: GateSetup, instance: Instance) -> bool:
    return setup.stages is not None or setup.instance.db_class != instance.db_class


def _differences(setup: GateSetup, instance: Instance, *, is_restart: bool) -> Sequence[tuple[EventKind, str]]:
    """Return the events that an event log would have for the change."""
    found = []
    before = setup.instance
    if _is_other_class(setup, instance):
        was = setup.name if setup.stages is not None else before.db_class
        found.append((EventKind.CLASS_CHANGE, f"class {was} → {instance.db_class or 'none'}"))
    if before.storage != instance.storage:
        was, now = storage_of(before) or "none", storage_of(instance) or "none"
        found.append((EventKind.STORAGE_CHANGE, f"storage {was} → {now}"))
    if is_restart:
        found.append((EventKind.RESTART, "stopped and started"))
    return found
