"""Options that `plimsoll gate` and both servers of `plimsoll lab` share."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from plimsoll.app.options import InstanceOptions

EMULATION = "What is emulated"
LOAD = "What it does"

WithCpu = Annotated[
    bool,
    typer.Option(
        "--with-cpu",
        help="Also limit CPU and memory to those of the class (cgroup v2).",
        rich_help_panel=EMULATION,
    ),
]
Clock = Annotated[
    float,
    typer.Option(
        "--clock",
        metavar="N",
        help="Credit clock: buckets hold an N-th of their credits, so that with 60 a burst of 30 "
        "minutes lasts 30 s. Rates stay real. One emulated minute is 60/N seconds.",
        rich_help_panel=EMULATION,
    ),
]

Credits = Annotated[
    float,
    typer.Option(
        "--credits",
        metavar="RATIO",
        help="Balance of every bucket at the start, 0 to 1.",
        rich_help_panel=EMULATION,
    ),
]

Duration = Annotated[
    str,
    typer.Option(
        "--for",
        metavar="TIME",
        help="How long the clients work, in real time: 90s, 2m.",
        rich_help_panel=LOAD,
    ),
]

ClientCount = Annotated[
    int,
    typer.Option(
        "--clients", min=1, max=500, help="Clients that work at once.", rich_help_panel=LOAD
    ),
]

Rate = Annotated[
    float | None,
    typer.Option(
        "--rate",
        metavar="N",
        help="Transactions per second that the clients ask for together. Default: as many as they "
        "get.",
        rich_help_panel=LOAD,
    ),
]

Keep = Annotated[
    bool,
    typer.Option("--keep", help="Leave the database's files where they are.", rich_help_panel=LOAD),
]

Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Save what CloudWatch would have shown as a snapshot; the truth lies beside it.",
    ),
]


class RunFlags(Struct, frozen=True, kw_only=True):
    """What the command line says about any run of the lab."""

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
    """Whether the server gets no more processors and memory than the class has."""
