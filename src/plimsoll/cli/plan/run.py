"""Run `plimsoll plan`: find the cheapest change that lifts the ceiling, print it and write the files."""

from pathlib import Path

from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.plan import check_window, in_region, plan_snapshot, with_license, with_two_weeks
from plimsoll.app.read import read_target
from plimsoll.app.render import Report, render
from plimsoll.cli.next_command import check_command
from plimsoll.cli.output import check_picture, say_written, write_text
from plimsoll.cli.plan.command import PlanOptions
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
from plimsoll.cli.progress import TERMINAL
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.plan import Judgement, Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot

EXIT = {Judgement.LIFTS: 0, Judgement.DOES_NOT: 1, Judgement.UNSURE: 2}


def run_plan(options: PlanOptions) -> int:
    """
    Plan for a target, print the plan and write the requested files.

    Returns:
        Exit status: 0 no change is needed, 1 a ceiling binds, 2 unknown.
    """
    target, flags = options.target, options.instance
    constraints = _constraints(options)
    license_model = license_of(options.license_model)
    if options.chart is not None:
        from plimsoll.reports.chart.drawing import check_picture_ending

        check_picture_ending(options.chart)
        check_picture(options.chart)
    read_options = with_two_weeks(target, options.read)
    snapshot = in_region(read_target(target, flags, read_options, TERMINAL), target, read_options)
    snapshot = with_license(snapshot, license_model)
    check_window(snapshot, is_short_allowed=split_permissions(options.allow)[1])
    diagnosis = diagnose_snapshot(snapshot)
    found = plan_snapshot(diagnosis, snapshot, constraints, options.prices)
    if found.ladder is not None:
        step = found.options[found.ladder.rungs[found.ladder.recommended].option]
        check = check_command(target, flags, read_options, before=snapshot.instance, after=step.instance)
        found = replace(found, ladder=replace(found.ladder, check=check))
    options.output.emit(options.output.render(found), "plan")
    _write_files(diagnosis, snapshot, found, html=options.output.html, chart=options.chart)
    return status_of(diagnosis, found)


def _constraints(options: PlanOptions) -> PlanConstraints:
    constraints = PlanConstraints(
        allowed_ratio=allowed_ratio_of(options.slo),
        usd_per_day_max=None if options.max_usd_per_day is None else usd_of(options.max_usd_per_day),
        keep_class=options.keep_class,
        keep_storage=options.keep_storage,
        engine=options.instance.engine,
        multi_az=options.multi_az,
        growth=growth_of(options.growth),
        prior=prior_of(options.prior),
        allow=split_permissions(options.allow)[0],
        deny=options.deny,
        discount=factor_of(options.discount),
    )
    check_constraints(constraints)
    return constraints


def status_of(diagnosis: Diagnosis, found: Plan) -> int:
    """Return the exit status: 0 if the current setup suffices, 1 if not, 2 if unknown."""
    if diagnosis.verdict is Verdict.UNKNOWN:
        return EXIT[Judgement.UNSURE]
    return EXIT[found.present.judgement]


def _write_files(
    diagnosis: Diagnosis, snapshot: Snapshot, found: Plan, *, html: Path | None, chart: Path | None
) -> None:
    if html is not None:
        from plimsoll.cli.page_origin import page_origin

        report = Report(diagnosis=diagnosis, snapshot=snapshot, plan=found)
        page = render(report, "html", origin=page_origin())
        write_text(html, page, "report")
    if chart is not None:
        from plimsoll.reports.plan.chart import write_plan_picture

        write_plan_picture(chart, found)
        say_written(chart, "picture")
