"""`plimsoll rehearse`: copy a sample into a scratch table, and find how long the whole load will take."""

import re
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.moments import seconds_of
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.load import (
    Columns,
    Delimiter,
    Encoding,
    Files,
    Null,
    Quote,
    RowForm,
    WithHeader,
    Workers,
    copy_options,
)
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import INSTANCE, READ
from plimsoll.cli.output import Format, Output, output_options
from plimsoll.cli.waiting import TERMINAL
from plimsoll.errors import UsageError
from plimsoll.load.pace.law.terms import RESERVE_RATIO

RehearsalDsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="DSN",
        envvar="PLIMSOLL_DSN",
        show_envvar=True,
        help="PostgreSQL server that will be loaded, for example 'host=db1 dbname=orders user=etl'.",
    ),
]
RehearsalTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="TARGET",
        envvar="PLIMSOLL_TARGET",
        show_envvar=True,
        help="Metrics of the instance, as for diagnose: rds:NAME, prom:URL or files (default: none; then half of "
        "the baseline of --class and --storage, as for load).",
    ),
]
SampleShare = Annotated[
    str,
    typer.Option(
        "--sample",
        metavar="SHARE",
        help="Copy this share of the rows, for example 0.5%; at least 2 MiB (about that of gzip files).",
    ),
]
FinishWithin = Annotated[
    str | None,
    typer.Option(
        "--finish-within", metavar="TIME", help="Find the cheapest class that finishes in this time, for example 1h."
    ),
]
Reserve = Annotated[
    int,
    typer.Option(
        "--reserve", metavar="PERCENT", min=0, max=99, help="Credits that the load will leave in every bucket, 0 to 99."
    ),
]
OfferFile = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        help="AWS price list, an offer file in JSON or CSV; needs a region (default: the catalog's prices).",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="The same as --format json.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command = expand(
        rehearse,
        flags=INSTANCE.without("identifier", "instance_file"),
        read_options=READ.without("last", "since", "until", "counts"),
        output=output_options(),
    )
    app.command("rehearse")(command)


def rehearse(
    files: Files,
    *,
    flags: InstanceOptions,
    read_options: ReadOptions,
    output: Output,
    dsn: RehearsalDsn = None,
    target: RehearsalTarget = None,
    sample: SampleShare = "1%",
    finish_within: FinishWithin = None,
    reserve: Reserve = round(100 * RESERVE_RATIO),
    workers: Workers = 8,
    row_format: RowForm = None,
    has_header: WithHeader = False,
    delimiter: Delimiter = None,
    null: Null = None,
    quote: Quote = None,
    encoding: Encoding = "UTF8",
    columns: Columns = None,
    prices: OfferFile = None,
    is_json: AsJson = False,
) -> None:
    """
    Find how long a load will take, from a sample of its rows.

    The sample goes into a scratch table of the same shape, which is dropped. Your table is not touched. The time is
    that of 'plimsoll load' with the same target, here and on every other class.

    Exit status: 0 it finishes in time, or no time was given; 1 it does not; 2 unknown or bad input.
    """
    if len(files) < 2:
        raise UsageError("a table is missing", "Write it after the files: plimsoll rehearse a.csv orders.")
    if dsn is None:
        raise UsageError("no server to rehearse on was given", "Give --dsn, or set PLIMSOLL_DSN.")
    if is_json and output.form is not Format.JSON:
        if output.format_given is not None:
            raise UsageError("--json and --format differ", "Leave one of them out.")
        output = Output(format_given=Format.JSON, file=output.file, html=output.html, width=output.width)
    *names, table = files
    from plimsoll.app.rehearse import RehearsalRequest
    from plimsoll.app.rehearse import rehearse as run

    request = RehearsalRequest(
        files=tuple(names),
        table=table,
        dsn=dsn,
        copy=copy_options(
            names,
            row_format=row_format,
            has_header=has_header,
            delimiter=delimiter,
            null=null,
            quote=quote,
            encoding=encoding,
            columns=columns,
        ),
        sample_ratio=share_of(sample),
        target=target,
        instance=flags,
        read_options=read_options,
        reserve_ratio=reserve / 100,
        finish_within_s=(None if finish_within is None else seconds_of(finish_within, "--finish-within")),
        workers_max=workers,
        prices=prices,
    )
    with ended_like_ctrl_c():
        found = run(request, TERMINAL)
    output.write(found, "rehearsal")
    if request.finish_within_s is not None:
        raise typer.Exit({True: 0, False: 1, None: 2}[found.present.fits])


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
