"""Every option that more than one command has: its name, unit and help, once."""

from pathlib import Path
from typing import Annotated

import typer

_INSTANCE = "What was bought"

Identifier = Annotated[
    str | None,
    typer.Option("--identifier", help="Which instance, when the target holds several."),
]
InstanceFile = Annotated[
    Path | None,
    typer.Option(
        "--instance", help="Answer of 'aws rds describe-db-instances'.", rich_help_panel=_INSTANCE
    ),
]
DbClass = Annotated[
    str | None,
    typer.Option("--class", help="Instance class, as db.r5.2xlarge.", rich_help_panel=_INSTANCE),
]
Engine = Annotated[
    str | None,
    typer.Option("--engine", help="Engine, as postgres or oracle-ee.", rich_help_panel=_INSTANCE),
]
StorageKind = Annotated[
    str | None,
    typer.Option("--storage", help="gp2, gp3, io1, io2 or standard.", rich_help_panel=_INSTANCE),
]
SizeGib = Annotated[
    float | None,
    typer.Option("--size-gib", help="Allocated storage in GiB.", rich_help_panel=_INSTANCE),
]
Iops = Annotated[
    float | None,
    typer.Option("--iops", help="Provisioned IOPS.", rich_help_panel=_INSTANCE),
]
ThroughputMibps = Annotated[
    float | None,
    typer.Option(
        "--throughput-mibps", help="Provisioned throughput in MiB/s.", rich_help_panel=_INSTANCE
    ),
]
Launched = Annotated[
    str | None,
    typer.Option(
        "--launched",
        help="Launch date, as 2019-06-01: decides whether former limits are possible.",
        rich_help_panel=_INSTANCE,
    ),
]
