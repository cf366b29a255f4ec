"""
Every option that more than one command has: its name, unit and help, once.

A command that takes a target declares `flags: InstanceOptions` and `reach: ReadOptions`; `of_target` gives it
the options that fill them.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions

_INSTANCE = "What was bought"

Identifier = Annotated[
    str | None,
    typer.Option(
        "--identifier",
        help="Which instance, when the target holds several.",
    ),
]
InstanceFile = Annotated[
    Path | None,
    typer.Option(
        "--instance", help="Answer of 'aws rds describe-db-instances'.", rich_help_panel=_INSTANCE
    ),
]
DbClass = Annotated[
    str | None,
    typer.Option(
        "--class", help="Instance class, for example db.r5.2xlarge.", rich_help_panel=_INSTANCE
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine", help="Engine, for example postgres or oracle-ee.", rich_help_panel=_INSTANCE
    ),
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
        help="Launch date, for example 2019-06-01: decides whether legacy limits are possible.",
        rich_help_panel=_INSTANCE,
    ),
]

_WINDOW = "Window"
_LIVE = "Live targets"

Last = Annotated[
    str | None,
    typer.Option(
        "--last",
        metavar="TIME",
        help="How far back: 3h, 24h, 14d. Default for live targets: 24h, for plan 14d.",
        rich_help_panel=_WINDOW,
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="MOMENT",
        help="Start of the window, for example 2026-11-20T08:00Z.",
        rich_help_panel=_WINDOW,
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="MOMENT",
        help="End of the window, exclusive (default: now).",
        rich_help_panel=_WINDOW,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option("--profile", help="Profile of the AWS configuration.", rich_help_panel=_LIVE),
]
Region = Annotated[
    str | None,
    typer.Option("--region", help="AWS region, for example eu-central-1.", rich_help_panel=_LIVE),
]
MaxApiCalls = Annotated[
    int,
    typer.Option(
        "--max-api-calls",
        min=1,
        max=1_000_000,
        help="Stop before more requests than this are sent to AWS.",
        rich_help_panel=_LIVE,
    ),
]
Match = Annotated[
    list[str] | None,
    typer.Option(
        "--match",
        metavar="LABEL=VALUE",
        help="Prometheus: which series, for example dbidentifier=orders-primary; may be repeated.",
        rich_help_panel=_LIVE,
    ),
]
Header = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="NAME:VALUE",
        help="Prometheus: a header of every request, for example X-Scope-OrgID:shop. Secrets belong into "
        "PLIMSOLL_PROM_TOKEN, or PLIMSOLL_PROM_USER and PLIMSOLL_PROM_PASSWORD.",
        rich_help_panel=_LIVE,
    ),
]

Beside = Annotated[
    list[Path] | None,
    typer.Option(
        "--beside",
        metavar="FILE",
        help="What was counted elsewhere meanwhile, as arrivals_per_s or waiting_work_count of an "
        "application: an export or snapshot of the same time; may be repeated.",
        rich_help_panel=_WINDOW,
    ),
]

_OF_INSTANCE: dict[str, Any] = {
    "identifier": Identifier,
    "instance_file": InstanceFile,
    "db_class": DbClass,
    "engine": Engine,
    "storage": StorageKind,
    "size_gib": SizeGib,
    "iops": Iops,
    "throughput_mibps": ThroughputMibps,
    "launched": Launched,
}
_OF_REACH: dict[str, Any] = {
    "last": Last,
    "since": Since,
    "until": Until,
    "profile": Profile,
    "region": Region,
    "max_api_calls": MaxApiCalls,
    "match": Match,
    "headers": Header,
    "beside": Beside,
}


def of_target(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every field of its `flags` and `reach`, in place of these."""
    hints = get_type_hints(command, include_extras=True)
    own = [
        p.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
        for name, p in signature(command).parameters.items()
        if name not in ("flags", "reach")
    ]
    shared = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            annotation=annotation,
            default=ReadOptions().max_api_calls if name == "max_api_calls" else None,
        )
        for name, annotation in (_OF_INSTANCE | _OF_REACH).items()
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        flags = InstanceOptions(**{name: given.pop(name) for name in _OF_INSTANCE})
        reach = {name: given.pop(name) for name in _OF_REACH}
        for several in ("match", "headers", "beside"):
            reach[several] = tuple(reach[several] or ())
        command(flags=flags, reach=ReadOptions(**reach), **given)

    run.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=own + shared, return_annotation=None
    )
    run.__annotations__ = {p.name: p.annotation for p in own + shared}
    del run.__wrapped__
    return run
