"""`plimsoll rehearse`: copy a sample into a scratch table, and find how long the whole load will take."""

import re
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.moments import seconds_of
from plimsoll.app.options import InstanceOptions, Option, ReadOptions
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.load import WORKERS_MAX, RowOptions, named_table
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import ACCESS, BOUGHT
from plimsoll.cli.output import Format, Output, output_options
from plimsoll.cli.progress import TERMINAL
from plimsoll.errors import UsageError
from plimsoll.load.pace.law.terms import RESERVE_RATIO


class RehearseOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    files: Annotated[tuple[str, ...], Option("FILES TABLE")]
    """Files or s3://BUCKET/KEY, plain or gzip, and the table at the end."""
    dsn: Annotated[str | None, Option("--dsn DSN", envvar="PLIMSOLL_DSN")] = None
    """PostgreSQL server that will be loaded, for example 'host=db1 dbname=orders user=etl'."""
    target: Annotated[str | None, Option("--target TARGET", envvar="PLIMSOLL_TARGET")] = None
    """
    Metrics of the instance, as for diagnose: rds:NAME, prom:URL or files (default: none; then half of the baseline of
    --class and --storage, as for load).
    """
    sample: Annotated[str, Option("--sample SHARE")] = "1%"
    """Copy this share of the rows, for example 0.5%; at least 2 MiB (about that of gzip files)."""
    finish_within: Annotated[str | None, Option("--finish-within TIME")] = None
    """Find the cheapest class that finishes in this time, for example 1h."""
    reserve: Annotated[int, Option("--reserve PERCENT", min=0, max=99)] = round(100 * RESERVE_RATIO)
    """Credits that the load will leave in every bucket, 0 to 99."""
    workers: Annotated[int, Option("--workers N", min=1, max=WORKERS_MAX)] = 8
    """Use at most N connections."""
    prices: Annotated[Path | None, Option("--prices FILE")] = None
    """
    AWS price list, an offer file in JSON or CSV; needs a region (default: the catalog's prices).
    """
    is_json: Annotated[bool, Option("--json")] = False
    """The same as --format json."""
    rows: RowOptions
    instance: Annotated[InstanceOptions, BOUGHT]
    read: Annotated[ReadOptions, ACCESS]
    output: Annotated[Output, output_options()]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("rehearse")(expand(rehearse))


def rehearse(options: RehearseOptions) -> int | None:
    """
    Find how long a load will take, from a sample of its rows.

    The sample goes into a scratch table of the same shape, which is dropped. Your table is not touched. The time is
    that of 'plimsoll load' with the same target, here and on every other class.

    Exit status: 0 it finishes in time, or no time was given; 1 it does not; 2 unknown or bad input.
    """
    *names, table = named_table(options.files, "rehearse")
    output = options.output
    if options.dsn is None:
        raise UsageError("no server to rehearse on was given", "Give --dsn, or set PLIMSOLL_DSN.")
    if options.is_json and output.form is not Format.JSON:
        if output.format_given is not None:
            raise UsageError("--json and --format differ", "Leave one of them out.")
        output = replace(output, format_given=Format.JSON)
    from plimsoll.app.rehearse import RehearsalRequest
    from plimsoll.app.rehearse import rehearse as run

    within = options.finish_within
    request = RehearsalRequest(
        files=tuple(names),
        table=table,
        dsn=options.dsn,
        copy=options.rows.of(names),
        sample_ratio=share_of(options.sample),
        target=options.target,
        instance=options.instance,
        read_options=options.read,
        reserve_ratio=options.reserve / 100,
        finish_within_s=None if within is None else seconds_of(within, "--finish-within"),
        workers_max=options.workers,
        prices=options.prices,
    )
    with ended_like_ctrl_c():
        found = run(request, TERMINAL)
    output.write(found, "rehearsal")
    return None if request.finish_within_s is None else {True: 0, False: 1, None: 2}[found.present.fits]


def share_of(text: str) -> float:
    """
    Return the ratio of `1%` or `0.01`.

    Raises:
        UsageError: not a share above 0 and up to 100 percent.
    """
    found = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)\s*(%?)", text.strip())
    ratio = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < ratio <= 1:
        raise UsageError(f"--sample '{text}' is not a share", "Write it as 1% or 0.01.")
    return ratio
