"""Declare the commands and options of `plimsoll gate`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import BOUGHT
from plimsoll.cli.output import FormOfTwo, TextOrJson
from plimsoll_lab.cli.gate import options as gate_options

_FILES_PANEL = "Files"


class Mode(StrEnum):
    """Where the limits are applied between files and disk."""

    FS = "fs"
    BLOCK = "block"


Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Page cache of the mount at most, for example 4GiB (default: this machine's memory).",
        rich_help_panel=gate_options.EMULATION,
    ),
]
Legacy = Annotated[
    bool | None,
    typer.Option(
        "--legacy/--present",
        help="The class's legacy limits, or today's (default: by --launched).",
        rich_help_panel=gate_options.EMULATION,
        show_default=False,
    ),
]
LatencyMs = Annotated[
    float | None,
    typer.Option(
        "--latency-ms",
        metavar="MS",
        help="Base latency of a request in ms (default: that of the storage type).",
        rich_help_panel=gate_options.EMULATION,
    ),
]
Limits = Annotated[
    Path | None,
    typer.Option(
        "--limits",
        metavar="FILE",
        help="Use the limits in this JSON file instead of a class and storage.",
        rich_help_panel=gate_options.EMULATION,
    ),
]
ModeOption = Annotated[
    Mode,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="fs passes a folder through. block puts ext4 on a loop device over an image, and needs root.",
        rich_help_panel=gate_options.EMULATION,
    ),
]
Backing = Annotated[
    Path | None,
    typer.Option(
        "--backing", metavar="DIR", help="Keep the data in this folder on the real disk.", rich_help_panel=_FILES_PANEL
    ),
]
MountPlace = Annotated[Path, typer.Argument(metavar="MOUNT", help="Folder where the files appear, empty or new.")]
MountOption = Annotated[
    Path | None,
    typer.Option(
        "--mount",
        metavar="DIR",
        help="Folder where the files appear (default: a temporary one).",
        rich_help_panel=_FILES_PANEL,
    ),
]
Metrics = Annotated[
    Path | None,
    typer.Option(
        "--metrics",
        metavar="FILE",
        help="Write the last emulated minute to this file as OpenMetrics.",
        rich_help_panel=_FILES_PANEL,
    ),
]
Command = Annotated[
    list[str], typer.Argument(metavar="-- COMMAND", help="Command to run in the mount.", show_default=False)
]
Socket = Annotated[
    Path | None,
    typer.Option("--socket", metavar="PATH", help="Socket of the gate (default: that of the only running one)."),
]
Balance = Annotated[
    list[str] | None,
    typer.Option(
        "--balance",
        metavar="NAME=RATIO",
        help="Set the credits of byte, io, volume or a named stage to a ratio from 0 to 1. Repeatable.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    gate = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Run programs in a folder that has the storage limits of an RDS instance.",
    )
    gate.command("mount")(expand(mount, instance=BOUGHT))
    gate.command("run")(expand(run, instance=BOUGHT))
    gate.command("status")(status)
    gate.command("set")(expand(change, instance=BOUGHT.without("launched")))
    gate.command("events")(events)
    app.add_typer(gate, name="gate")


def mount(
    place: MountPlace,
    clock: gate_options.Clock = 1.0,
    balance: gate_options.Credits = 1.0,
    memory: Memory = None,
    legacy: Legacy = None,
    latency_ms: LatencyMs = None,
    limits: Limits = None,
    mode: ModeOption = Mode.FS,
    backing: Backing = None,
    metrics: Metrics = None,
    output: gate_options.SnapshotFile = None,
    *,
    instance: InstanceOptions,
) -> None:
    """
    Mount a folder with an instance's limits until Ctrl-C.

    For example: plimsoll gate mount --class db.t3.xlarge ./data. The files in MOUNT are kept in --backing
    (default: MOUNT.data).
    """
    from plimsoll_lab.cli.gate.run import GateFlags, mount_until_ended

    flags = GateFlags(
        instance=instance,
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
    raise typer.Exit(mount_until_ended(flags))


def run(
    command: Command,
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
    output: gate_options.SnapshotFile = None,
    *,
    instance: InstanceOptions,
) -> None:
    """
    Run a command in a folder with an instance's limits.

    For example: plimsoll gate run --class db.t3.xlarge -o run.json -- ./load.sh. The variable GATE_DIR holds
    the path of the mount.

    Exit status: that of the command; 2 if this machine was slower than the emulated one, so that the run proves
    nothing.
    """
    from plimsoll_lab.cli.gate.run import GateFlags, run_in_gate

    flags = GateFlags(
        instance=instance,
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


def status(socket: Socket = None, form: FormOfTwo = TextOrJson.TEXT) -> None:
    """Print the state of a gate: rates of the last second, queue, balances, the limit that binds."""
    from plimsoll_lab.cli.gate.ask import show_status

    show_status(socket, is_json=form == TextOrJson.JSON)


def change(
    socket: Socket = None,
    balance: Balance = None,
    grant: Annotated[bool, typer.Option("--grant", help="Fill every bucket.")] = False,
    drain: Annotated[bool, typer.Option("--drain", help="Empty every bucket.")] = False,
    restart: Annotated[
        bool,
        typer.Option("--restart", help="Emulate a stop and a start: the instance gets today's limits of its class."),
    ] = False,
    *,
    instance: InstanceOptions,
) -> None:
    """Change the class, storage or credits of a running gate."""
    from plimsoll_lab.cli.gate.ask import Orders, give_orders

    give_orders(
        socket, Orders(instance=instance, balances=tuple(balance or ()), grant=grant, drain=drain, restart=restart)
    )


def events(
    socket: Socket = None, past: Annotated[bool, typer.Option("--past", help="Begin with the events so far.")] = False
) -> None:
    """Print every change of a gate and the rates of each second as lines of JSON, until it ends."""
    from plimsoll_lab.cli.gate.ask import follow

    follow(socket, from_start=past)
