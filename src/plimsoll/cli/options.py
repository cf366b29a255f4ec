"""
Declare the options that commands share: each has one name, unit and help text.

A command declares `flags: InstanceOptions` and `read_options: ReadOptions`; `option_groups.expand` replaces
them with the options of `INSTANCE` and `READ`.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli.option_groups import OptionGroup, SharedOption

INSTANCE_PANEL = "Instance"
WINDOW_PANEL = "Window"
LIVE_PANEL = "Live targets"

StorageKind = typer.Option(
    "--storage", metavar="TYPE", help="Storage type: gp2, gp3, io1, io2 or standard.", rich_help_panel=INSTANCE_PANEL
)
Profile = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help="Profile of the AWS configuration.", rich_help_panel=LIVE_PANEL),
]
MaxApiCalls = Annotated[
    int,
    typer.Option(
        "--max-api-calls",
        metavar="N",
        min=1,
        max=1_000_000,
        help="Send at most N requests to AWS.",
        rich_help_panel=LIVE_PANEL,
    ),
]


def _of_instance(kind: Any, name: str, metavar: str, text: str) -> SharedOption:
    option = typer.Option(name, metavar=metavar, help=text, rich_help_panel=INSTANCE_PANEL)
    return SharedOption(Annotated[kind | None, option])


def _of_window(kind: Any, name: str, metavar: str, text: str) -> SharedOption:
    option = typer.Option(name, metavar=metavar, help=text, rich_help_panel=WINDOW_PANEL)
    return SharedOption(Annotated[kind | None, option])


def _of_live(kind: Any, name: str, metavar: str, text: str) -> SharedOption:
    option = typer.Option(name, metavar=metavar, help=text, rich_help_panel=LIVE_PANEL)
    return SharedOption(Annotated[kind | None, option])


INSTANCE = OptionGroup(
    InstanceOptions,
    {
        "identifier": _of_instance(
            str, "--identifier", "NAME", "Select one instance of a target that holds several, for example orders."
        ),
        "instance_file": _of_instance(
            Path, "--instance", "FILE", "Read class and storage from an answer of 'aws rds describe-db-instances'."
        ),
        "db_class": _of_instance(str, "--class", "CLASS", "Instance class, for example db.r5.2xlarge."),
        "engine": _of_instance(str, "--engine", "ENGINE", "Engine, for example postgres or oracle-ee."),
        "storage": SharedOption(Annotated[str | None, StorageKind]),
        "size_gib": _of_instance(float, "--size-gib", "GIB", "Allocated storage in GiB."),
        "iops": _of_instance(float, "--iops", "N", "Provisioned IOPS."),
        "throughput_mibps": _of_instance(float, "--throughput-mibps", "MIBPS", "Provisioned throughput in MiB/s."),
        "launched": _of_instance(
            str, "--launched", "DATE", "Launch date, for example 2019-06-01. An old instance may have legacy limits."
        ),
    },
)
"""Options that describe the instance behind a target."""

BOUGHT = INSTANCE.without("identifier", "instance_file")
"""Class, engine, storage and launch date, of an instance that need not exist."""


def _read(**given: Any) -> ReadOptions:
    for several in ("match", "headers", "counts"):
        if several in given:
            given[several] = tuple(given[several] or ())
    return ReadOptions(**given)


READ = OptionGroup(
    _read,
    {
        "last": _of_window(
            str,
            "--last",
            "TIME",
            "Length of the window, for example 3h or 14d (default for live targets: 24h; for plan: 14d).",
        ),
        "since": _of_window(str, "--from", "DATE", "Start of the window, for example 2026-11-20T08:00Z."),
        "until": _of_window(str, "--to", "DATE", "End of the window, exclusive (default: now)."),
        "counts": _of_window(
            list[Path],
            "--counts",
            "FILE",
            "Add what an application counted in the same window, such as arrivals_per_s or "
            "waiting_work_count: an export or a snapshot. Repeatable.",
        ),
        "profile": SharedOption(Profile),
        "region": _of_live(str, "--region", "REGION", "AWS region, for example eu-central-1."),
        "role_arn": _of_live(
            str, "--role", "ARN", "AWS role to assume first, for example arn:aws:iam::123456789012:role/plimsoll."
        ),
        "max_api_calls": SharedOption(MaxApiCalls, ReadOptions().max_api_calls),
        "match": _of_live(
            list[str],
            "--match",
            "LABEL=VALUE",
            "Prometheus: select series, for example dbidentifier=orders-primary. Repeatable.",
        ),
        "headers": _of_live(
            list[str],
            "--header",
            "NAME:VALUE",
            "Prometheus: send this header with every request, for example X-Scope-OrgID:shop. "
            "Repeatable. Keep secrets in PLIMSOLL_PROM_TOKEN, or in PLIMSOLL_PROM_USER and "
            "PLIMSOLL_PROM_PASSWORD.",
        ),
    },
)
"""Window of a target, and access to it."""
