"""`plimsoll limits`: what an instance as bought can do at each I/O size, before any measurement."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from plimsoll.app.instance import with_flags
from plimsoll.app.options import InstanceOptions
from plimsoll.cli import options
from plimsoll.cli.output import Form, Format, Html, WideWidth, show, write_page
from plimsoll.model.instance import Instance
from plimsoll.model.sheet import LimitSheet


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
    form: Form = Format.TEXT,
    chart: Annotated[
        Path | None, typer.Option("--chart", help="Also draw the curve: .svg, .png or .html.")
    ] = None,
    width: WideWidth = None,
    html: Html = None,
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
    if html is not None:
        write_page(sheet, html)
    show(sheet, form, width)


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
