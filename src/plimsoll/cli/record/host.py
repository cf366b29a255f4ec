"""
Run `plimsoll record host`: sample this host, or read another program's output, into a snapshot.

This file starts and stops database, command and sampling in the right order; other files define them.
"""

import platform
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol, Self

import msgspec

from plimsoll.app.instance import with_flags
from plimsoll.app.moments import seconds_of
from plimsoll.app.observing import Observing
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.record.command import HostOptions
from plimsoll.errors import ExtraMissing, UsageError
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.parts import added
from plimsoll.sources.host.child_command import ChildCommand
from plimsoll.sources.host.device import choose, look, size_bytes
from plimsoll.sources.host.loop import Recording, RecordingPlan, record
from plimsoll.sources.host.reader import HostReader, SystemClock
from plimsoll.sources.host.snapshot import Host, instance_of, snapshot_of
from plimsoll.sources.postgres.pg_stat import DatabaseProbe, ServerFacts
from plimsoll.sources.targets.one import read_capture
from plimsoll.units import format_bytes_per_s, format_ops_per_s

# sysstat's programs take whole seconds, so 1 s is the finest step that all inputs share (iostat(1), sar(1)).
_DEFAULT_STEP_S = 1
# A judgement: a minute shows a steady load, and is not long to wait.
_DEFAULT_DURATION_S = 60

# A judgement: four clients keep two processors busy, and tables of scale 10 (150 MB) exceed PostgreSQL's
# default shared_buffers of 128 MB.
_DEFAULT_SCALE = 10
_DEFAULT_CLIENTS = 4


class Server(Protocol):
    """A throwaway PostgreSQL, which runs while its `with` block lasts."""

    @property
    def dsn(self) -> str:
        """Return its connection string."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Return variables with which its programs are found and connect."""

    def run(self, *argv: str) -> str:
        """Run one of its programs, and return its output."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


def record_host(flags: HostOptions) -> Snapshot:
    """
    Record this host.

    Raises:
        UsageError: flags that contradict each other, or name something this host does not have.
        SourceError: counters or database cannot be read, or nothing was measured.
    """
    with_flags(Instance(), flags.instance)  # Refuses flags that are not valid now, not at the end.
    if flags.capture is not None:
        return _of_capture(flags, flags.capture)
    plan = _plan(flags)
    if flags.is_embedded and not flags.command:
        # Record until pgbench has ended: server processes report their last counts when they exit
        # (pgstat_shutdown_hook in PostgreSQL's pgstat.c).
        flags = msgspec.structs.replace(flags, command=_pgbench(plan), scale=flags.scale or _DEFAULT_SCALE)
        plan = RecordingPlan(step_s=plan.step_s, duration_s=None)
    with ExitStack() as stack:
        stack.enter_context(ended_like_ctrl_c())
        postgres = _embedded(flags, stack)
        command = _command(flags, postgres)
        if command is not None:
            stack.callback(command.stop)
        clock = SystemClock()
        dsn = postgres.dsn if postgres is not None else flags.dsn
        if flags.is_inspecting and not dsn:
            raise UsageError("--inspect needs a database", "Give --dsn, PLIMSOLL_DSN or --embedded-postgres.")
        probe = DatabaseProbe(dsn, clock.moment_s) if dsn else None
        if probe is not None:
            stack.callback(probe.close)
        server = _open(probe)
        host, reader = _host(flags, clock, server)
        _print_line(f"recording {', '.join(host.choice.devices)} ({host.choice.reason})")
        observing = Observing(dsn, _print_line) if flags.is_inspecting and dsn else None
        if observing is not None:
            stack.callback(observing.end)
        # The stack ends the pool before the probe, so the last reading has returned or timed out by then.
        pool = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        recording = record(
            plan,
            clock=clock,
            read_host=reader.read,
            devices=host.choice.devices,
            read_database=probe.read if probe is not None else None,
            submit=pool.submit,
            on_start=command.start if command is not None else _nothing,
            is_over=command.is_over if command is not None else None,
            on_step=_progress(plan),
        )
        if sys.stderr.isatty():
            _print_line("")  # The line of progress has no end of its own.
        observation = observing.end() if observing is not None else None
        _see_out(command, recording)
    snapshot = snapshot_of(
        host, recording, instance=_instance(host, flags), program=command.name if command is not None else None
    )
    return msgspec.structs.replace(snapshot, observation=observation)


def _of_capture(flags: HostOptions, capture: str) -> Snapshot:
    """Read the output of another program into a snapshot."""
    for name, is_given in (
        ("--for", flags.duration is not None),
        ("--dsn", bool(flags.dsn)),
        ("--embedded-postgres", flags.is_embedded),
        ("--scale", flags.scale is not None),
        ("a command", bool(flags.command)),
        ("--inspect", flags.is_inspecting),
    ):
        if is_given:
            raise UsageError(
                f"--from reads an earlier measurement, so {name} has no effect",
                "Leave one of them out; PLIMSOLL_DSN counts as --dsn.",
            )
    step_s = seconds_of(flags.every, "--every") if flags.every is not None else None
    path = Path(capture)
    if capture == "-" and sys.stderr.isatty():
        _print_line("reading standard input until it ends; Ctrl-C ends it early and keeps what was read")
    with ended_like_ctrl_c():
        snapshot = read_capture(path, device=flags.device, step_s=step_s)
    instance = _claimed(snapshot.instance, flags)
    return msgspec.structs.replace(snapshot, instance=instance)


def _plan(flags: HostOptions) -> RecordingPlan:
    step_s = seconds_of(flags.every, "--every") if flags.every is not None else _DEFAULT_STEP_S
    duration_s = seconds_of(flags.duration, "--for") if flags.duration is not None else None
    if duration_s is not None and duration_s < step_s:
        raise UsageError(
            f"--for {flags.duration} is shorter than one step of {step_s} s",
            "Record for longer, or with a shorter --every.",
        )
    if flags.is_embedded and flags.dsn:
        raise UsageError(
            "--dsn and --embedded-postgres name two databases", "Leave one out; PLIMSOLL_DSN counts as --dsn."
        )
    if flags.scale is not None and not flags.is_embedded:
        raise UsageError(
            "--scale writes tables, and only a temporary PostgreSQL may be filled", "Use it with --embedded-postgres."
        )
    if duration_s is None and not flags.command:
        duration_s = max(_DEFAULT_DURATION_S, step_s)
    return RecordingPlan(step_s=step_s, duration_s=duration_s)


def _embedded(flags: HostOptions, stack: ExitStack) -> Server | None:
    if not flags.is_embedded:
        return None
    made = added("plimsoll.servers").get("postgres")
    if made is None:
        raise ExtraMissing.naming("a throwaway PostgreSQL", "lab", "Or name an installed one.")
    postgres: Server = stack.enter_context(made())
    if flags.scale is not None:
        _print_line(f"filling a temporary PostgreSQL with pgbench's tables at scale {flags.scale}")
        postgres.run("pgbench", "-i", "-q", "-s", str(flags.scale))
    return postgres


def _pgbench(plan: RecordingPlan) -> tuple[str, ...]:
    return ("pgbench", "-n", "-c", str(_DEFAULT_CLIENTS), "-j", "2", "-T", str(plan.duration_s))


def _command(flags: HostOptions, postgres: Server | None) -> ChildCommand | None:
    if not flags.command:
        return None
    return ChildCommand(
        flags.command,
        environment=postgres.environment if postgres is not None else None,
        output=sys.stderr if flags.output == "-" else None,
    )


def _open(probe: DatabaseProbe | None) -> ServerFacts | None:
    if probe is None:
        return None
    server = probe.open()
    if not server.is_here:
        raise UsageError(
            f"the database at {server.place} is not on this host, whose counters are recorded",
            "Run 'plimsoll record host' on the database's host. For RDS, record rds:NAME or an export of CloudWatch.",
        )
    return server


def _host(flags: HostOptions, clock: SystemClock, server: ServerFacts | None) -> tuple[Host, HostReader]:
    data = server.data_directory if server is not None else None
    choice = choose(flags.device, look(data or str(Path.cwd())))
    reader = HostReader(devices=choice.devices, mount=choice.mount, clock=clock)
    host = Host(
        name=platform.node() or "host",
        choice=choice,
        reading=reader.read(),
        device_bytes=size_bytes(choice.devices),
        server=server,
    )
    return host, reader


def _instance(host: Host, flags: HostOptions) -> Instance:
    """Return the instance that the host represents: itself, or the given class."""
    return _claimed(instance_of(host), flags)


def _claimed(instance: Instance, flags: HostOptions) -> Instance:
    """
    Return the instance with the flags applied.

    If a class is given, the documented rule for its storage sets the number of volumes, not the host.
    """
    if flags.instance.db_class is not None:
        storage = msgspec.structs.replace(instance.storage, volume_count=None)
        instance = msgspec.structs.replace(instance, storage=storage)
    return with_flags(instance, flags.instance)


def _see_out(command: ChildCommand | None, recording: Recording) -> None:
    """Wait for the command, or stop it after Ctrl-C, and print how it failed if it did."""
    if command is None:
        return
    try:
        if not command.is_over() and not recording.was_interrupted:
            _print_line(f"recorded; waiting for {command.name} to end")
        status = command.stop() if recording.was_interrupted else command.wait()
    except KeyboardInterrupt:
        status = command.stop()
    if status:
        how = f"was ended by signal {-status}" if status < 0 else f"failed with status {status}"
        _print_line(f"{command.name} {how}")


def _progress(plan: RecordingPlan) -> Callable[[int, Mapping[Metric, float]], None]:
    """Return a function that rewrites a progress line at every step; it does nothing without a terminal."""
    if not sys.stderr.isatty():
        return _nothing
    total = f" of {plan.duration_s}" if plan.duration_s is not None else ""

    def show(steps: int, values: Mapping[Metric, float]) -> None:
        rates = "missed"
        if Metric.READ_BYTES_PER_S in values:
            served = values[Metric.READ_BYTES_PER_S] + values[Metric.WRITE_BYTES_PER_S]
            ops = values[Metric.READ_OPS_PER_S] + values[Metric.WRITE_OPS_PER_S]
            rates = f"{format_bytes_per_s(served)}, {format_ops_per_s(ops)}"
        sys.stderr.write(f"\r\033[K{steps * plan.step_s}{total} s: {rates}")
        sys.stderr.flush()

    return show


def _nothing(*_: object) -> None:
    """Do nothing."""


def _print_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
