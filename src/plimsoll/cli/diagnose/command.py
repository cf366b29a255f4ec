"""Declare the options of `plimsoll diagnose`."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from plimsoll.app.options import LIVE_PANEL, InstanceOptions, Option, ReadOptions
from plimsoll.app.targets import Target, target_of
from plimsoll.cli.database import DatabaseOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import OUTPUT_PANEL, Output


class DiagnoseOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    target: Annotated[Target, Option("TARGET", parse=target_of)]
    """
    rds:NAME, rds:'*', prom:URL, a recorded snapshot, or a file or folder of exported metrics; '-' is standard input.
    """
    png: Annotated[Path | None, Option("--png FILE", OUTPUT_PANEL)] = None
    """Also draw the timeline as a picture."""
    card: Annotated[Path | None, Option("--card FILE", OUTPUT_PANEL)] = None
    """
    Also draw verdict and chart as a picture to share, 1200 x 630 pixels; with --plan also the price of the cheapest
    change.
    """
    has_plan: Annotated[bool, Option("--plan")] = False
    """Also find the cheapest change, as 'plimsoll plan' does."""
    database: DatabaseOptions
    events: Annotated[Path | None, Option("--events FILE")] = None
    """Also show your own events (CSV or JSON: start, end, name, kind) and the I/O of their time."""
    events_zone: Annotated[str | None, Option("--events-zone ZONE")] = None
    """Time zone of times in --events that have none, for example Europe/Berlin."""
    watch: Annotated[str | None, Option("--watch TIME", LIVE_PANEL)] = None
    """
    Read a live target again at this interval, for example 1m, and show the newest brief report until Ctrl-C. For
    messages day and night, use 'plimsoll watch'.
    """
    lists_all: Annotated[bool, Option("--all")] = False
    """With several instances, also list those near no limit."""
    instance: InstanceOptions
    read: ReadOptions
    output: Output


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("diagnose")(expand(diagnose))


def diagnose(options: DiagnoseOptions) -> int:
    """
    Find the limit that a database is at, and prove it.

    Several instances (rds:'*', or --identifier '*' for a folder) give one table, the most urgent first.

    With --watch, only Ctrl-C ends the command, with 130.

    Exit status: 0 no limit was reached, 1 a limit was reached, 2 unknown or bad input.
    """
    from plimsoll.cli.diagnose.run import run_diagnose

    return run_diagnose(options)
