"""The options of `plimsoll diagnose`."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli import options
from plimsoll.cli.output import Form, Format, Html, Width
from plimsoll.cli.watching import Dsn, Duration


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("diagnose")(options.of_target(diagnose))


def diagnose(
    target: Annotated[
        str,
        typer.Argument(
            help="rds:NAME, rds:'*', prom:URL, a recorded snapshot, or a file or folder of exported "
            "metrics; '-' is standard input."
        ),
    ],
    *,
    flags: InstanceOptions,
    reach: ReadOptions,
    form: Form = Format.TEXT,
    html: Html = None,
    png: Annotated[
        Path | None, typer.Option("--png", help="Also write the timeline as a picture.")
    ] = None,
    width: Width = None,
    has_plan: Annotated[
        bool,
        typer.Option("--plan", help="Also find the way past a ceiling, as 'plimsoll plan' does."),
    ] = False,
    dsn: Dsn = None,
    duration: Duration = None,
    lists_all: Annotated[
        bool,
        typer.Option("--all", help="With several instances, also list those near no limit."),
    ] = False,
) -> None:
    """
    Find which limit binds, prove it, and say what was ruled out.

    Many instances (rds:'*', or --identifier '*' for a folder) give one table, the most urgent first.

    Exit status: 0 nothing binds, 1 something binds, 2 could not tell or bad input.
    """
    from plimsoll.cli.diagnose.run import Wanted, run_diagnose

    wanted = Wanted(
        flags=flags,
        reach=reach,
        form=form,
        html=html,
        png=png,
        width=width,
        has_plan=has_plan,
        dsn=dsn,
        duration=duration,
        lists_all=lists_all,
    )
    raise typer.Exit(run_diagnose(target, wanted))
