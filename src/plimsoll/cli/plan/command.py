"""The options of `plimsoll plan`."""

from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli import options
from plimsoll.cli.output import Form, Format, Width

_WISHES = "What it must keep to"
_PRICES = "Prices"


def _wish(name: str, text: str, metavar: str | None = None) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        name, metavar=metavar, help=text, rich_help_panel=_WISHES
    )
    return option


Slo = Annotated[str, _wish("--slo", "Share of minutes that may be spent at a ceiling.", "SHARE")]
MaxUsdPerDay = Annotated[
    str | None, _wish("--max-usd-per-day", "Most that it may cost in a day.", "AMOUNT")
]
KeepClass = Annotated[bool, _wish("--keep-class", "Change only the storage.")]
KeepStorage = Annotated[bool, _wish("--keep-storage", "Change only the class.")]
MultiAz = Annotated[
    bool | None, _wish("--multi-az/--single-az", "With or without a standby (default: as now).")
]
Growth = Annotated[
    str, _wish("--growth", "Multiply demand by this factor, for example 1.5.", "FACTOR")
]
PriorTexts = Annotated[
    list[str] | None,
    _wish(
        "--prior",
        "What to assume of demand that a ceiling hid, for example median=1.4 (times the ceiling) or "
        "greedy=0.5; also spread, lost, job and clients. May be repeated.",
        "NAME=VALUE",
    ),
]
Allow = Annotated[
    list[str] | None,
    _wish(
        "--allow",
        "Only classes or storage types like this, for example db.r6g.* or gp3; or smaller-cpu, "
        "smaller-memory, smaller-connections, smaller-network, short-window; may be repeated.",
        "PATTERN",
    ),
]
Deny = Annotated[
    list[str] | None,
    _wish(
        "--deny",
        "No classes or storage types like this, for example db.t* or io1; or graviton; may be repeated.",
        "PATTERN",
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="An AWS price list (offer file, JSON or CSV) in place of the catalog's prices.",
        rich_help_panel=_PRICES,
    ),
]
License = Annotated[
    str | None,
    typer.Option(
        "--license",
        metavar="MODEL",
        help="Oracle, SQL Server, Db2: license-included or bring-your-own-license; an account "
        "and --instance say it themselves.",
        rich_help_panel=_PRICES,
    ),
]
Discount = Annotated[
    str,
    typer.Option(
        "--discount",
        metavar="SHARE",
        help="What you pay less than on demand, for example 20%.",
        rich_help_panel=_PRICES,
    ),
]
Html = Annotated[
    Path | None,
    typer.Option("--html", help="Also write the diagnosis with the plan as one HTML file."),
]
Chart = Annotated[
    Path | None,
    typer.Option("--chart", help="Also draw price against what is served: .png or .svg."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("plan")(options.of_target(plan))


def plan(
    target: Annotated[str, typer.Argument(help="A target as for diagnose, of one instance.")],
    *,
    flags: InstanceOptions,
    reach: ReadOptions,
    slo: Slo = "1%",
    max_usd_per_day: MaxUsdPerDay = None,
    keep_class: KeepClass = False,
    keep_storage: KeepStorage = False,
    multi_az: MultiAz = None,
    growth: Growth = "1x",
    prior: PriorTexts = None,
    allow: Allow = None,
    deny: Deny = None,
    prices: Prices = None,
    license_model: License = None,
    discount: Discount = "0%",
    form: Form = Format.TEXT,
    html: Html = None,
    chart: Chart = None,
    width: Width = None,
) -> None:
    """
    Find the cheapest change that lifts the ceiling, and say what it does, costs and disturbs.

    Nothing is changed: commands are printed for you to run. The window must show a day or more.

    Exit status: 0 nothing needs a way past, 1 a ceiling binds (whether or not there is a way past
    it), 2 could not tell or bad input.
    """
    from plimsoll.cli.plan.run import Wanted, run_plan

    wanted = Wanted(
        slo=slo,
        max_usd_per_day=max_usd_per_day,
        keep_class=keep_class,
        keep_storage=keep_storage,
        multi_az=multi_az,
        growth=growth,
        prior=tuple(prior or ()),
        allow=tuple(allow or ()),
        deny=tuple(deny or ()),
        prices=prices,
        license_model=license_model,
        discount=discount,
        form=form,
        html=html,
        chart=chart,
        width=width,
    )
    raise typer.Exit(run_plan(target, flags, reach, wanted))
