"""`plimsoll plan`: the cheapest change that lifts the ceiling, replayed and priced."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.plan import check_window, in_region, plan_snapshot, with_license, with_two_weeks
from plimsoll.app.read import read_target
from plimsoll.cli import options
from plimsoll.cli.next_command import check_command
from plimsoll.cli.output import Format, is_color
from plimsoll.cli.plan_wishes import (
    allowed_ratio_of,
    check_wishes,
    factor_of,
    growth_of,
    license_of,
    prior_of,
    split_permissions,
    usd_of,
)
from plimsoll.cli.waiting import TERMINAL
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.plan import Judgement, Plan, Wishes
from plimsoll.model.snapshot import Snapshot

if TYPE_CHECKING:
    pass

EXIT = {Judgement.LIFTS: 0, Judgement.DOES_NOT: 1, Judgement.UNSURE: 2}

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
    bool | None, _wish("--multi-az/--single-az", "With or without a standby; as it is if not said.")
]
Growth = Annotated[str, _wish("--growth", "What the demand is multiplied with.", "FACTOR")]
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
        "Only classes or storage types like this, as db.r6g.* or gp3; or smaller-cpu, "
        "smaller-memory, smaller-connections, smaller-network, short-window; may be repeated.",
        "PATTERN",
    ),
]
Deny = Annotated[
    list[str] | None,
    _wish(
        "--deny",
        "No classes or storage types like this, as db.t* or io1; or graviton; may be repeated.",
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
        help="What you pay less than on demand, as 20%.",
        rich_help_panel=_PRICES,
    ),
]
Form = Annotated[Format, typer.Option("--format", help="What to print: text, json or markdown.")]
Html = Annotated[
    Path | None,
    typer.Option("--html", help="Also write the diagnosis with the plan as one HTML file."),
]
Chart = Annotated[
    Path | None,
    typer.Option("--chart", help="Also draw price against what is served: .png or .svg."),
]
Width = Annotated[int | None, typer.Option("--width", min=40, max=400, help="Columns of the text.")]


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
    patterns, is_short_allowed = split_permissions(allow or ())
    wishes = Wishes(
        allowed_ratio=allowed_ratio_of(slo),
        usd_per_day_max=None if max_usd_per_day is None else usd_of(max_usd_per_day),
        keep_class=keep_class,
        keep_storage=keep_storage,
        engine=flags.engine,
        multi_az=multi_az,
        growth=growth_of(growth),
        prior=prior_of(prior or ()),
        allow=patterns,
        deny=tuple(deny or ()),
        discount=factor_of(discount),
    )
    check_wishes(wishes)
    said = license_of(license_model)
    if chart is not None:
        from plimsoll.sinks.plan_chart import check_picture

        check_picture(chart)
    reach = with_two_weeks(target, reach)
    snapshot = in_region(read_target(target, flags, reach, TERMINAL), target, reach)
    snapshot = with_license(snapshot, said)
    check_window(snapshot, is_short_allowed=is_short_allowed)
    diagnosis = diagnose_snapshot(snapshot)
    found = plan_snapshot(diagnosis, snapshot, wishes, prices)
    if found.ladder is not None:
        step = found.options[found.ladder.rungs[found.ladder.recommended].option]
        check = check_command(target, flags, reach, before=snapshot.instance, after=step.instance)
        found = replace(found, ladder=replace(found.ladder, check=check))
    _print(found, form, width)
    _write_files(diagnosis, snapshot, found, html=html, chart=chart)
    raise typer.Exit(status_of(diagnosis, found))


def status_of(diagnosis: Diagnosis, found: Plan) -> int:
    """The exit status: whether what is there suffices, or that it could not be told."""
    if diagnosis.verdict is Verdict.UNKNOWN:
        return EXIT[Judgement.UNSURE]
    return EXIT[found.present.judgement]


def _print(found: Plan, form: Format, width: int | None) -> None:
    if form == Format.JSON:
        from plimsoll.sinks.plan_json import render_plan_json

        sys.stdout.write(render_plan_json(found).decode())
    elif form == Format.MARKDOWN:
        from plimsoll.sinks.plan_markdown import render_plan_markdown

        sys.stdout.write(render_plan_markdown(found))
    else:
        from plimsoll.sinks.plan_text import render_plan

        color = is_color()
        sys.stdout.write(render_plan(found, width=width, color=color))
    sys.stdout.flush()


def _write_files(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    found: Plan,
    *,
    html: Path | None,
    chart: Path | None,
) -> None:
    if html is not None:
        from plimsoll.sinks.file import write_aside
        from plimsoll.sinks.html import render_html

        write_aside(html, render_html(diagnosis, snapshot, found).encode())
        typer.echo(f"report written to {html}", err=True)
    if chart is not None:
        from plimsoll.sinks.plan_chart import write_plan_picture

        write_plan_picture(chart, found)
        typer.echo(f"picture written to {chart}", err=True)
