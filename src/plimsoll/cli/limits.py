"""`plimsoll limits`: print what an instance can do at each I/O size, before any measurement."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from plimsoll.app.instance import with_flags
from plimsoll.app.options import InstanceOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import BOUGHT, INSTANCE_PANEL
from plimsoll.cli.output import OUTPUT_PANEL, WIDTH_OF_PAIRS, Output, check_picture, output_options
from plimsoll.model.instance import Instance
from plimsoll.model.sheet import LimitSheet


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command = expand(limits, flags=BOUGHT.without("db_class"), output=output_options(WIDTH_OF_PAIRS))
    app.command("limits")(command)


def limits(
    db_class: Annotated[str, typer.Argument(metavar="CLASS", help="Instance class, for example db.r5.2xlarge.")],
    *,
    flags: InstanceOptions,
    output: Output,
    volumes: Annotated[
        int | None,
        typer.Option(
            "--volumes",
            metavar="N",
            min=1,
            max=64,
            help="Number of volumes (default: as RDS documents it for this size).",
            rich_help_panel=INSTANCE_PANEL,
        ),
    ] = None,
    multi_az: Annotated[
        bool, typer.Option("--multi-az", help="The instance has a standby.", rich_help_panel=INSTANCE_PANEL)
    ] = False,
    chart: Annotated[
        Path | None,
        typer.Option(
            "--chart",
            metavar="FILE",
            help="Also draw the limit at each I/O size, as .svg, .png or .html.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
) -> None:
    """
    Print every documented limit of an instance, and which one binds at each I/O size.

    Exit status: 0, or 2 for a class or storage that RDS does not have.
    """
    check_picture(chart)
    flags = replace(flags, db_class=db_class)
    sheet = _sheet(with_flags(Instance(), flags), multi_az=multi_az, volumes=volumes)
    if chart is not None:
        from plimsoll.cli.page_origin import page_origin
        from plimsoll.reports.limits.chart import write_chart

        write_chart(chart, sheet, page_origin())
        typer.echo(f"chart written to {chart}", err=True)
    output.write(sheet)


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
