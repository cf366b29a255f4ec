"""Run `plimsoll diagnose`: read a target, diagnose it, print the report and write the files."""

from pathlib import Path
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_snapshot, read_events, with_own_events
from plimsoll.app.inspect import inspect_for_diagnosis
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.plan import check_window, in_region, plan_snapshot, shows_a_day
from plimsoll.app.read import cost_of, live_window, read_fleet, read_prometheus_instances, read_target
from plimsoll.app.render import Form, Report, plan_below, render
from plimsoll.app.targets import PROMETHEUS, is_fleet, is_several
from plimsoll.cli.endings import FAILED, Failed, attempted
from plimsoll.cli.next_command import answerable_plan
from plimsoll.cli.output import Format, Output, check_ending, check_picture, say_written, write_text
from plimsoll.cli.waiting import TERMINAL
from plimsoll.cli.watching import observed_if_asked
from plimsoll.errors import UsageError
from plimsoll.model.cause import Inspection
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.plan import Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot

EXIT = {Verdict.SLACK: 0, Verdict.NEAR: 0, Verdict.BINDS: 1, Verdict.UNKNOWN: 2}


class PageParts(Struct, frozen=True, kw_only=True):
    """What a page shows besides the diagnosis; None omits the part."""

    plan: Plan | None
    inspection: Inspection | None


class Planned(Struct, frozen=True, kw_only=True):
    """A plan, and its text in the printed report."""

    plan: Plan
    text: str


class DiagnoseOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    flags: InstanceOptions
    read_options: ReadOptions
    output: Output
    png: Path | None
    card: Path | None
    has_plan: bool
    dsn: str | None
    duration: str | None
    lists_all: bool
    events: Path | None
    events_zone: str | None
    watch: str | None


def run_diagnose(target: str, options: DiagnoseOptions) -> int:
    """
    Diagnose a target or a fleet, print the report and write the requested files.

    Returns:
        Exit status: 0 no limit binds, 1 a limit binds, 2 unknown.
    """
    flags, read_options, output = options.flags, options.read_options, options.output
    if options.watch is not None:
        _watch(target, options, options.watch)
    check_ending(options.png, "--png writes a PNG picture", (".png",))
    check_picture(options.png)
    if options.card is not None:
        from plimsoll.reports.chart.drawing import check_picture_ending

        check_picture_ending(options.card, (".png",))
        check_picture(options.card)
    if is_several(target, flags):
        is_any_given = options.has_plan or any(
            given is not None
            for given in (
                *(options.png, options.card, options.dsn, options.duration),
                *(options.events, options.events_zone),
            )
        )
        refuse_single_instance_options(target, flags, is_any_given=is_any_given)
        return _fleet(target, options)
    if options.has_plan and output.form == Format.JSON:
        raise UsageError("the JSON report has no plan", "Use 'plimsoll plan TARGET --format json' for the plan.")
    events = read_events(options.events, options.events_zone)
    snapshot = read_target(target, flags, read_options, TERMINAL, has_statements=True)
    diagnosis = with_own_events(diagnose_snapshot(snapshot), snapshot, events)
    inspection = _inspected(diagnosis, snapshot, options.dsn, options.duration)
    planned = (
        attempted(lambda: _planned(diagnosis, snapshot, target, read_options, output)) if options.has_plan else None
    )
    report = Report(
        diagnosis=diagnosis,
        snapshot=snapshot,
        inspection=inspection,
        plan=planned.plan if output.is_brief and isinstance(planned, Planned) else None,
    )
    text = output.render(report)
    if output.is_brief:
        pass  # the brief report has the price
    elif isinstance(planned, Planned):
        text += planned.text
    elif output.form == Format.TEXT and not options.has_plan:
        text += _next_step(diagnosis, snapshot, target, flags, read_options)
    output.emit(text)
    parts = PageParts(plan=planned.plan if isinstance(planned, Planned) else None, inspection=inspection)
    failed = _write_files(diagnosis, snapshot, parts, options)
    failed = planned if isinstance(planned, Failed) else failed
    if failed is not None:
        failed.print_error("no plan")
    crashed = failed is not None and failed.is_crash
    return FAILED if crashed else EXIT[diagnosis.verdict]


def _watch(target: str, options: DiagnoseOptions, interval: str) -> NoReturn:
    from plimsoll.cli.diagnose.repeat import check_watch, run_watch

    output = options.output
    given = (output.html, options.png, options.card, options.dsn, options.duration, options.events)
    period_s = check_watch(
        target,
        interval,
        other_options=output.form != Format.TEXT
        or not output.is_printed
        or any(one is not None for one in given)
        or options.has_plan
        or options.lists_all
        or is_several(target, options.flags),
        until=options.read_options.until,
    )
    run_watch(target, options.flags, options.read_options, output, asked=interval, period_s=period_s)


def refuse_single_instance_options(target: str, flags: InstanceOptions, *, is_any_given: bool) -> None:
    """
    Refuse options that need a single instance.

    Raises:
        UsageError: such an option was given for several instances.
    """
    every = InstanceOptions(
        identifier=flags.identifier, instance_file=None if target.startswith(PROMETHEUS) else flags.instance_file
    )
    if is_any_given or flags != (InstanceOptions() if is_fleet(target) else every):
        raise UsageError(
            f"'{target}' matches several instances; --png, --card, --dsn, --events, --plan and the instance "
            "options need a single one",
            "Leave them out, or name one instance.",
        )


def _next_step(
    diagnosis: Diagnosis, snapshot: Snapshot, target: str, flags: InstanceOptions, read_options: ReadOptions
) -> str:
    """
    Return the command that plans a change for the limit that was found; empty if it could not answer.

    A plan needs throttled storage, a known instance, and a day of samples; a live target can be read for
    longer than it was.
    """
    if not diagnosis.time_at or diagnosis.measured_s <= 0:
        return ""
    found = answerable_plan(snapshot, target, flags, read_options, keeps_window=shows_a_day(snapshot))
    return f"\nThe way past it, priced{found.where}:\n  {found.command}\n" if found else ""


def _inspected(diagnosis: Diagnosis, snapshot: Snapshot, dsn: str | None, duration: str | None) -> Inspection | None:
    """Inspect the database of --dsn, or what the snapshot recorded of it; None if there is neither."""
    observation = observed_if_asked(dsn, duration) or snapshot.observation
    if observation is None:
        return None
    return inspect_for_diagnosis(diagnosis, observation, snapshot.credit_clock)


def _planned(
    diagnosis: Diagnosis, snapshot: Snapshot, target: str, read_options: ReadOptions, output: Output
) -> Planned:
    """Return the plan without constraints, and its text; `plimsoll plan` has the options."""
    check_window(snapshot, is_short_allowed=False)
    placed = in_region(snapshot, target, read_options)
    found = plan_snapshot(diagnosis, placed, PlanConstraints())
    form: Form = "markdown" if output.form == Format.MARKDOWN else "text"
    text = plan_below(found, form, output.width, color=output.has_color)
    return Planned(plan=found, text=text)


def _fleet(target: str, options: DiagnoseOptions) -> int:
    from plimsoll.app.fleet import read_files
    from plimsoll.cli.diagnose import fleet

    flags, read_options = options.flags, options.read_options
    output, lists_all = options.output, options.lists_all
    if target.startswith(PROMETHEUS):
        window_s = live_window(read_options)
        found, address = read_prometheus_instances(target, flags.identifier or "*", read_options, window_s)
        return fleet.run(
            address, found, output=output, lists_all=lists_all, window_s=window_s, waits=lambda: f"asking {address}"
        )
    if not is_fleet(target):
        return fleet.run(
            target,
            read_files(target, instance_file=flags.instance_file, read_options=read_options),
            output=output,
            lists_all=lists_all,
        )
    window_s = live_window(read_options)
    stream, usage, waits = read_fleet(target, read_options, window_s)
    return fleet.run(
        target,
        stream,
        output=output,
        lists_all=lists_all,
        window_s=window_s,
        spent=lambda: (usage(), cost_of(usage())),
        waits=waits,
    )


def _write_files(diagnosis: Diagnosis, snapshot: Snapshot, parts: PageParts, options: DiagnoseOptions) -> Failed | None:
    """Write the files; return why the page has no plan, if it has none."""
    failed, html, png = None, options.output.html, options.png
    if html is not None:
        from plimsoll.cli.page_origin import page_origin

        report = Report(diagnosis=diagnosis, snapshot=snapshot, inspection=parts.inspection, plan=parts.plan)
        origin = page_origin()
        page = attempted(lambda: render(report, "html", origin=origin))
        if isinstance(page, Failed):
            failed = page
            page = render(replace(report, plan=None), "html", origin=origin)
        write_text(html, page, "report")
    if png is not None:
        from plimsoll.reports.chart.drawing import write_png
        from plimsoll.reports.diagnosis.chart import timeline_spec

        write_png(png, timeline_spec(diagnosis, snapshot))
        say_written(png, "picture")
    if options.card is not None:
        from plimsoll.reports.chart.drawing import write_svg_as_png
        from plimsoll.reports.diagnosis.card import card_svg

        write_svg_as_png(options.card, card_svg(diagnosis, snapshot, parts.plan))
        say_written(options.card, "card")
    return failed
