"""Which ceiling binds, when, how sure, and what was ruled out: read, diagnosed, printed, written."""

from pathlib import Path

from msgspec import Struct

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.inspect import found_for_diagnosis
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.plan import check_window, in_region, plan_snapshot, shows_a_day
from plimsoll.app.read import (
    cost_of,
    live_window,
    read_fleet,
    read_prometheus_instances,
    read_target,
)
from plimsoll.app.render import Form, Report, plan_below
from plimsoll.app.targets import PROMETHEUS, is_fleet, is_several
from plimsoll.cli.endings import FAILED, Failed, attempted
from plimsoll.cli.next_command import answered_plan
from plimsoll.cli.output import (
    Format,
    Output,
    check_ending,
    check_picture,
    say_written,
    write_text,
)
from plimsoll.cli.waiting import TERMINAL
from plimsoll.cli.watching import observed_if_asked
from plimsoll.errors import UsageError
from plimsoll.model.cause import Inspection
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.plan import Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot

EXIT = {Verdict.SLACK: 0, Verdict.NEAR: 0, Verdict.BINDS: 1, Verdict.UNKNOWN: 2}


class PageParts(Struct, frozen=True, kw_only=True):
    """What a page shows besides the diagnosis; None leaves it out."""

    plan: Plan | None
    inspection: Inspection | None


class Planned(Struct, frozen=True, kw_only=True):
    """A plan, and its section of the printed report."""

    plan: Plan
    text: str


class DiagnoseOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    flags: InstanceOptions
    read_options: ReadOptions
    output: Output
    png: Path | None
    has_plan: bool
    dsn: str | None
    duration: str | None
    lists_all: bool


def run_diagnose(target: str, wanted: DiagnoseOptions) -> int:
    """
    Diagnose a target or a fleet, print it and write the files that were asked for.

    Returns:
        Exit status: 0 nothing binds, 1 something binds, 2 could not tell.
    """
    flags, reach, output = wanted.flags, wanted.read_options, wanted.output
    check_ending(wanted.png, "--png writes a PNG picture", (".png",))
    check_picture(wanted.png)
    if is_several(target, flags):
        is_of_one = wanted.has_plan or any(
            given is not None for given in (wanted.png, wanted.dsn, wanted.duration)
        )
        refuse_of_one(target, flags, is_of_one=is_of_one)
        return _fleet(target, wanted)
    if wanted.has_plan and output.form == Format.JSON:
        raise UsageError(
            "the JSON report has no plan", "Use 'plimsoll plan TARGET --format json' for it."
        )
    snapshot = read_target(target, flags, reach, TERMINAL)
    diagnosis = diagnose_snapshot(snapshot)
    inspection = _inspected(diagnosis, snapshot, wanted.dsn, wanted.duration)
    planned = (
        attempted(lambda: _planned(diagnosis, snapshot, target, reach, output))
        if wanted.has_plan
        else None
    )
    report = Report(diagnosis=diagnosis, snapshot=snapshot, inspection=inspection)
    text = output.render(report)
    if isinstance(planned, Planned):
        text += planned.text
    elif output.form == Format.TEXT and not wanted.has_plan:
        text += _next_step(diagnosis, snapshot, target, flags, reach)
    output.emit(text)
    parts = PageParts(
        plan=planned.plan if isinstance(planned, Planned) else None, inspection=inspection
    )
    failed = _write_files(diagnosis, snapshot, parts, html=output.html, png=wanted.png)
    failed = planned if isinstance(planned, Failed) else failed
    if failed is not None:
        failed.say("no plan")
    crashed = failed is not None and failed.is_crash
    return FAILED if crashed else EXIT[diagnosis.verdict]


def refuse_of_one(target: str, flags: InstanceOptions, *, is_of_one: bool) -> None:
    """
    Refuse what only a single instance can have.

    Raises:
        UsageError: an option of one instance, or what was bought, beside several instances.
    """
    every = InstanceOptions(
        identifier=flags.identifier,
        instance_file=None if target.startswith(PROMETHEUS) else flags.instance_file,
    )
    if is_of_one or flags != (InstanceOptions() if is_fleet(target) else every):
        raise UsageError(
            f"'{target}' matches several instances; --png, --dsn, --plan and the instance options "
            "need a single one",
            "Leave them out, or name one instance.",
        )


def _next_step(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    target: str,
    flags: InstanceOptions,
    reach: ReadOptions,
) -> str:
    """
    Return the command that prices the way past what bound; nothing where it could not answer.

    A plan needs storage that was held back, an instance that is known, and a day; a live target can be
    read for longer.
    """
    if not diagnosis.time_at or diagnosis.measured_s <= 0:
        return ""
    found = answered_plan(snapshot, target, flags, reach, keeps_window=shows_a_day(snapshot))
    return f"\nThe way past it, priced{found.where}:\n  {found.command}\n" if found else ""


def _inspected(
    diagnosis: Diagnosis, snapshot: Snapshot, dsn: str | None, duration: str | None
) -> Inspection | None:
    """Return what inside the database spends it: now, or as the snapshot recorded it; None of neither."""
    observation = observed_if_asked(dsn, duration) or snapshot.observation
    if observation is None:
        return None
    return found_for_diagnosis(diagnosis, observation, snapshot.credit_clock)


def _planned(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    target: str,
    reach: ReadOptions,
    output: Output,
) -> Planned:
    """Return the way past with nothing wished for, as it is printed; `plimsoll plan` has the options."""
    check_window(snapshot, is_short_allowed=False)
    placed = in_region(snapshot, target, reach)
    found = plan_snapshot(diagnosis, placed, PlanConstraints())
    form: Form = "markdown" if output.form == Format.MARKDOWN else "text"
    text = plan_below(found, form, output.width, color=output.has_color)
    return Planned(plan=found, text=text)


def _fleet(target: str, wanted: DiagnoseOptions) -> int:
    from plimsoll.app.fleet import read_files
    from plimsoll.cli.diagnose import fleet

    flags, reach = wanted.flags, wanted.read_options
    output, lists_all = wanted.output, wanted.lists_all
    if target.startswith(PROMETHEUS):
        window_s = live_window(reach)
        found, address = read_prometheus_instances(target, flags.identifier or "*", reach, window_s)
        return fleet.run(
            address,
            found,
            output=output,
            lists_all=lists_all,
            window_s=window_s,
            waits=lambda: f"asking {address}",
        )
    if not is_fleet(target):
        return fleet.run(
            target,
            read_files(target, instance_file=flags.instance_file, reach=reach),
            output=output,
            lists_all=lists_all,
        )
    window_s = live_window(reach)
    stream, usage, waits = read_fleet(target, reach, window_s)
    return fleet.run(
        target,
        stream,
        output=output,
        lists_all=lists_all,
        window_s=window_s,
        spent=lambda: (usage(), cost_of(usage())),
        waits=waits,
    )


def _write_files(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    parts: PageParts,
    *,
    html: Path | None,
    png: Path | None,
) -> Failed | None:
    """Write the files; what is returned is why the page has no plan."""
    failed = None
    if html is not None:
        from plimsoll.reports.diagnosis.html import render_html

        page = attempted(lambda: render_html(diagnosis, snapshot, parts.plan, parts.inspection))
        if isinstance(page, Failed):
            failed = page
            page = render_html(diagnosis, snapshot, None, parts.inspection)
        write_text(html, page, "report")
    if png is not None:
        from plimsoll.reports.chart.drawing import write_png
        from plimsoll.reports.diagnosis.chart import timeline_spec

        write_png(png, timeline_spec(diagnosis, snapshot))
        say_written(png, "picture")
    return failed
