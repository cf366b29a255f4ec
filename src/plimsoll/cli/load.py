"""`plimsoll load`: load files into a table within the I/O budget."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import INSTANCE, READ
from plimsoll.cli.pace import TERMS, TERMS_PANEL
from plimsoll.cli.waiting import TERMINAL, progress_while
from plimsoll.errors import UsageError
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.units import format_bytes, format_bytes_per_s, format_duration

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.load.copy.run import LoadProgress
    from plimsoll.load.copy.table import CopyOptions
    from plimsoll.load.pace.pace import Pace

FORMAT_PANEL = "Rows"
# More connections than this do not make PostgreSQL load faster into one table.
_WORKERS_MAX = 64
_CSV_ENDINGS = (".csv", ".csv.gz")


Files = Annotated[
    list[str],
    typer.Argument(metavar="FILES TABLE", help="Files or s3://BUCKET/KEY, plain or gzip, and the table at the end."),
]
LoadDsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="DSN",
        envvar="PLIMSOLL_DSN",
        show_envvar=True,
        help="PostgreSQL server to load into, for example 'host=db1 dbname=orders user=etl'.",
    ),
]
PaceBy = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="TARGET",
        envvar="PLIMSOLL_TARGET",
        show_envvar=True,
        help="Metrics to pace by: rds:NAME or prom:URL (default: none; then half of the baseline of "
        "--class and --storage).",
    ),
]
Workers = Annotated[
    int, typer.Option("--workers", metavar="N", min=1, max=_WORKERS_MAX, help="Use at most N connections.")
]
Truncate = Annotated[
    bool,
    typer.Option(
        "--truncate",
        help="Empty the table first, and forget what was loaded into it. After a failure, run the command without "
        "it to go on.",
    ),
]
SlowerCommits = Annotated[
    float | None,
    typer.Option(
        "--commit-latency",
        metavar="RATIO",
        help="Send less while the 95th percentile of commits is above RATIO times what it was before the load, "
        "for example 1.2 (default: commits are not watched).",
        rich_help_panel=TERMS_PANEL,
    ),
]
RowForm = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORM",
        help="csv or text, as COPY has them (default: csv if the name ends in .csv or .csv.gz, else text).",
        rich_help_panel=FORMAT_PANEL,
    ),
]
WithHeader = Annotated[
    bool, typer.Option("--with-header", help="Skip the first line of each file.", rich_help_panel=FORMAT_PANEL)
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="Between values (default: a comma in csv, a tab in text).",
        rich_help_panel=FORMAT_PANEL,
    ),
]
Null = Annotated[
    str | None,
    typer.Option(
        "--null",
        metavar="MARK",
        help=r"For no value (default: nothing in csv, \N in text).",
        rich_help_panel=FORMAT_PANEL,
    ),
]
Quote = Annotated[
    str | None,
    typer.Option(
        "--quote", metavar="CHARACTER", help='Around values in csv (default: ").', rich_help_panel=FORMAT_PANEL
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Encoding of the files, as PostgreSQL names it.",
        rich_help_panel=FORMAT_PANEL,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="LIST",
        help="Columns of the rows in order, for example id,name (default: all of the table).",
        rich_help_panel=FORMAT_PANEL,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command = expand(
        load,
        flags=INSTANCE.without("identifier", "instance_file"),
        read_options=READ.without("last", "since", "until", "counts"),
        terms=TERMS,
    )
    app.command("load")(command)


def load(
    files: Files,
    *,
    flags: InstanceOptions,
    read_options: ReadOptions,
    terms: PaceTerms,
    dsn: LoadDsn = None,
    target: PaceBy = None,
    workers: Workers = 8,
    is_truncated_first: Truncate = False,
    commit_latency: SlowerCommits = None,
    row_format: RowForm = None,
    has_header: WithHeader = False,
    delimiter: Delimiter = None,
    null: Null = None,
    quote: Quote = None,
    encoding: Encoding = "UTF8",
    columns: Columns = None,
) -> None:
    """
    Load files into a table within the I/O budget.

    Rows go in through COPY, in parallel as far as the allowance of 'plimsoll pace' carries. A ledger table makes
    it exactly once: run the same command again after any failure.

    Exit status: 0 everything is loaded, 2 not everything, or bad input.
    """
    if len(files) < 2:
        raise UsageError("a table is missing", "Write it after the files: plimsoll load a.csv orders.")
    if dsn is None:
        raise UsageError("no server to load into was given", "Give --dsn, or set PLIMSOLL_DSN.")
    *names, table = files
    from plimsoll.app.load import LoadRequest, load_files

    copy = copy_options(
        names,
        row_format=row_format,
        has_header=has_header,
        delimiter=delimiter,
        null=null,
        quote=quote,
        encoding=encoding,
        columns=columns,
    )
    request = LoadRequest(
        files=tuple(names),
        table=table,
        dsn=dsn,
        copy=copy,
        target=target,
        instance=flags,
        read_options=read_options,
        terms=terms,
        workers_max=workers,
        is_truncated_first=is_truncated_first,
        commit_latency_ratio=commit_latency,
    )
    shown: list[Callable[[], str]] = []
    began_s = time.monotonic()
    with ended_like_ctrl_c(), progress_while(lambda: shown[0]() if shown else ""):
        done = load_files(
            request, watch=lambda pace, progress: shown.append(lambda: _line(pace, progress())), progress=TERMINAL
        )
    print(summary(done, time.monotonic() - began_s))  # noqa: T201


def copy_options(
    names: list[str],
    *,
    row_format: str | None,
    has_header: bool,
    delimiter: str | None,
    null: str | None,
    quote: str | None,
    encoding: str,
    columns: str | None,
) -> "CopyOptions":
    """
    Return how the rows of files are written, from the options of the command line.

    Raises:
        UsageError: another format, names of both kinds, or more than one character.
    """
    from plimsoll.load.copy.table import CopyOptions

    return CopyOptions(
        is_csv=is_csv(names, row_format),
        has_header=has_header,
        delimiter=_character(delimiter, "--delimiter"),
        null=null,
        quote=_character(quote, "--quote"),
        encoding=encoding,
        columns=() if columns is None else _columns(columns),
    )


def is_csv(names: list[str], row_format: str | None) -> bool:
    """
    Return whether rows are CSV: as it was said, or by the names.

    Raises:
        UsageError: another format, or names of both kinds.
    """
    if row_format is not None:
        if row_format not in ("csv", "text"):
            raise UsageError(f"there is no format '{row_format}'", "Use csv or text.")
        return row_format == "csv"
    kinds = {name.lower().endswith(_CSV_ENDINGS) for name in names}
    if len(kinds) > 1:
        raise UsageError("the files have names of different formats", "Give --format csv or text.")
    return kinds.pop()


def summary(done: "LoadProgress", elapsed_s: float) -> str:
    """Return what a load did, in one line; another says how commits did, if they were watched."""
    new = done.loaded_bytes - done.earlier_bytes
    text = f"{done.row_count:,} rows loaded, {format_bytes(new)} in {format_duration(elapsed_s)}"
    if done.earlier_bytes:
        text += f"; {format_bytes(done.earlier_bytes)} were loaded before"
    if done.commits is not None:
        text += f"\n{done.commits.sentence()}"
    return text


def _columns(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(","))
    if "" in names:
        raise UsageError(f"--columns '{text}' has an empty name", "Give names with commas between: id,name.")
    return names


def _character(text: str | None, option: str) -> str | None:
    named = {"\\t": "\t", "tab": "\t"}.get(text or "", text)
    if named is not None and len(named.encode()) != 1:
        raise UsageError(f"{option} '{text}' is not one character", "Give one ASCII character.")
    return named


def _line(pace: "Pace", now: "LoadProgress") -> str:
    allowance = pace.allowance()
    total = f" of {format_bytes(now.total_bytes)}" if now.total_bytes else ""
    left_s = pace.time_to_finish_s()
    left = "" if left_s is None else f", {format_duration(left_s)} left under the credits that are left"
    rate = format_bytes_per_s(allowance.bytes_per_s, 3)
    return f"{format_bytes(now.loaded_bytes)}{total}, {rate} allowed, {now.workers} working{left}"
