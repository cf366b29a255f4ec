"""The options of `plimsoll compare` that say what was bought on each of its two sides."""

from typing import Annotated

import typer

_A, _B = "What was bought before", "What was bought after"

ClassA = Annotated[
    str | None, typer.Option("--class-a", help="Class, as db.t3.xlarge.", rich_help_panel=_A)
]
ClassB = Annotated[
    str | None, typer.Option("--class-b", help="Class, as db.m6g.xlarge.", rich_help_panel=_B)
]
StorageA = Annotated[
    str | None,
    typer.Option("--storage-a", help="gp2, gp3, io1, io2 or standard.", rich_help_panel=_A),
]
StorageB = Annotated[
    str | None,
    typer.Option("--storage-b", help="gp2, gp3, io1, io2 or standard.", rich_help_panel=_B),
]
SizeGibA = Annotated[
    float | None,
    typer.Option("--size-gib-a", help="Allocated storage in GiB.", rich_help_panel=_A),
]
SizeGibB = Annotated[
    float | None,
    typer.Option("--size-gib-b", help="Allocated storage in GiB.", rich_help_panel=_B),
]
IopsA = Annotated[
    float | None, typer.Option("--iops-a", help="Provisioned IOPS.", rich_help_panel=_A)
]
IopsB = Annotated[
    float | None, typer.Option("--iops-b", help="Provisioned IOPS.", rich_help_panel=_B)
]
ThroughputA = Annotated[
    float | None,
    typer.Option(
        "--throughput-mibps-a", help="Provisioned throughput in MiB/s.", rich_help_panel=_A
    ),
]
ThroughputB = Annotated[
    float | None,
    typer.Option(
        "--throughput-mibps-b", help="Provisioned throughput in MiB/s.", rich_help_panel=_B
    ),
]
LaunchedA = Annotated[
    str | None, typer.Option("--launched-a", help="Launch date.", rich_help_panel=_A)
]
LaunchedB = Annotated[
    str | None, typer.Option("--launched-b", help="Launch date.", rich_help_panel=_B)
]
