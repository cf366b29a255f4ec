"""Declare options that `plimsoll gate` and both servers of `plimsoll lab` share."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from plimsoll.app.options import InstanceOptions
from plimsoll.cli.output import file_option

EMULATION = "Emulation"
LOAD = "Load"

WithCpu = Annotated[
    bool,
    typer.Option(
        "--with-cpu",
        help="Also limit CPU and memory to those of the class. Needs cgroup v2.",
        rich_help_panel=EMULATION,
    ),
]
Clock = Annotated[
    float,
    typer.Option(
        "--clock",
        metavar="N",
        help="Shorten bursts N times: with 60, a burst of 30 minutes lasts 30 s. Rates stay real; an emulated "
        "minute takes 60/N seconds.",
        rich_help_panel=EMULATION,
    ),
]

Credits = Annotated[
    float,
    typer.Option(
        "--credits",
        metavar="RATIO",
        help="Balance of every burst bucket at the start, 0 to 1.",
        rich_help_panel=EMULATION,
    ),
]

Duration = Annotated[
    str,
    typer.Option(
        "--for",
        metavar="TIME",
        help="Run the clients for this long in real time, for example 90s or 2m.",
        rich_help_panel=LOAD,
    ),
]

ClientCount = Annotated[
    int, typer.Option("--clients", metavar="N", min=1, max=500, help="Number of clients.", rich_help_panel=LOAD)
]

Rate = Annotated[
    float | None,
    typer.Option(
        "--rate",
        metavar="N",
        help="Transactions per second that all clients ask for together (default: as many as possible).",
        rich_help_panel=LOAD,
    ),
]

Keep = Annotated[
    bool, typer.Option("--keep", help="Do not delete the database's files afterwards.", rich_help_panel=LOAD)
]

SnapshotFile = Annotated[
    Path | None,
    file_option("Save what CloudWatch would have shown as a snapshot. FILE.truth.json gets what really happened."),
]


class RunFlags(Struct, frozen=True, kw_only=True):
    """Options of any run of the lab."""

    instance: InstanceOptions
    clock: float
    credits: float
    memory: str
    workload: str
    duration: str
    clients: int
    rate: float | None
    keeps: bool
    output: Path | None
    html: Path | None
    width: int | None
    has_cpu: bool = False
    """Whether the server is limited to the processors and memory of the class."""
