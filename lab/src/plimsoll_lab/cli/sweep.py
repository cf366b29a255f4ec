"""`plimsoll sweep`: measure what storage delivers at each I/O size, and find its limits."""

import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from plimsoll.app.moments import seconds_of
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import OUTPUT_PANEL, WIDTH_OF_PAIRS, Output, check_picture, output_options, say_written
from plimsoll.errors import UsageError
from plimsoll_lab.cli.amounts import bytes_of
from plimsoll_lab.model.sweep import Direction, Sweep, SweepReport
from plimsoll_lab.sweep.plan import DEPTH, DEPTH_MAX, FOR_EACH_S, SIZES_BYTES, SweepPlan

_BOUNDS_PANEL = "Bounds"

OfPath = Annotated[
    Path | None,
    typer.Option("--path", metavar="PATH", help="Measure this disk with fio: a folder on it, or a large file."),
]
OfServer = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="DSN",
        envvar="PLIMSOLL_DSN",
        show_envvar=True,
        help="Measure the storage of this PostgreSQL server, version 17 or later, for example 'host=db1 "
        "dbname=orders user=dba'.",
    ),
]
OfTable = Annotated[
    str | None, typer.Option("--table", metavar="NAME", help="With --dsn: read this table (default: the largest).")
]
MaxBytes = Annotated[
    str,
    typer.Option(
        "--max-bytes", metavar="SIZE", help="Read and write at most this much in total.", rich_help_panel=_BOUNDS_PANEL
    ),
]
Depth = Annotated[
    int,
    typer.Option(
        "--depth",
        metavar="N",
        min=2,
        max=DEPTH_MAX,
        help="Requests in flight; with --dsn sessions, at most 16.",
        rich_help_panel=_BOUNDS_PANEL,
    ),
]
AllowWrites = Annotated[
    bool,
    typer.Option(
        "--allow-writes",
        help="With --path: create a temporary file, and also measure writes. With --dsn: create a table to "
        "read. Plimsoll removes both.",
    ),
]
ForEach = Annotated[
    str,
    typer.Option(
        "--for-each", metavar="TIME", help="Measure each I/O size for this long.", rich_help_panel=_BOUNDS_PANEL
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option("--sizes", metavar="LIST", help="I/O sizes, for example 8KiB,64KiB,1MiB (default: 4 KiB to 1 MiB)."),
]
Png = Annotated[
    Path | None,
    typer.Option("--png", metavar="FILE", help="Also draw the chart, as .png or .svg.", rich_help_panel=OUTPUT_PANEL),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("sweep")(expand(sweep, output=output_options(WIDTH_OF_PAIRS)))


def sweep(
    path: OfPath = None,
    dsn: OfServer = None,
    table: OfTable = None,
    for_each: ForEach = f"{FOR_EACH_S}s",
    sizes: Sizes = None,
    max_bytes: MaxBytes = "20GiB",
    depth: Depth = DEPTH,
    allow_writes: AllowWrites = False,
    png: Png = None,
    *,
    output: Output,
) -> None:
    """
    Measure what storage delivers at each I/O size, and find its limits.

    Plimsoll writes nothing unless you give --allow-writes.

    Exit status: 0 limits were found, 2 they were not, or bad input.
    """
    if path is None and dsn is None:
        raise UsageError(
            "no storage to measure was given",
            "Give --path with a folder on the disk, or --dsn with a PostgreSQL server.",
        )
    if path is not None and dsn is not None and dsn != os.environ.get("PLIMSOLL_DSN"):
        raise UsageError("--path and --dsn cannot be measured together", "Leave one of them out.")
    check_chart(png)
    plan = SweepPlan(
        sizes_bytes=SIZES_BYTES if sizes is None else sizes_of(sizes),
        for_each_s=seconds_of(for_each, "--for-each"),
        max_bytes=bytes_of(max_bytes, "--max-bytes"),
        depth=depth,
    )
    with ended_like_ctrl_c():
        # A path on the command line takes precedence over a server in the environment.
        if path is not None:
            measured = _of_path(path, plan, table, allow_writes=allow_writes)
        else:
            measured = _of_server(dsn or "", plan, table, allow_writes=allow_writes)
    reports = [report_of(measured)]
    write_sweeps(reports, output, png)
    raise typer.Exit(0 if is_explained(reports) else 2)


def _of_path(path: Path, plan: SweepPlan, table: str | None, *, allow_writes: bool) -> Sweep:
    from plimsoll_lab.sweep.fio import sweep_path

    if table is not None:
        raise UsageError("--table needs --dsn, but --path was given", "Leave one of them out.")
    if allow_writes:
        plan = replace(plan, directions=(Direction.READ, Direction.WRITE))
    return sweep_path(path, plan, allow_writes=allow_writes, show_progress=print_progress)


def _of_server(dsn: str, plan: SweepPlan, table: str | None, *, allow_writes: bool) -> Sweep:
    from plimsoll.sources.postgres.pg_stat import DatabaseProbe, without_password
    from plimsoll_lab.sweep.postgres import sweep_database
    from plimsoll_lab.sweep.server import SweepServer

    probe = DatabaseProbe(dsn, time.monotonic)
    try:
        place = probe.open().place
    finally:
        probe.close()
    server = SweepServer(dsn, lambda text: without_password(text, dsn))
    return sweep_database(
        server, plan, place=place, allow_writes=allow_writes, table=table, show_progress=print_progress
    )


def report_of(measured: Sweep) -> SweepReport:
    """Return a sweep with the limits that explain it."""
    from plimsoll_lab.fit.fit import fit_sweep

    return SweepReport(sweep=measured, fit=fit_sweep(measured))


def is_explained(reports: Sequence[SweepReport]) -> bool:
    """Return whether any limit was found in every configuration."""
    return all(any(fit.is_explained for fit in report.fit.phases) for report in reports)


def sizes_of(text: str) -> tuple[int, ...]:
    """
    Return I/O sizes in bytes, increasing.

    Raises:
        UsageError: one of them is not an amount of bytes.
    """
    parts = [part for part in re.split(r"[,\s]+", text.strip()) if part]
    return tuple(sorted({bytes_of(part, "--sizes") for part in parts}))


def check_chart(png: Path | None) -> None:
    """
    Refuse a picture that could not be written, before minutes of measuring.

    Raises:
        UsageError: the name has another ending, or its folder is missing.
    """
    if png is not None:
        from plimsoll.reports.chart.drawing import check_picture_ending

        check_picture_ending(png)
    check_picture(png)


def write_sweeps(reports: Sequence[SweepReport], output: Output, png: Path | None) -> None:
    """
    Print the sweeps, and write the requested files.

    Raises:
        UsageError: a file cannot be written.
    """
    from plimsoll_lab.reports.drawn import drawn_sweeps

    output.write(drawn_sweeps(reports), "sweep")
    if png is not None:
        from plimsoll_lab.reports.sweep.chart import write_sweep_picture

        write_sweep_picture(png, reports)
        say_written(png, "picture")


def print_progress(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201
