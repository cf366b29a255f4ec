"""The cheapest change that lifts the ceiling, replayed and priced: found, printed, written."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.plan import check_window, in_region, plan_snapshot, with_license, with_two_weeks
from plimsoll.app.read import read_target
from plimsoll.cli.next_command import check_command
from plimsoll.cli.output import Output, check_picture, say_written, write_text
from plimsoll.cli.plan.texts import (
    allowed_ratio_of,
    check_constraints,
    factor_of,
    growth_of,
    license_of,
    prior_of,
    split_permissions,
    usd_of,
)
from plimsoll.cli.waiting import TERMINAL
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.plan import Judgement, Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot

EXIT = {Judgement.LIFTS: 0, Judgement.DOES_NOT: 1, Judgement.UNSURE: 2}


class PlanOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line, as they were typed."""

    slo: str
    max_usd_per_day: str | None
    keep_class: bool
    keep_storage: bool
    multi_az: bool | None
    growth: str
    prior: tuple[str, ...]
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    prices: Path | None
    license_model: str | None
    discount: str
    output: Output
    chart: Path | None


def run_plan(target: str, flags: InstanceOptions, reach: ReadOptions, wanted: PlanOptions) -> int:
    """
    Plan for a target, print the plan and write the files that were asked for.

    Returns:
        Exit status: 0 nothing needs a way past, 1 a ceiling binds, 2 could not tell.
    """
    constraints = _constraints(wanted, flags.engine)
    said = license_of(wanted.license_model)
    if wanted.chart is not None:
        from plimsoll.reports.plan.chart import check_ending

        check_ending(wanted.chart)
        check_picture(wanted.chart)
    reach = with_two_weeks(target, reach)
    snapshot = in_region(read_target(target, flags, reach, TERMINAL), target, reach)
    snapshot = with_license(snapshot, said)
    check_window(snapshot, is_short_allowed=split_permissions(wanted.allow)[1])
    diagnosis = diagnose_snapshot(snapshot)
    found = plan_snapshot(diagnosis, snapshot, constraints, wanted.prices)
    if found.ladder is not None:
        step = found.options[found.ladder.rungs[found.ladder.recommended].option]
        check = check_command(target, flags, reach, before=snapshot.instance, after=step.instance)
        found = replace(found, ladder=replace(found.ladder, check=check))
    wanted.output.emit(wanted.output.render(found), "plan")
    _write_files(diagnosis, snapshot, found, html=wanted.output.html, chart=wanted.chart)
    return status_of(diagnosis, found)


def _constraints(wanted: PlanOptions, engine: str | None) -> PlanConstraints:
    constraints = PlanConstraints(
        allowed_ratio=allowed_ratio_of(wanted.slo),
        usd_per_day_max=None if wanted.max_usd_per_day is None else usd_of(wanted.max_usd_per_day),
        keep_class=wanted.keep_class,
        keep_storage=wanted.keep_storage,
        engine=engine,
        multi_az=wanted.multi_az,
        growth=growth_of(wanted.growth),
        prior=prior_of(wanted.prior),
        allow=split_permissions(wanted.allow)[0],
        deny=wanted.deny,
        discount=factor_of(wanted.discount),
    )
    check_constraints(constraints)
    return constraints


def status_of(diagnosis: Diagnosis, found: Plan) -> int:
    """Return the exit status: whether what is there suffices, or that it could not be told."""
    if diagnosis.verdict is Verdict.UNKNOWN:
        return EXIT[Judgement.UNSURE]
    return EXIT[found.present.judgement]


def _write_files(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    found: Plan,
    *,
    html: Path | None,
    chart: Path | None,
) -> None:
    if html is not None:
        from plimsoll.reports.diagnosis.html import render_html

        write_text(html, render_html(diagnosis, snapshot, found), "report")
    if chart is not None:
        from plimsoll.reports.plan.chart import write_plan_picture

        write_plan_picture(chart, found)
        say_written(chart, "picture")
