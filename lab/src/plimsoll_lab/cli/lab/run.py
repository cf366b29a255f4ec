"""
Run `plimsoll lab postgres`: run the load, diagnose it, and compare the diagnosis with the truth.

The report goes to standard output; progress goes to standard error.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.inspect import inspect_for_diagnosis
from plimsoll.app.moments import seconds_of
from plimsoll.app.observing import Observing
from plimsoll.app.options import InstanceOptions
from plimsoll.app.render import Report, render
from plimsoll.cli.diagnose.run import EXIT
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.output import check_page, check_snapshot, is_color
from plimsoll.errors import UsageError
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.units import format_bytes, format_latency, number
from plimsoll_lab.cli.amounts import bytes_of
from plimsoll_lab.cli.gate import words as gate_words
from plimsoll_lab.cli.gate.options import RunFlags
from plimsoll_lab.cli.gate.run import GateFlags, group_of, setup_of, truth_path
from plimsoll_lab.gate.config import GateSetup, stages_of
from plimsoll_lab.gate.record import MINUTE_S, encode_truth, minutes_of
from plimsoll_lab.load.dataset import dataset_of
from plimsoll_lab.load.workload import workload_of
from plimsoll_lab.model.lab import GroundTruth, LabProgress
from plimsoll_lab.sessions.ground import compare_with_truth
from plimsoll_lab.sessions.postgres import PostgresPlan, run_lab
from plimsoll_lab.sessions.session import Outcome, check_memory

# Status of a run that proves nothing: the same as for no verdict (docs/reference/exit-status.md).
_VOID = 2

# Without a terminal, a line is printed every ten emulated minutes and at the end.
_LINE_EVERY_S = 10 * MINUTE_S

ReportProgress = Callable[[LabProgress], None]


class LabFlags(RunFlags, frozen=True, kw_only=True):
    """Options of a run with PostgreSQL."""

    scale: int | None
    pg_bin: Path | None
    is_inspecting: bool


def run_postgres(flags: LabFlags) -> int:
    """
    Run PostgreSQL under the limits, print the report and save the requested files.

    Returns:
        Exit status: 0 no limit binds, 1 a limit binds, 2 unknown, or this machine was too slow.

    Raises:
        PlimsollError: flags that are not valid, or a program that did not start.
    """
    from plimsoll.catalog.load import catalog

    check_snapshot(flags.output)
    check_page(flags.html)
    plan = plan_of(flags)
    # SIGTERM during the run ends the run early; before and after, it ends the command.
    with ended_like_ctrl_c():
        _print_line(f"{gate_words.emulated(plan.setup)}, {minutes_of(plan.setup)}")
        _print_line(_memory_line(plan))
        with display() as report_progress:
            outcome = run_lab(
                plan,
                catalog(),
                report_progress=report_progress,
                print_line=_print_line,
                watch=_watched if flags.is_inspecting else None,
            )
    return report(outcome, flags)


def report(outcome: Outcome, flags: RunFlags) -> int:
    """
    Diagnose a run, print the diagnosis and the truth, and save the requested files.

    Returns:
        Exit status: 0 no limit binds, 1 a limit binds, 2 unknown, or this machine was too slow.
    """
    from plimsoll.catalog.load import catalog

    _print_line(_done(outcome))
    diagnosis = diagnose_snapshot(outcome.snapshot)
    ground = compare_with_truth(
        diagnosis, outcome.truth, stages_of(outcome.setup, catalog()), clock=outcome.setup.clock
    )
    _print(diagnosis, outcome, ground, flags.width)
    _save(diagnosis, outcome, flags)
    return _VOID if ground.is_void else EXIT[diagnosis.verdict]


def plan_of(flags: LabFlags) -> PostgresPlan:
    """
    Return the run that the flags describe.

    Raises:
        UsageError: flags that contradict each other, or are not valid.
        CatalogError: an unknown class.
    """
    setup = setup_for(flags.instance, "postgres", clock=flags.clock, balance=flags.credits)
    memory_bytes = bytes_of(flags.memory, "--memory")
    check_memory(memory_bytes)
    workload = workload_of(flags.workload, clients=flags.clients, rate_per_s=flags.rate)
    dataset = dataset_of(workload.tables, memory_bytes=memory_bytes, clients=flags.clients, scale=flags.scale)
    duration_s = seconds_of(flags.duration, "--for")
    check_length(setup, duration_s)
    return PostgresPlan(
        setup=setup,
        workload=workload,
        dataset=dataset,
        duration_s=duration_s,
        memory_bytes=memory_bytes,
        binaries=flags.pg_bin,
        keeps=flags.keeps,
        is_inspected=flags.is_inspecting,
        group=group_of(setup) if flags.has_cpu else None,
    )


def setup_for(instance: InstanceOptions, engine: str, *, clock: float, balance: float) -> GateSetup:
    """
    Return the setup of a gate for the lab.

    Raises:
        UsageError: flags that contradict each other, or are not valid.
        CatalogError: an unknown class.
    """
    from plimsoll.catalog.load import catalog

    setup = setup_of(
        GateFlags(
            instance=replace(instance, engine=engine, identifier="lab"),
            clock=clock,
            credits=balance,
            memory=None,
            legacy=None,
            latency_ms=None,
            limits=None,
            mode="fs",
            backing=None,
            mount=None,
            metrics=None,
            output=None,
        )
    )
    stages_of(setup, catalog())
    return setup


def _watched(dsn: str) -> Callable[[], Observation | None]:
    """Start to watch a database; return the function that ends it."""
    return Observing(dsn, _print_line).end


def check_length(setup: GateSetup, duration_s: int) -> None:
    """
    Refuse a run too short for a diagnosis.

    Raises:
        UsageError: less than three emulated minutes.
    """
    # The first and the last minute are only partly recorded, and a sample needs a whole minute.
    if duration_s * setup.clock < 3 * MINUTE_S:
        raise UsageError(
            f"--for {duration_s}s is less than three emulated minutes at credit clock {setup.clock:g}",
            "Run for longer, or with a larger --clock. A diagnosis needs about ten minutes.",
        )


def _memory_line(plan: PostgresPlan) -> str:
    memory, size = format_bytes(plan.memory_bytes), format_bytes(plan.dataset.size_bytes)
    line = f"emulated memory {memory}, tables {size}"
    if plan.dataset.size_bytes <= plan.memory_bytes:
        line += ": the tables fit in memory, so few reads will reach the disk"
    return line


def _done(outcome: Outcome) -> str:
    line = "interrupted; reporting what was measured" if outcome.was_interrupted else "done"
    if outcome.pace is None:
        return line
    line += f": {number(outcome.pace.transactions_per_s, 3)} transactions/s"
    if outcome.pace.latency_s is not None:
        line += f", {format_latency(outcome.pace.latency_s)} each"
    return line


@contextmanager
def display() -> Iterator[ReportProgress]:
    """Show progress: a display that is redrawn each second on a terminal, else lines."""
    from plimsoll_lab.reports.lab import text as lab_text

    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _lines()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Live(console=console, auto_refresh=False) as picture:

        def report_progress(progress: LabProgress) -> None:
            picture.update(lab_text.live(lab_text.progress_lines(progress)), refresh=True)

        yield report_progress


def _lines() -> ReportProgress:
    from plimsoll_lab.reports.lab.text import progress_line

    shown = 0

    def report_progress(progress: LabProgress) -> None:
        nonlocal shown
        due = int(progress.emulated_s // _LINE_EVERY_S)
        if due > shown or progress.elapsed_s >= progress.duration_s:
            shown = due
            _print_line(progress_line(progress))

    return report_progress


def _print(diagnosis: Diagnosis, outcome: Outcome, ground: GroundTruth, width: int | None) -> None:
    from plimsoll_lab.reports.lab.text import render_truth

    color = is_color()
    sys.stdout.write(render(_report(diagnosis, outcome), width=width, color=color))
    sys.stdout.write(render_truth(ground, width=width, color=color))
    sys.stdout.flush()


def _report(diagnosis: Diagnosis, outcome: Outcome) -> Report:
    """Return the report, with what inside the database caused the load if it was watched."""
    snapshot = outcome.snapshot
    watched = snapshot.observation
    inspection = None if watched is None else inspect_for_diagnosis(diagnosis, watched, snapshot.credit_clock)
    return Report(diagnosis=diagnosis, snapshot=snapshot, inspection=inspection)


def _save(diagnosis: Diagnosis, outcome: Outcome, flags: RunFlags) -> None:
    from plimsoll.reports.files.file import write_aside

    if flags.output is not None:
        from plimsoll.reports.files.snapshot import write_snapshot

        write_snapshot(flags.output, outcome.snapshot)
        truth_file = truth_path(flags.output)
        write_aside(truth_file, encode_truth(outcome.truth, outcome.setup, outcome.changes))
        _print_line(f"snapshot: {flags.output} · truth: {truth_file}")
    if flags.html is not None:
        from plimsoll.cli.page_origin import page_origin

        page = render(_report(diagnosis, outcome), "html", origin=page_origin())
        write_aside(flags.html, page.encode())
        _print_line(f"report written to {flags.html}")
    if outcome.kept is not None:
        _print_line(f"database kept in {outcome.kept}")


def _print_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
