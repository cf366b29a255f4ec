"""
Composition of `plimsoll record host`: devices, database, command, loop, snapshot; or a capture.

This file starts and ends things in the right order; what they are is said elsewhere.
"""

import platform
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import Struct

from plimsoll.app.instance import with_flags
from plimsoll.app.moments import seconds_of
from plimsoll.app.options import InstanceOptions
from plimsoll.app.watching import Watching
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.errors import UsageError
from plimsoll.gate.command import ChildCommand
from plimsoll.lab.servers.postgres import Postgres
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources.host.device import choose, look, size_bytes
from plimsoll.sources.host.loop import Recording, RecordingPlan, record
from plimsoll.sources.host.reader import HostReader, SystemClock
from plimsoll.sources.host.snapshot import Host, instance_of, snapshot_of
from plimsoll.sources.postgres.pg_stat import DatabaseProbe, ServerFacts
from plimsoll.sources.targets.one import read_capture
from plimsoll.units import format_bytes_per_s, format_ops_per_s

# The finest step that counters of the kernel and sysstat have in common.
_DEFAULT_STEP_S = 1
# A minute shows a steady load, and is no long wait; a judgement.
_DEFAULT_DURATION_S = 60

# Without a command, the embedded server runs pgbench with as many clients as keep two processors
# busy, on tables (150 MB) that do not fit PostgreSQL's default 128 MB of buffers.
_DEFAULT_SCALE = 10
_DEFAULT_CLIENTS = 4


class HostFlags(Struct, frozen=True, kw_only=True):
    """What the command line says about recording a host."""

    device: str
    duration: str | None
    every: str | None
    """None for one second."""
    dsn: str | None
    command: tuple[str, ...]
    is_embedded: bool
    scale: int | None
    keeps_stdout: bool
    """Whether standard output is the snapshot's, so that the command must not write there."""
    instance: InstanceOptions
    capture: str | None = None
    """What another program measured, instead of counters: a file, or `-` for standard input."""
    is_inspecting: bool = False
    """Whether what goes on inside the database is observed, too."""


def record_host(flags: HostFlags) -> Snapshot:
    """
    Record this host.

    Raises:
        UsageError: flags that contradict each other, or name what this host has not.
        SourceError: counters or database cannot be read, or nothing was measured.
    """
    with_flags(Instance(), flags.instance)  # Flags that cannot be are refused now, not at the end.
    if flags.capture is not None:
        return _of_capture(flags, flags.capture)
    plan = _plan(flags)
    if flags.is_embedded and not flags.command:
        # Until pgbench has ended: its processes report their last counts as they end.
        flags = msgspec.structs.replace(
            flags, command=_pgbench(plan), scale=flags.scale or _DEFAULT_SCALE
        )
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
            raise UsageError(
                "--inspect needs a database", "Give --dsn, PLIMSOLL_DSN or --embedded-postgres."
            )
        probe = DatabaseProbe(dsn, clock.moment_s) if dsn else None
        if probe is not None:
            stack.callback(probe.close)
        server = _open(probe)
        host, reader = _host(flags, clock, server)
        _say(f"recording {', '.join(host.choice.devices)} ({host.choice.reason})")
        watching = Watching(dsn, _say) if flags.is_inspecting and dsn else None
        if watching is not None:
            stack.callback(watching.end)
        # The pool is left before the probe: its last reading has then come, or timed out.
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
            _say("")  # The line of progress has no end of its own.
        observation = watching.end() if watching is not None else None
        _see_out(command, recording)
    snapshot = snapshot_of(
        host,
        recording,
        instance=_instance(host, flags),
        program=command.name if command is not None else None,
    )
    return msgspec.structs.replace(snapshot, observation=observation)


def _of_capture(flags: HostFlags, capture: str) -> Snapshot:
    """Return the snapshot of what another program measured, elsewhere or before."""
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
                f"--from reads what was measured, and {name} is about measuring",
                "Leave one of them out; PLIMSOLL_DSN counts as --dsn.",
            )
    step_s = seconds_of(flags.every, "--every") if flags.every is not None else None
    path = Path(capture)
    if capture == "-" and sys.stderr.isatty():
        _say("reading standard input until it ends; Ctrl-C ends it early and keeps what came")
    with ended_like_ctrl_c():
        snapshot = read_capture(path, device=flags.device, step_s=step_s)
    instance = _claimed(snapshot.instance, flags)
    return msgspec.structs.replace(snapshot, instance=instance)


def _plan(flags: HostFlags) -> RecordingPlan:
    step_s = seconds_of(flags.every, "--every") if flags.every is not None else _DEFAULT_STEP_S
    duration_s = seconds_of(flags.duration, "--for") if flags.duration is not None else None
    if duration_s is not None and duration_s < step_s:
        raise UsageError(
            f"--for {flags.duration} is shorter than one step of {step_s} s",
            "Record longer, or with a shorter --every.",
        )
    if flags.is_embedded and flags.dsn:
        raise UsageError(
            "--dsn and --embedded-postgres name two databases",
            "Leave one out; PLIMSOLL_DSN counts as --dsn.",
        )
    if flags.scale is not None and not flags.is_embedded:
        raise UsageError(
            "--scale would write into a database that is not ours",
            "Use it with --embedded-postgres.",
        )
    if duration_s is None and not flags.command:
        duration_s = max(_DEFAULT_DURATION_S, step_s)
    return RecordingPlan(step_s=step_s, duration_s=duration_s)


def _embedded(flags: HostFlags, stack: ExitStack) -> Postgres | None:
    if not flags.is_embedded:
        return None
    postgres = stack.enter_context(Postgres())
    if flags.scale is not None:
        _say(f"filling a throwaway PostgreSQL with pgbench's tables at scale {flags.scale}")
        postgres.run("pgbench", "-i", "-q", "-s", str(flags.scale))
    return postgres


def _pgbench(plan: RecordingPlan) -> tuple[str, ...]:
    return ("pgbench", "-n", "-c", str(_DEFAULT_CLIENTS), "-j", "2", "-T", str(plan.duration_s))


def _command(flags: HostFlags, postgres: Postgres | None) -> ChildCommand | None:
    if not flags.command:
        return None
    return ChildCommand(
        flags.command,
        environment=postgres.environment if postgres is not None else None,
        output=sys.stderr if flags.keeps_stdout else None,
    )


def _open(probe: DatabaseProbe | None) -> ServerFacts | None:
    if probe is None:
        return None
    server = probe.open()
    if not server.is_here:
        raise UsageError(
            f"the database at {server.place} is on another machine than the counters",
            "Run 'plimsoll record host' on the database's own host; metrics of RDS come from "
            "exports of CloudWatch.",
        )
    return server


def _host(
    flags: HostFlags, clock: SystemClock, server: ServerFacts | None
) -> tuple[Host, HostReader]:
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


def _instance(host: Host, flags: HostFlags) -> Instance:
    """Return what the host stands for: itself, or the class that was claimed."""
    return _claimed(instance_of(host), flags)


def _claimed(instance: Instance, flags: HostFlags) -> Instance:
    """
    Return the instance with what the flags claim.

    With a claimed class, the documented rule says how many volumes its storage has, not the host.
    """
    if flags.instance.db_class is not None:
        storage = msgspec.structs.replace(instance.storage, volume_count=None)
        instance = msgspec.structs.replace(instance, storage=storage)
    return with_flags(instance, flags.instance)


def _see_out(command: ChildCommand | None, recording: Recording) -> None:
    """Wait for the command, or end it after Ctrl-C, and say how it ended."""
    if command is None:
        return
    try:
        if not command.is_over() and not recording.was_interrupted:
            _say(f"recorded; waiting for {command.name} to end")
        status = command.stop() if recording.was_interrupted else command.wait()
    except KeyboardInterrupt:
        status = command.stop()
    if status:
        how = f"was ended by signal {-status}" if status < 0 else f"failed with status {status}"
        _say(f"{command.name} {how}")


def _progress(plan: RecordingPlan) -> Callable[[int, Mapping[Metric, float]], None]:
    """Return a line on a terminal, written anew at every step; nothing elsewhere."""
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


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
