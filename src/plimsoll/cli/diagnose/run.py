"""Run `plimsoll diagnose`: read a target, diagnose it, print the report and write the files."""

from collections.abc import Callable
from typing import NoReturn

from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_target, read_events, with_own_events
from plimsoll.app.inspect import inspect_for_diagnosis
from plimsoll.app.options import InstanceOptions
from plimsoll.app.plan import asks_for_size, check_window, in_region, plan_snapshot, shows_a_day
from plimsoll.app.read import cost_of, live_window, read_fleet, read_prometheus_instances
from plimsoll.app.render import Report, render
from plimsoll.app.targets import Files, Prometheus, Rds, Target, is_several
from plimsoll.cli.diagnose.command import DiagnoseOptions
from plimsoll.cli.endings import FAILED, Failed, attempted
from plimsoll.cli.next_command import answerable_plan
from plimsoll.cli.output import Format, check_ending, check_picture, say_written, write_text
from plimsoll.cli.progress import TERMINAL
from plimsoll.errors import UsageError
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.plan import Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot

EXIT = {Verdict.SLACK: 0, Verdict.NEAR: 0, Verdict.BINDS: 1, Verdict.UNKNOWN: 2}


def run_diagnose(options: DiagnoseOptions) -> int:
    """
    Diagnose a target or a fleet, print the report and write the requested files.

    Returns:
        Exit status: 0 no limit binds, 1 a limit binds, 2 unknown.
    """
    output = options.output
    if options.watch is not None:
        _repeat(options, options.watch)
    check_ending(options.png, "--png writes a PNG picture", (".png",))
    check_picture(options.png)
    if options.card is not None:
        from plimsoll.reports.chart.drawing import check_picture_ending

        check_picture_ending(options.card, (".png",))
        check_picture(options.card)
    if is_several(options.target, options.instance.identifier):
        is_any_given = _needs_one(options) or options.events_zone is not None
        refuse_single_instance_options(options.target, options.instance, is_any_given=is_any_given)
        return _fleet(options)
    if options.has_plan and output.form == Format.JSON:
        raise UsageError("the JSON report has no plan", "Use 'plimsoll plan TARGET --format json' for the plan.")
    events = read_events(options.events, options.events_zone)
    snapshot, diagnosis = diagnose_target(options.target, options.instance, options.read, TERMINAL)
    diagnosis = with_own_events(diagnosis, snapshot, events)
    observation = options.database.observed() or snapshot.observation
    inspected = None if observation is None else inspect_for_diagnosis(diagnosis, observation, snapshot.credit_clock)
    plan = attempted(lambda: _plan(diagnosis, snapshot, options)) if options.has_plan else None
    failures = [plan] if isinstance(plan, Failed) else []
    report = Report(
        diagnosis=diagnosis, snapshot=snapshot, inspection=inspected, plan=None if isinstance(plan, Failed) else plan
    )
    text = _rendered(report, output.render, failures)
    if output.form == Format.TEXT and not output.is_brief and not options.has_plan:
        text += _next_step(diagnosis, snapshot, options)
    output.emit(text)
    _write_files(report, options, failures)
    if not failures:
        return EXIT[diagnosis.verdict]
    failures[0].print_error("no plan")
    return FAILED if failures[0].is_crash else EXIT[diagnosis.verdict]


def _needs_one(options: DiagnoseOptions) -> bool:
    """Return whether an option was given that needs a single reading of one instance."""
    database = options.database
    given = (options.png, options.card, database.dsn, database.duration, options.events)
    return options.has_plan or any(one is not None for one in given)


def _repeat(options: DiagnoseOptions, interval: str) -> NoReturn:
    from plimsoll.cli.diagnose.repeat import check_interval, run_repeated

    output = options.output
    period_s = check_interval(
        options.target,
        interval,
        other_options=output.form != Format.TEXT
        or not output.is_printed
        or output.html is not None
        or _needs_one(options)
        or options.lists_all
        or is_several(options.target, options.instance.identifier),
        until=options.read.until,
    )
    run_repeated(options.target, options.instance, options.read, output, asked=interval, period_s=period_s)


def refuse_single_instance_options(target: Target, flags: InstanceOptions, *, is_any_given: bool) -> None:
    """
    Refuse options that need a single instance.

    Raises:
        UsageError: such an option was given for several instances.
    """
    every = InstanceOptions(
        identifier=flags.identifier, instance_file=None if isinstance(target, Prometheus) else flags.instance_file
    )
    if is_any_given or flags != (InstanceOptions() if isinstance(target, Rds) else every):
        raise UsageError(
            f"'{target}' matches several instances; --png, --card, --dsn, --events, --plan and the instance "
            "options need a single one",
            "Leave them out, or name one instance.",
        )


def _next_step(diagnosis: Diagnosis, snapshot: Snapshot, options: DiagnoseOptions) -> str:
    """
    Return the command that plans a change for the limit that was found; empty if it could not answer.

    A plan needs throttled storage, a known instance, and a day of samples; a live target can be read for
    longer than it was.
    """
    if not asks_for_size(diagnosis) or diagnosis.measured_s <= 0:
        return ""
    is_day = shows_a_day(snapshot)
    found = answerable_plan(snapshot, options.target, options.instance, options.read, keeps_window=is_day)
    return f"\nThe way past it, priced{found.where}:\n  {found.command}\n" if found else ""


def _plan(diagnosis: Diagnosis, snapshot: Snapshot, options: DiagnoseOptions) -> Plan:
    """Return the plan without constraints; `plimsoll plan` has the options."""
    check_window(snapshot, is_short_allowed=False)
    return plan_snapshot(diagnosis, in_region(snapshot, options.target, options.read), PlanConstraints())


def _rendered(report: Report, form: Callable[[Report], str], failures: list[Failed]) -> str:
    """Return a report in a form; without its plan, and the reason added, if the plan cannot be shown."""
    if report.plan is None:
        return form(report)
    found = attempted(lambda: form(report))
    if isinstance(found, Failed):
        failures.append(found)
        return form(replace(report, plan=None))
    return found


def _fleet(options: DiagnoseOptions) -> int:
    from plimsoll.app.fleet import read_files
    from plimsoll.cli.diagnose import fleet

    target, flags, read_options = options.target, options.instance, options.read
    output, lists_all = options.output, options.lists_all
    if isinstance(target, Files):
        every = read_files(target, instance_file=flags.instance_file, read_options=read_options)
        return fleet.run(str(target), every, output=output, lists_all=lists_all)
    window_s = live_window(read_options)
    if isinstance(target, Prometheus):
        stream, address = read_prometheus_instances(target, flags.identifier or "*", read_options, window_s)
        return fleet.run(
            address, stream, output=output, lists_all=lists_all, window_s=window_s, waits=lambda: f"asking {address}"
        )
    stream, usage, waits = read_fleet(target, read_options, window_s)
    return fleet.run(
        str(target),
        stream,
        output=output,
        lists_all=lists_all,
        window_s=window_s,
        spent=lambda: (usage(), cost_of(usage())),
        waits=waits,
    )


def _write_files(report: Report, options: DiagnoseOptions, failures: list[Failed]) -> None:
    """Write the files; a page whose plan cannot be drawn has none."""
    if options.output.html is not None:
        from plimsoll.cli.page_origin import page_origin

        origin = page_origin()
        page = _rendered(report, lambda one: render(one, "html", origin=origin), failures)
        write_text(options.output.html, page, "report")
    if options.png is not None:
        from plimsoll.reports.chart.drawing import write_png
        from plimsoll.reports.diagnosis.chart import timeline_spec

        write_png(options.png, timeline_spec(report.diagnosis, report.snapshot))
        say_written(options.png, "picture")
    if options.card is not None:
        from plimsoll.reports.chart.drawing import write_svg_as_png
        from plimsoll.reports.diagnosis.card import card_svg

        write_svg_as_png(options.card, card_svg(report.diagnosis, report.snapshot, report.plan))
        say_written(options.card, "card")
