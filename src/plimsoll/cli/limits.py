"""`plimsoll limits`: print what an instance can do at each I/O size, before any measurement."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.instance import with_flags
from plimsoll.app.options import INSTANCE_PANEL, InstanceOptions, Option
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import BOUGHT
from plimsoll.cli.output import OUTPUT_PANEL, WIDTH_OF_PAIRS, Output, check_picture, output_options
from plimsoll.model.instance import Instance
from plimsoll.model.sheet import LimitSheet


class LimitsOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    db_class: Annotated[str, Option("CLASS")]
    """Instance class, for example db.r5.2xlarge."""
    volumes: Annotated[int | None, Option("--volumes N", INSTANCE_PANEL, min=1, max=64)] = None
    """Number of volumes (default: as RDS documents it for this size)."""
    multi_az: Annotated[bool, Option("--multi-az", INSTANCE_PANEL)] = False
    """The instance has a standby."""
    chart: Annotated[Path | None, Option("--chart FILE", OUTPUT_PANEL)] = None
    """Also draw the limit at each I/O size, as .svg, .png or .html."""
    instance: Annotated[InstanceOptions, BOUGHT.without("db_class")]
    output: Annotated[Output, output_options(WIDTH_OF_PAIRS)]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("limits")(expand(limits))


def limits(options: LimitsOptions) -> None:
    """
    Print every documented limit of an instance, and which one binds at each I/O size.

    Exit status: 0, or 2 for a class or storage that RDS does not have.
    """
    chart = options.chart
    check_picture(chart)
    flags = replace(options.instance, db_class=options.db_class)
    sheet = _sheet(with_flags(Instance(), flags), multi_az=options.multi_az, volumes=options.volumes)
    if chart is not None:
        from plimsoll.cli.page_origin import page_origin
        from plimsoll.reports.limits.chart import write_chart

        write_chart(chart, sheet, page_origin())
        typer.echo(f"chart written to {chart}", err=True)
    options.output.write(sheet)


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
