"""`plimsoll sweep`: what storage delivers at each I/O size, and the limits that explain it."""

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
from plimsoll.cli.amounts import bytes_of
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.output import Form, Format, WideWidth, say_written, show, write_page, write_text
from plimsoll.errors import UsageError
from plimsoll.lab.sweep.plan import DEPTH, DEPTH_MAX, FOR_EACH_S, SIZES_BYTES, Plan
from plimsoll.model.sweep import Direction, Sweep, SweepReport

_BOUNDS = "Bounds"


OfPath = Annotated[
    Path | None,
    typer.Option("--path", help="A folder of the disk, or a large file on it; measured with fio."),
]
OfServer = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        envvar="PLIMSOLL_DSN",
        show_envvar=True,
        help="A PostgreSQL server of version 17 or later, as 'host=… dbname=… user=…'.",
    ),
]
OfTable = Annotated[
    str | None,
    typer.Option("--table", help="Of the server: which table to read. Without it the largest."),
]
MaxBytes = Annotated[
    str,
    typer.Option(
        "--max-bytes",
        metavar="AMOUNT",
        help="Most that is read and written in all.",
        rich_help_panel=_BOUNDS,
    ),
]
Depth = Annotated[
    int,
    typer.Option(
        "--depth",
        min=2,
        max=DEPTH_MAX,
        help="Requests in flight; of a server sessions, at most 16.",
        rich_help_panel=_BOUNDS,
    ),
]
AllowWrites = Annotated[
    bool,
    typer.Option(
        "--allow-writes",
        help="Of a path: make a temporary file, measure writes to it too. Of a server: make a table to "
        "read. Both are removed.",
    ),
]
ForEach = Annotated[
    str,
    typer.Option(
        "--for-each",
        metavar="TIME",
        help="How long each size is measured.",
        rich_help_panel=_BOUNDS,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes", metavar="LIST", help="I/O sizes, as 8KiB,64KiB,1MiB. Without it 4 KiB to 1 MiB."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Also write the JSON to a file."),
]
Html = Annotated[Path | None, typer.Option("--html", help="Also write a page.")]
Png = Annotated[Path | None, typer.Option("--png", help="Also draw the chart: .png or .svg.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("sweep")(sweep)


def sweep(
    path: OfPath = None,
    dsn: OfServer = None,
    table: OfTable = None,
    for_each: ForEach = f"{FOR_EACH_S}s",
    sizes: Sizes = None,
    max_bytes: MaxBytes = "20GiB",
    depth: Depth = DEPTH,
    allow_writes: AllowWrites = False,
    form: Form = Format.TEXT,
    out: Out = None,
    html: Html = None,
    png: Png = None,
    width: WideWidth = None,
) -> None:
    """
    Measure what storage delivers at each I/O size, and find the limits behind it.

    Nothing is written without --allow-writes. Exit status: 0 limits were found, 2 they were not, or
    bad input.
    """
    if path is None and dsn is None:
        raise UsageError(
            "there is nothing to sweep",
            "Give --path, a folder of the disk, or --dsn, a PostgreSQL server.",
        )
    if path is not None and dsn is not None and dsn != os.environ.get("PLIMSOLL_DSN"):
        raise UsageError("--path and --dsn name two things to sweep", "Leave one of them out.")
    check_outputs(html, png, out)
    plan = Plan(
        sizes_bytes=SIZES_BYTES if sizes is None else sizes_of(sizes),
        for_each_s=seconds_of(for_each, "--for-each"),
        max_bytes=bytes_of(max_bytes, "--max-bytes"),
        depth=depth,
    )
    with ended_like_ctrl_c():
        # A path on the command line goes before a server in the environment.
        if path is not None:
            measured = _of_path(path, plan, table, allow_writes=allow_writes)
        else:
            measured = _of_server(dsn or "", plan, table, allow_writes=allow_writes)
    reports = [report_of(measured)]
    write_sweeps(reports, form=form, out=out, html=html, png=png, width=width)
    raise typer.Exit(0 if is_explained(reports) else 2)


def _of_path(path: Path, plan: Plan, table: str | None, *, allow_writes: bool) -> Sweep:
    from plimsoll.lab.sweep.fio import sweep_path

    if table is not None:
        raise UsageError("--table is of a server, and --path of a disk", "Leave one of them out.")
    if allow_writes:
        plan = replace(plan, directions=(Direction.READ, Direction.WRITE))
    return sweep_path(path, plan, allow_writes=allow_writes, tell=tell)


def _of_server(dsn: str, plan: Plan, table: str | None, *, allow_writes: bool) -> Sweep:
    from plimsoll.lab.sweep.postgres import sweep_database
    from plimsoll.lab.sweep.server import Server
    from plimsoll.sources.postgres.pg_stat import DatabaseProbe, without_password

    probe = DatabaseProbe(dsn, time.monotonic)
    try:
        place = probe.open().place
    finally:
        probe.close()
    server = Server(dsn, lambda text: without_password(text, dsn))
    return sweep_database(
        server, plan, place=place, allow_writes=allow_writes, table=table, tell=tell
    )


def report_of(measured: Sweep) -> SweepReport:
    """A sweep with the limits behind it."""
    from plimsoll.diagnosis.sweep.fit import fit_sweep

    return SweepReport(sweep=measured, fit=fit_sweep(measured))


def is_explained(reports: Sequence[SweepReport]) -> bool:
    """Whether any limit was found in every configuration."""
    return all(any(fit.is_explained for fit in report.fit.phases) for report in reports)


def sizes_of(text: str) -> tuple[int, ...]:
    """
    I/O sizes in bytes, increasing.

    Raises:
        UsageError: one of them is no amount.
    """
    parts = [part for part in re.split(r"[,\s]+", text.strip()) if part]
    return tuple(sorted({bytes_of(part, "--sizes") for part in parts}))


def check_outputs(html: Path | None, png: Path | None, out: Path | None) -> None:
    """
    Refuse a file that could not be written after minutes of measuring.

    Raises:
        UsageError: the first one.
    """
    if png is not None and png.suffix.lower() not in (".png", ".svg"):
        raise UsageError(
            f"'{png.name}' does not end in .png or .svg",
            "The ending says which kind of picture to write.",
        )
    for file in (html, png, out):
        if file is not None and not file.absolute().parent.is_dir():
            raise UsageError(
                f"unable to write '{file}': there is no folder '{file.parent}'",
                "Create the folder, or name another file.",
            )


def write_sweeps(
    reports: Sequence[SweepReport],
    *,
    form: Format,
    out: Path | None,
    html: Path | None,
    png: Path | None,
    width: int | None,
) -> None:
    """
    Print the sweeps, and write the files that were asked for.

    Raises:
        UsageError: a file cannot be written.
    """
    from plimsoll.app.render import Sweeps, render

    found = Sweeps(reports=tuple(reports))
    if out is not None:
        write_text(out, render(found, "json"), "sweep")
    if html is not None:
        write_page(found, html)
    if png is not None:
        from plimsoll.reports.sweep.chart import write_sweep_picture

        write_sweep_picture(png, reports)
        say_written(png, "picture")
    show(found, form, width)


def tell(line: str) -> None:
    """A line of progress."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201
