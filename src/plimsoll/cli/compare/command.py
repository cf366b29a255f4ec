"""Declare the options of `plimsoll compare`."""

from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli.compare.side_options import side_options
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import INSTANCE, READ, WINDOW_PANEL
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, brief_output_options

At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="DATE",
        help="Split one target at the change, for example 2026-11-20T10:00Z.",
        rich_help_panel=WINDOW_PANEL,
    ),
]
WindowA = Annotated[
    str | None,
    typer.Option(
        "--window-a",
        metavar="INTERVAL",
        help="Window before the change, for example 2026-11-01/2026-11-08.",
        rich_help_panel=WINDOW_PANEL,
    ),
]
WindowB = Annotated[
    str | None,
    typer.Option(
        "--window-b",
        metavar="INTERVAL",
        help="Window after the change, for example 2026-11-10/P7D.",
        rich_help_panel=WINDOW_PANEL,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command = expand(
        compare,
        flags=INSTANCE.only("identifier", "instance_file", "engine"),
        flags_a=side_options("a", "Instance before"),
        flags_b=side_options("b", "Instance after"),
        read_options=READ.without("counts"),
        output=brief_output_options(WIDTH_OF_PAIRS),
    )
    app.command("compare")(command)


def compare(
    before: Annotated[
        str, typer.Argument(metavar="BEFORE", help="Target, as for diagnose. A single target is split into windows.")
    ],
    after: Annotated[
        str | None, typer.Argument(metavar="[AFTER]", help="Target to compare it with, of any kind.")
    ] = None,
    *,
    at: At = None,
    window_a: WindowA = None,
    window_b: WindowB = None,
    flags: InstanceOptions,
    flags_a: InstanceOptions,
    flags_b: InstanceOptions,
    read_options: ReadOptions,
    output: Output,
) -> None:
    """
    Compare two windows: limits, throughput, latency, headroom.

    Exit status: 0 the second is not worse, 1 it is worse (a heavier verdict, or more time at a ceiling), 2
    unknown or bad input.
    """
    from plimsoll.app.sides import Split
    from plimsoll.cli.compare.run import run_compare
    from plimsoll.cli.compare.side_options import with_side

    split = Split(at=at, window_a=window_a, window_b=window_b)
    sides = (with_side(flags, flags_a), with_side(flags, flags_b))
    raise typer.Exit(run_compare((before, after), split, sides, read_options, output=output))
