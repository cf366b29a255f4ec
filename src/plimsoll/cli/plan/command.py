"""Declare the options of `plimsoll plan`."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from plimsoll.app.options import InstanceOptions, Option, ReadOptions
from plimsoll.app.targets import Target, target_of
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import OUTPUT_PANEL, Output

_CONSTRAINTS_PANEL = "Constraints"
_PRICES_PANEL = "Prices"


class PlanOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    target: Annotated[Target, Option("TARGET", parse=target_of)]
    """A single instance, as for diagnose."""
    slo: Annotated[str, Option("--slo SHARE", _CONSTRAINTS_PANEL)] = "1%"
    """Allow at most this share of minutes at a ceiling."""
    max_usd_per_day: Annotated[str | None, Option("--max-usd-per-day USD", _CONSTRAINTS_PANEL)] = None
    """Spend at most this much in a day."""
    keep_class: Annotated[bool, Option("--keep-class", _CONSTRAINTS_PANEL)] = False
    """Change only the storage."""
    keep_storage: Annotated[bool, Option("--keep-storage", _CONSTRAINTS_PANEL)] = False
    """Change only the class."""
    multi_az: Annotated[bool | None, Option("--multi-az/--single-az", _CONSTRAINTS_PANEL)] = None
    """With or without a standby (default: as now)."""
    growth: Annotated[str, Option("--growth FACTOR", _CONSTRAINTS_PANEL)] = "1x"
    """Multiply demand by this factor, for example 1.5."""
    prior: Annotated[tuple[str, ...], Option("--prior NAME=VALUE", _CONSTRAINTS_PANEL)] = ()
    """
    Change an assumption about demand above a ceiling, for example median=1.4 (times the ceiling) or greedy=0.5. The
    others are spread, lost, job and clients. Repeatable.
    """
    allow: Annotated[tuple[str, ...], Option("--allow PATTERN", _CONSTRAINTS_PANEL)] = ()
    """
    Allow only classes or storage types that match, for example db.r6g.* or gp3. Or lift a restriction: smaller-cpu,
    smaller-memory, smaller-connections, smaller-network, short-window. Repeatable.
    """
    deny: Annotated[tuple[str, ...], Option("--deny PATTERN", _CONSTRAINTS_PANEL)] = ()
    """
    Exclude classes or storage types that match, for example db.t* or io1; or graviton. Repeatable.
    """
    prices: Annotated[Path | None, Option("--prices FILE", _PRICES_PANEL)] = None
    """AWS price list, an offer file in JSON or CSV (default: the catalog's prices)."""
    license_model: Annotated[str | None, Option("--license MODEL", _PRICES_PANEL)] = None
    """
    For Oracle, SQL Server and Db2: license-included or bring-your-own-license (default: what the account or --instance
    says).
    """
    discount: Annotated[str, Option("--discount SHARE", _PRICES_PANEL)] = "0%"
    """Your discount on the on-demand price, for example 20%."""
    chart: Annotated[Path | None, Option("--chart FILE", OUTPUT_PANEL)] = None
    """Also draw price against throughput, as .png or .svg."""
    instance: InstanceOptions
    read: ReadOptions
    output: Output


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("plan")(expand(plan))


def plan(options: PlanOptions) -> int:
    """
    Find the cheapest change that lifts the ceiling.

    For each option the plan says what it changes, costs and interrupts. Plimsoll changes nothing: it prints
    commands for you to run. The window must cover at least a day.

    Exit status: 0 no change is needed, 1 a ceiling was reached (whether or not a change lifts it), 2 unknown
    or bad input.
    """
    from plimsoll.cli.plan.run import run_plan

    return run_plan(options)
