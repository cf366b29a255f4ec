"""`plimsoll gate`: a folder behind an instance's limits, for whatever runs in it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions
from plimsoll.cli import options
from plimsoll.cli.gate import options as gate_options
from plimsoll.cli.output import FormOfTwo, TextOrJson

_PLACES = "Where"


class Mode(StrEnum):
    """How the limits stand between the files and the disk."""

    FS = "fs"
    BLOCK = "block"


Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Most page cache that the mount holds, as 4GiB. Without it this machine's memory.",
        rich_help_panel=gate_options.EMULATION,
    ),
]
Legacy = Annotated[
    bool | None,
    typer.Option(
        "--legacy/--present",
        help="The class's legacy limits, or today's. Without it what --launched says.",
        rich_help_panel=gate_options.EMULATION,
        show_default=False,
    ),
]
LatencyMs = Annotated[
    float | None,
    typer.Option(
        "--latency-ms",
        metavar="MS",
        help="Base latency of a request. Without it that of the storage type.",
        rich_help_panel=gate_options.EMULATION,
    ),
]
Limits = Annotated[
    Path | None,
    typer.Option(
        "--limits",
        metavar="FILE",
        help="A chain of limits of your own, as JSON, in place of class and storage.",
        rich_help_panel=gate_options.EMULATION,
    ),
]
ModeOption = Annotated[
    Mode,
    typer.Option(
        "--mode",
        help="fs passes a folder through; block puts ext4 on a loop device over an image (root).",
        rich_help_panel=gate_options.EMULATION,
    ),
]
Backing = Annotated[
    Path | None,
    typer.Option(
        "--backing",
        metavar="DIR",
        help="Folder on the real disk that holds the data, and keeps it.",
        rich_help_panel=_PLACES,
    ),
]
MountPlace = Annotated[
    Path,
    typer.Argument(metavar="MOUNT", help="Empty folder at which the files appear, or a new one."),
]
MountOption = Annotated[
    Path | None,
    typer.Option(
        "--mount",
        metavar="DIR",
        help="Folder at which the files appear. Without it a temporary one.",
        rich_help_panel=_PLACES,
    ),
]
Metrics = Annotated[
    Path | None,
    typer.Option(
        "--metrics",
        metavar="FILE",
        help="Keep the last emulated minute in this file, as OpenMetrics.",
        rich_help_panel=_PLACES,
    ),
]
Command = Annotated[
    list[str],
    typer.Argument(metavar="-- COMMAND", help="What runs in the mount.", show_default=False),
]
Socket = Annotated[
    Path | None,
    typer.Option("--socket", metavar="PATH", help="Which gate. Without it the only one that runs."),
]
Balance = Annotated[
    list[str] | None,
    typer.Option(
        "--balance",
        metavar="NAME=RATIO",
        help="Set credits: byte, io, volume or a stage's name, 0 to 1; may be repeated.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    gate = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help=(
            "Put a folder behind the storage limits of an instance, burst credits included, and see "
            "what a real server does there."
        ),
    )
    gate.command("mount")(mount)
    gate.command("run")(run)
    gate.command("status")(status)
    gate.command("set")(change)
    gate.command("events")(events)
    app.add_typer(gate, name="gate")


def mount(
    place: MountPlace,
    db_class: options.DbClass = None,
    engine: options.Engine = None,
    storage: options.StorageKind = None,
    size_gib: options.SizeGib = None,
    iops: options.Iops = None,
    throughput_mibps: options.ThroughputMibps = None,
    launched: options.Launched = None,
    clock: gate_options.Clock = 1.0,
    balance: gate_options.Credits = 1.0,
    memory: Memory = None,
    legacy: Legacy = None,
    latency_ms: LatencyMs = None,
    limits: Limits = None,
    mode: ModeOption = Mode.FS,
    backing: Backing = None,
    metrics: Metrics = None,
    output: gate_options.Output = None,
) -> None:
    """
    Mount, and stay until Ctrl-C: plimsoll gate mount --class db.t3.xlarge ./data.

    Files in MOUNT are stored in --backing (MOUNT.data without it) and stay there.
    """
    from plimsoll.cli.gate.run import GateFlags, mount_until_told

    flags = GateFlags(
        instance=_instance(db_class, engine, storage, size_gib, iops, throughput_mibps, launched),
        clock=clock,
        credits=balance,
        memory=memory,
        legacy=legacy,
        latency_ms=latency_ms,
        limits=limits,
        mode=mode.value,
        backing=backing,
        mount=place,
        metrics=metrics,
        output=output,
    )
    raise typer.Exit(mount_until_told(flags))


def run(
    command: Command,
    db_class: options.DbClass = None,
    engine: options.Engine = None,
    storage: options.StorageKind = None,
    size_gib: options.SizeGib = None,
    iops: options.Iops = None,
    throughput_mibps: options.ThroughputMibps = None,
    launched: options.Launched = None,
    clock: gate_options.Clock = 1.0,
    balance: gate_options.Credits = 1.0,
    memory: Memory = None,
    legacy: Legacy = None,
    latency_ms: LatencyMs = None,
    limits: Limits = None,
    mode: ModeOption = Mode.FS,
    with_cpu: gate_options.WithCpu = False,
    backing: Backing = None,
    place: MountOption = None,
    metrics: Metrics = None,
    output: gate_options.Output = None,
) -> None:
    """
    Mount, run a command in the mount, unmount: plimsoll gate run … -o run.json -- ./load.sh.

    GATE_DIR names the mount. Exit status: that of the command; 2 if this machine was slower than what
    it was to emulate, so that the run proves nothing.
    """
    from plimsoll.cli.gate.run import GateFlags, run_in_gate

    flags = GateFlags(
        instance=_instance(db_class, engine, storage, size_gib, iops, throughput_mibps, launched),
        clock=clock,
        credits=balance,
        memory=memory,
        legacy=legacy,
        latency_ms=latency_ms,
        limits=limits,
        mode=mode.value,
        backing=backing,
        mount=place,
        metrics=metrics,
        output=output,
        has_cpu=with_cpu,
    )
    raise typer.Exit(run_in_gate(flags, tuple(command)))


def status(
    socket: Socket = None,
    form: FormOfTwo = TextOrJson.TEXT,
) -> None:
    """Print how a gate stands: rates of the last second, queue, balances, what binds."""
    from plimsoll.cli.gate.ask import show_status

    show_status(socket, is_json=form == TextOrJson.JSON)


def change(
    socket: Socket = None,
    db_class: options.DbClass = None,
    engine: options.Engine = None,
    storage: options.StorageKind = None,
    size_gib: options.SizeGib = None,
    iops: options.Iops = None,
    throughput_mibps: options.ThroughputMibps = None,
    balance: Balance = None,
    grant: Annotated[bool, typer.Option("--grant", help="Fill every bucket.")] = False,
    drain: Annotated[bool, typer.Option("--drain", help="Empty every bucket.")] = False,
    restart: Annotated[
        bool,
        typer.Option("--restart", help="As if stopped and started: today's limits of the class."),
    ] = False,
) -> None:
    """Change class, storage or credits of a gate while it runs."""
    from plimsoll.cli.gate.ask import Orders, give_orders

    give_orders(
        socket,
        Orders(
            instance=_instance(db_class, engine, storage, size_gib, iops, throughput_mibps, None),
            balances=tuple(balance or ()),
            grant=grant,
            drain=drain,
            restart=restart,
        ),
    )


def events(
    socket: Socket = None,
    past: Annotated[
        bool, typer.Option("--past", help="Begin with what has happened so far.")
    ] = False,
) -> None:
    """Follow a gate: each change and the truth of each second, as lines of JSON, until it ends."""
    from plimsoll.cli.gate.ask import follow

    follow(socket, from_start=past)


def _instance(
    db_class: str | None,
    engine: str | None,
    storage: str | None,
    size_gib: float | None,
    iops: float | None,
    throughput_mibps: float | None,
    launched: str | None,
) -> InstanceOptions:
    return InstanceOptions(
        db_class=db_class,
        engine=engine,
        storage=storage,
        size_gib=size_gib,
        iops=iops,
        throughput_mibps=throughput_mibps,
        launched=launched,
    )
