"""Declare the options of `plimsoll plan`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import INSTANCE, READ
from plimsoll.cli.output import OUTPUT_PANEL, Output, brief_output_options

_CONSTRAINTS_PANEL = "Constraints"
_PRICES_PANEL = "Prices"


def _constraint(name: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=_CONSTRAINTS_PANEL)


Slo = Annotated[str, _constraint("--slo", "Allow at most this share of minutes at a ceiling.", "SHARE")]
MaxUsdPerDay = Annotated[str | None, _constraint("--max-usd-per-day", "Spend at most this much in a day.", "USD")]
KeepClass = Annotated[bool, _constraint("--keep-class", "Change only the storage.")]
KeepStorage = Annotated[bool, _constraint("--keep-storage", "Change only the class.")]
MultiAz = Annotated[bool | None, _constraint("--multi-az/--single-az", "With or without a standby (default: as now).")]
Growth = Annotated[str, _constraint("--growth", "Multiply demand by this factor, for example 1.5.", "FACTOR")]
PriorTexts = Annotated[
    list[str] | None,
    _constraint(
        "--prior",
        "Change an assumption about demand above a ceiling, for example median=1.4 (times the ceiling) or "
        "greedy=0.5. The others are spread, lost, job and clients. Repeatable.",
        "NAME=VALUE",
    ),
]
Allow = Annotated[
    list[str] | None,
    _constraint(
        "--allow",
        "Allow only classes or storage types that match, for example db.r6g.* or gp3. Or lift a "
        "restriction: smaller-cpu, smaller-memory, smaller-connections, smaller-network, short-window. "
        "Repeatable.",
        "PATTERN",
    ),
]
Deny = Annotated[
    list[str] | None,
    _constraint(
        "--deny",
        "Exclude classes or storage types that match, for example db.t* or io1; or graviton. Repeatable.",
        "PATTERN",
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        help="AWS price list, an offer file in JSON or CSV (default: the catalog's prices).",
        rich_help_panel=_PRICES_PANEL,
    ),
]
License = Annotated[
    str | None,
    typer.Option(
        "--license",
        metavar="MODEL",
        help="For Oracle, SQL Server and Db2: license-included or bring-your-own-license (default: what "
        "the account or --instance says).",
        rich_help_panel=_PRICES_PANEL,
    ),
]
Discount = Annotated[
    str,
    typer.Option(
        "--discount",
        metavar="SHARE",
        help="Your discount on the on-demand price, for example 20%.",
        rich_help_panel=_PRICES_PANEL,
    ),
]
Chart = Annotated[
    Path | None,
    typer.Option(
        "--chart",
        metavar="FILE",
        help="Also draw price against throughput, as .png or .svg.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command = expand(plan, flags=INSTANCE, read_options=READ, output=brief_output_options())
    app.command("plan")(command)


def plan(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A single instance, as for diagnose.")],
    *,
    flags: InstanceOptions,
    read_options: ReadOptions,
    output: Output,
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
    chart: Chart = None,
) -> None:
    """
    Find the cheapest change that lifts the ceiling.

    For each option the plan says what it changes, costs and interrupts. Plimsoll changes nothing: it prints
    commands for you to run. The window must cover at least a day.

    Exit status: 0 no change is needed, 1 a ceiling was reached (whether or not a change lifts it), 2 unknown
    or bad input.
    """
    from plimsoll.cli.plan.run import PlanOptions, run_plan

    options = PlanOptions(
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
        output=output,
        chart=chart,
    )
    raise typer.Exit(run_plan(target, flags, read_options, options))
