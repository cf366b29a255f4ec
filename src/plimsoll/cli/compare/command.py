"""The options of `plimsoll compare`."""

from typing import Annotated

import typer
from msgspec.structs import replace

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli import options
from plimsoll.cli.compare import side_options as sides
from plimsoll.cli.output import Form, Format, Html, WideWidth

At = Annotated[
    str | None,
    typer.Option("--at", metavar="MOMENT", help="Split at the change, as 2026-11-20T10:00Z."),
]
WindowA = Annotated[
    str | None,
    typer.Option("--window-a", metavar="INTERVAL", help="Before, as 2026-11-01/2026-11-08."),
]
WindowB = Annotated[
    str | None,
    typer.Option("--window-b", metavar="INTERVAL", help="After, as 2026-11-10/P7D."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("compare")(compare)


def compare(
    before: Annotated[str, typer.Argument(help="A target as for diagnose; alone, it is split.")],
    after: Annotated[
        str | None, typer.Argument(help="What it is compared with, a target of any kind.")
    ] = None,
    at: At = None,
    window_a: WindowA = None,
    window_b: WindowB = None,
    class_a: sides.ClassA = None,
    class_b: sides.ClassB = None,
    storage_a: sides.StorageA = None,
    storage_b: sides.StorageB = None,
    size_gib_a: sides.SizeGibA = None,
    size_gib_b: sides.SizeGibB = None,
    iops_a: sides.IopsA = None,
    iops_b: sides.IopsB = None,
    throughput_a: sides.ThroughputA = None,
    throughput_b: sides.ThroughputB = None,
    launched_a: sides.LaunchedA = None,
    launched_b: sides.LaunchedB = None,
    identifier: options.Identifier = None,
    instance_file: options.InstanceFile = None,
    engine: options.Engine = None,
    last: options.Last = None,
    since: options.Since = None,
    until: options.Until = None,
    profile: options.Profile = None,
    region: options.Region = None,
    max_api_calls: options.MaxApiCalls = 1000,
    match: options.Match = None,
    header: options.Header = None,
    form: Form = Format.TEXT,
    width: WideWidth = None,
    html: Html = None,
) -> None:
    """
    Set two windows side by side: limits, what was served, latency, headroom.

    Exit status: 0 after is not worse, 1 it is worse (a heavier verdict, or more of the time at a
    ceiling), 2 could not tell or bad input.
    """
    common = InstanceOptions(identifier=identifier, instance_file=instance_file, engine=engine)
    flags = (
        replace(
            common, db_class=class_a, storage=storage_a, size_gib=size_gib_a, iops=iops_a,
            throughput_mibps=throughput_a, launched=launched_a,
        ),
        replace(
            common, db_class=class_b, storage=storage_b, size_gib=size_gib_b, iops=iops_b,
            throughput_mibps=throughput_b, launched=launched_b,
        ),
    )  # fmt: skip
    reach = ReadOptions(
        last=last, since=since, until=until, profile=profile, region=region,
        max_api_calls=max_api_calls, match=tuple(match or ()), headers=tuple(header or ()),
    )  # fmt: skip

    from plimsoll.app.sides import Split
    from plimsoll.cli.compare.run import run_compare

    split = Split(at=at, window_a=window_a, window_b=window_b)
    status = run_compare((before, after), split, flags, reach, form=form, width=width, html=html)
    raise typer.Exit(status)
