"""Declare the options of `plimsoll diagnose`."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import INSTANCE, LIVE_PANEL, READ
from plimsoll.cli.output import OUTPUT_PANEL, Output, brief_output_options
from plimsoll.cli.watching import Dsn, Duration

_Events = Annotated[
    Path | None,
    typer.Option(
        "--events",
        metavar="FILE",
        help="Also show your own events (CSV or JSON: start, end, name, kind) and the I/O of their time.",
    ),
]
_EventsZone = Annotated[
    str | None,
    typer.Option(
        "--events-zone",
        metavar="ZONE",
        help="Time zone of times in --events that have none, for example Europe/Berlin.",
    ),
]
_Watch = Annotated[
    str | None,
    typer.Option(
        "--watch",
        metavar="TIME",
        help="Read a live target again at this interval, for example 1m, and show the newest brief "
        "report until Ctrl-C. For messages day and night, use 'plimsoll watch'.",
        rich_help_panel=LIVE_PANEL,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command = expand(diagnose, flags=INSTANCE, read_options=READ, output=brief_output_options())
    app.command("diagnose")(command)


def diagnose(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="rds:NAME, rds:'*', prom:URL, a recorded snapshot, or a file or folder of exported "
            "metrics; '-' is standard input.",
        ),
    ],
    *,
    flags: InstanceOptions,
    read_options: ReadOptions,
    output: Output,
    png: Annotated[
        Path | None,
        typer.Option(
            "--png", metavar="FILE", help="Also draw the timeline as a picture.", rich_help_panel=OUTPUT_PANEL
        ),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            "--card",
            metavar="FILE",
            help="Also draw verdict and chart as a picture to share, 1200 x 630 pixels; with --plan also "
            "the price of the cheapest change.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
    has_plan: Annotated[
        bool, typer.Option("--plan", help="Also find the cheapest change, as 'plimsoll plan' does.")
    ] = False,
    dsn: Dsn = None,
    duration: Duration = None,
    events: _Events = None,
    events_zone: _EventsZone = None,
    watch: _Watch = None,
    lists_all: Annotated[
        bool, typer.Option("--all", help="With several instances, also list those near no limit.")
    ] = False,
) -> None:
    """
    Find the limit that a database is at, and prove it.

    Several instances (rds:'*', or --identifier '*' for a folder) give one table, the most urgent first.

    With --watch, only Ctrl-C ends the command, with 130.

    Exit status: 0 no limit was reached, 1 a limit was reached, 2 unknown or bad input.
    """
    from plimsoll.cli.diagnose.run import DiagnoseOptions, run_diagnose

    options = DiagnoseOptions(
        flags=flags,
        read_options=read_options,
        output=output,
        png=png,
        card=card,
        has_plan=has_plan,
        dsn=dsn,
        duration=duration,
        lists_all=lists_all,
        events=events,
        events_zone=events_zone,
        watch=watch,
    )
    raise typer.Exit(run_diagnose(target, options))
