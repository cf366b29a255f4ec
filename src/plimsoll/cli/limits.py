"""`plimsoll limits`: what an instance as bought can do at each I/O size, before any measurement."""

import sys
from enum import StrEnum
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import typer
from msgspec.structs import replace

from plimsoll.app.instance import with_flags
from plimsoll.app.options import InstanceOptions
from plimsoll.cli import options
from plimsoll.cli.output import is_color
from plimsoll.model.instance import Instance
from plimsoll.model.sheet import LimitSheet


class Format(StrEnum):
    """How the sheet is written to standard output."""

    TEXT = "text"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("limits")(limits)


def limits(
    db_class: Annotated[str, typer.Argument(help="Instance class, as db.r5.2xlarge.")],
    engine: options.Engine = None,
    storage: options.StorageKind = None,
    size_gib: options.SizeGib = None,
    iops: options.Iops = None,
    throughput_mibps: options.ThroughputMibps = None,
    volumes: Annotated[
        int | None,
        typer.Option(
            "--volumes", min=1, max=64, help="Volumes seen, where they are not as documented."
        ),
    ] = None,
    launched: options.Launched = None,
    multi_az: Annotated[
        bool, typer.Option("--multi-az", help="The instance has a standby.")
    ] = False,
    form: Annotated[
        Format, typer.Option("--format", help="What to print: text or json.")
    ] = Format.TEXT,
    chart: Annotated[
        Path | None, typer.Option("--chart", help="Also draw the curve: .svg, .png or .html.")
    ] = None,
    width: Annotated[
        int | None, typer.Option("--width", min=60, max=120, help="Columns of the text.")
    ] = None,
) -> None:
    """
    Print every documented ceiling of an instance, and which one binds at each I/O size.

    Exit status: 0, or 2 for a class or storage that cannot be.
    """
    flags = InstanceOptions(
        db_class=db_class,
        engine=engine,
        storage=storage,
        size_gib=size_gib,
        iops=iops,
        throughput_mibps=throughput_mibps,
        launched=launched,
    )
    sheet = _sheet(with_flags(Instance(), flags), multi_az=multi_az, volumes=volumes)
    if chart is not None:
        from plimsoll.reports.limits.chart import write_chart

        write_chart(chart, sheet)
        typer.echo(f"chart written to {chart}", err=True)
    _print(sheet, form, width)


def _sheet(instance: Instance, *, multi_az: bool, volumes: int | None) -> LimitSheet:
    from plimsoll.catalog.load import catalog
    from plimsoll.limits.purchase import check_purchase
    from plimsoll.limits.sheet import sheet_of

    facts = catalog()
    known = facts.instance_limits(instance.db_class or "")
    instance = replace(
        instance,
        db_class=known.db_class,
        multi_az=multi_az or None,
        storage=replace(instance.storage, volume_count=volumes),
    )
    check_purchase(instance, facts)
    return sheet_of(instance, facts)


def _print(sheet: LimitSheet, form: Format, width: int | None) -> None:
    if form == Format.JSON:
        from plimsoll.reports.limits.json import render_limits_json

        sys.stdout.write(render_limits_json(sheet))
    else:
        from plimsoll.reports.limits.text import render_limits

        color = is_color()
        columns = width or get_terminal_size().columns
        sys.stdout.write(render_limits(sheet, width=columns, color=color))
    sys.stdout.flush()
