"""
Run `plimsoll gate mount` and `plimsoll gate run`.

This file starts and stops gate, command and outputs in the right order; other files define them.
"""

import re
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from secrets import token_hex
from shutil import get_terminal_size
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.instance import with_flags
from plimsoll.app.options import InstanceOptions
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.output import check_ending, check_snapshot, check_writable
from plimsoll.errors import DataError, SourceError, UsageError
from plimsoll.model.instance import Instance
from plimsoll.sources.host.child_command import ChildCommand
from plimsoll_lab.cli.amounts import bytes_of
from plimsoll_lab.cli.gate import words as gate_words
from plimsoll_lab.gate import place
from plimsoll_lab.gate.class_group import ClassGroup
from plimsoll_lab.gate.config import GateSetup, Latency, OwnLimits, check_setup, parse_limits, stages_of
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.record import MINUTE_S, encode_truth, minutes_of
from plimsoll_lab.gate.users import User, user_names

# The storage rules of RDS depend on the engine; most of our users run this one.
DEFAULT_ENGINE = "postgres"
_GLANCE_S = 1.0
_VOID = 2

# A command that ended may have left a server in the mount, and in a script nobody presses Ctrl-C. A
# minute is the time that pg_ctl gives a server to shut down (PostgreSQL docs, PGCTLTIMEOUT).
_PATIENCE_S = 60.0


class GateFlags(Struct, frozen=True, kw_only=True):
    """Options of a gate."""

    instance: InstanceOptions
    clock: float
    credits: float
    memory: str | None
    legacy: bool | None
    latency_ms: float | None
    limits: Path | None
    mode: Literal["fs", "block"]
    backing: Path | None
    mount: Path | None
    metrics: Path | None
    output: Path | None
    has_cpu: bool = False
    """Whether the command is limited to the processors and memory of the class."""


def mount_until_ended(flags: GateFlags) -> int:
    """
    Mount a gate, and wait until Ctrl-C or until it is unmounted.

    Returns:
        Exit status: 0, or 2 if this machine was slower than the emulated one.

    Raises:
        PlimsollError: it cannot be mounted, or the daemon failed.
    """
    setup = setup_of(flags)
    assert flags.mount is not None
    _check_files(flags)
    backing = flags.backing or flags.mount.absolute().with_name(flags.mount.absolute().name + ".data")
    gate = Gate(setup, backing, flags.mount)
    # A signal during the mount must still unmount the gate, so handle signals before mounting.
    with ended_like_ctrl_c():
        try:
            with gate:
                _print_line(f"{gate_words.emulated(setup)} at {gate.mount}, {minutes_of(setup)}")
                _print_line(f"data: {gate.backing} · socket: {gate.socket_path} · Ctrl-C unmounts")
                _until_ctrl_c(gate, flags)
                # A second Ctrl-C unmounts even if processes still use the mount.
                gate.release(_name_users, None)
        except KeyboardInterrupt:
            if not gate.is_started:
                raise
            _end_line()
        gate.check()
    return _finish(gate, flags)


def run_in_gate(flags: GateFlags, argv: tuple[str, ...]) -> int:
    """
    Mount a gate, run a command in it, unmount, and print the limits that the command reached.

    Returns:
        Exit status: that of the command (128 plus the number of the signal that ended it), or 2 if this
        machine was slower than the emulated one.

    Raises:
        PlimsollError: it cannot be mounted, the command cannot be run, or the daemon failed.
    """
    setup = setup_of(flags)
    _check_files(flags)
    scratch = place.disk_folder() / f"plimsoll-gate-{token_hex(6)}"
    mount = flags.mount or scratch
    backing = flags.backing or scratch.with_name(f"{scratch.name}.data")
    also_remove = () if flags.backing is not None else (backing,)
    gate = Gate(setup, backing, mount, also_remove=also_remove)
    group = group_of(setup) if flags.has_cpu else None
    with ended_like_ctrl_c(), ExitStack() as stack:
        for folder in also_remove:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.enter_context(gate)
        where = {"GATE_DIR": str(gate.mount)}
        command = ChildCommand(argv, environment=where, directory=gate.mount)
        if group is not None:
            joined = stack.enter_context(group).joining(argv)
            name, command = (command.name, ChildCommand(joined, environment=where, directory=gate.mount))
            command.name = name
        stack.callback(command.stop)
        _print_line(f"{gate_words.emulated(setup)} at {gate.mount}, {minutes_of(setup)}")
        command.start()
        try:
            _watch(gate, flags, command)
            status = command.wait() if command.is_over() else command.stop()
        except KeyboardInterrupt:
            _end_line()
            status = command.stop()
        with suppress(KeyboardInterrupt):
            gate.release(_name_users, _PATIENCE_S)
        gate.stop()
        gate.check()
        void = _finish(gate, flags)
    assert status is not None
    if status:
        how = f"was ended by signal {-status}" if status < 0 else f"failed with status {status}"
        _print_line(f"{command.name} {how}")
    return void or (128 - status if status < 0 else status)


def _check_files(flags: GateFlags) -> None:
    check_snapshot(flags.output)
    check_ending(flags.metrics, "--metrics writes OpenMetrics", (".prom", ".txt"))
    check_writable(flags.metrics)


def group_of(setup: GateSetup) -> ClassGroup:
    """
    Return a control group with the processors and the memory of the emulated class.

    Raises:
        UsageError: no class was given, or this machine has fewer.
    """
    from plimsoll.catalog.load import catalog

    db_class = setup.instance.db_class
    if db_class is None or setup.stages is not None:
        raise UsageError("--with-cpu needs a class", "Add --class db.…, or leave out --with-cpu.")
    return ClassGroup(catalog().instance_limits(db_class))


def setup_of(flags: GateFlags) -> GateSetup:
    """
    Return the gate that the flags describe.

    Raises:
        UsageError: flags that contradict each other, or storage that RDS does not offer.
        CatalogError: an unknown class.
        DataError: limits of a file that cannot be read.
    """
    own = _own_limits(flags)
    wanted = flags.instance
    if own is None and wanted.storage is not None and wanted.engine is None:
        wanted = replace(wanted, engine=DEFAULT_ENGINE)
    instance = with_flags(Instance(identifier=wanted.identifier or "gate"), wanted)
    latency = own.latency if own is not None else None
    if flags.latency_ms is not None:
        latency = Latency(read_s=flags.latency_ms / 1e3, write_s=flags.latency_ms / 1e3)
    setup = GateSetup(
        instance=instance,
        clock=flags.clock,
        credits=flags.credits,
        memory_bytes=None if flags.memory is None else bytes_of(flags.memory, "--memory"),
        legacy=flags.legacy,
        mode=flags.mode,
        stages=own.stages if own is not None else None,
        limits_name=flags.limits.name if flags.limits is not None else "",
        latency=latency,
    )
    check_setup(setup)
    return setup if own is not None else _bought(setup)


def _bought(setup: GateSetup) -> GateSetup:
    """Return the setup with the class as the catalog spells it; refuse what RDS does not offer."""
    from plimsoll.catalog.load import catalog
    from plimsoll.limits.purchase import check_purchase

    facts = catalog()
    instance = setup.instance
    if instance.db_class is not None:
        instance = replace(instance, db_class=facts.instance_limits(instance.db_class).db_class)
    check_purchase(instance, facts)
    setup = replace(setup, instance=instance)
    stages_of(setup, facts)
    return setup


def _own_limits(flags: GateFlags) -> OwnLimits | None:
    if flags.limits is None:
        return None
    wanted = flags.instance
    given = (wanted.db_class, wanted.storage, wanted.size_gib, wanted.iops, wanted.throughput_mibps)
    if any(value is not None for value in given) or flags.legacy is not None:
        raise UsageError("--limits replaces class and storage, but both were given", "Leave out one of them.")
    try:
        text = flags.limits.read_bytes()
    except OSError as error:
        raise UsageError(
            f"'{flags.limits}' cannot be read: {(error.strerror or str(error)).lower()}",
            "Give a JSON file with a chain of limits.",
        ) from error
    return parse_limits(text, flags.limits.name)


def truth_path(output: Path) -> Path:
    """Return the file with the recorded truth of a snapshot: `run.truth.json` for `run.json`."""
    name = re.sub(r"(\.json)?(\.gz)?$", "", output.name, flags=re.IGNORECASE)
    return output.with_name(f"{name}.truth.json")


def _until_ctrl_c(gate: Gate, flags: GateFlags) -> None:
    try:
        _watch(gate, flags)
    except KeyboardInterrupt:
        _end_line()


def _name_users(users: Sequence[User]) -> None:
    _print_line(f"limits lifted; the mount is still in use by {user_names(users)}")
    _print_line("it is unmounted when they have closed it; Ctrl-C unmounts now, and they get errors")


def _watch(gate: Gate, flags: GateFlags, command: ChildCommand | None = None) -> None:
    """Show progress and write the file of metrics until the gate or the command has ended."""
    began = time.monotonic()
    minute = -1
    is_over = False
    while not is_over:
        is_over = gate.wait(_GLANCE_S) if command is None else _is_over(gate, command)
        passed_s = time.monotonic() - began
        if not is_over and sys.stderr.isatty():
            # A gate that ends at this moment is noticed in the next iteration.
            with suppress(SourceError):
                line = gate_words.progress(gate.status(), passed_s, get_terminal_size().columns)
                sys.stderr.write(f"\r\033[K{line}")
                sys.stderr.flush()
        if flags.metrics is not None and (now := int(passed_s * flags.clock) // MINUTE_S) > minute:
            minute = now
            _write_metrics(gate, flags.metrics)
    _end_line()


def _is_over(gate: Gate, command: ChildCommand) -> bool:
    """Wait a second, or until the command or the gate has ended; return whether one has."""
    end = time.monotonic() + _GLANCE_S
    while (left := end - time.monotonic()) > 0:
        if command.is_over() or gate.wait(min(left, _GLANCE_S / 20)):
            return True
    return False


def _write_metrics(gate: Gate, path: Path) -> None:
    from plimsoll.reports.files.file import write_aside
    from plimsoll_lab.reports.openmetrics import render_openmetrics

    try:
        snapshot = gate.last_minutes()
    except DataError:  # No whole minute yet.
        return
    write_aside(path, render_openmetrics(snapshot).encode())


def _finish(gate: Gate, flags: GateFlags) -> int:
    """Print the limits that were reached, write the outputs, and return the exit status."""
    truth = gate.truth()
    if truth.moments:
        sys.stderr.write(gate_words.run_text(truth, gate.setup))
    if flags.output is not None:
        from plimsoll.reports.files.file import write_aside
        from plimsoll.reports.files.snapshot import write_snapshot

        truth_file = truth_path(flags.output)
        write_aside(truth_file, encode_truth(truth, gate.setup, gate.changes()))
        write_snapshot(flags.output, gate.snapshot())
        _print_line(f"snapshot: {flags.output} · truth: {truth_file}")
    return _VOID if truth.is_void else 0


def _end_line() -> None:
    """End the progress line, which has no line break of its own."""
    if sys.stderr.isatty():
        _print_line("")


def _print_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
