"""`plimsoll load`: load files into a table within the I/O budget."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from plimsoll.app.options import InstanceOptions, Option, ReadOptions
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import ACCESS, BOUGHT
from plimsoll.cli.pace import TERMS_PANEL, TermsOptions
from plimsoll.cli.progress import TERMINAL, progress_while
from plimsoll.errors import UsageError
from plimsoll.units import format_bytes, format_bytes_per_s, format_duration

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.load.copy.run import LoadProgress
    from plimsoll.load.copy.table import CopyOptions
    from plimsoll.load.pace.pace import Pace

FORMAT_PANEL = "Rows"
# More connections than this do not make PostgreSQL load faster into one table.
WORKERS_MAX = 64
_CSV_ENDINGS = (".csv", ".csv.gz")


class RowOptions(Struct, frozen=True, kw_only=True):
    """How the rows of files are written."""

    row_format: Annotated[str | None, Option("--row-format FORM", FORMAT_PANEL)] = None
    """csv or text, as COPY has them (default: csv if the name ends in .csv or .csv.gz, else text)."""
    has_header: Annotated[bool, Option("--with-header", FORMAT_PANEL)] = False
    """Skip the first line of each file."""
    delimiter: Annotated[str | None, Option("--delimiter CHARACTER", FORMAT_PANEL)] = None
    """Between values (default: a comma in csv, a tab in text)."""
    null: Annotated[str | None, Option("--null MARK", FORMAT_PANEL)] = None
    r"""For no value (default: nothing in csv, \N in text)."""
    quote: Annotated[str | None, Option("--quote CHARACTER", FORMAT_PANEL)] = None
    """Around values in csv (default: ")."""
    encoding: Annotated[str, Option("--encoding NAME", FORMAT_PANEL)] = "UTF8"
    """Encoding of the files, as PostgreSQL names it."""
    columns: Annotated[str | None, Option("--columns LIST", FORMAT_PANEL)] = None
    """Columns of the rows in order, for example id,name (default: all of the table)."""

    def of(self, names: Sequence[str]) -> "CopyOptions":
        """
        Return how the rows of these files are written.

        Raises:
            UsageError: another format, names of both kinds, or more than one character.
        """
        from plimsoll.load.copy.table import CopyOptions

        return CopyOptions(
            is_csv=is_csv(names, self.row_format),
            has_header=self.has_header,
            delimiter=_character(self.delimiter, "--delimiter"),
            null=self.null,
            quote=_character(self.quote, "--quote"),
            encoding=self.encoding,
            columns=() if self.columns is None else _columns(self.columns),
        )


class RowOptionsOfLoad(RowOptions, frozen=True, kw_only=True):
    """The same of `load`, which prints no report: `--format` has always been that of the rows here."""

    row_format: Annotated[str | None, Option("--row-format --format FORM", FORMAT_PANEL)] = None
    """csv or text, as COPY has them (default: csv if the name ends in .csv or .csv.gz, else text)."""


class LoadOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    files: Annotated[tuple[str, ...], Option("FILES TABLE")]
    """Files or s3://BUCKET/KEY, plain or gzip, and the table at the end."""
    dsn: Annotated[str | None, Option("--dsn DSN", envvar="PLIMSOLL_DSN")] = None
    """PostgreSQL server to load into, for example 'host=db1 dbname=orders user=etl'."""
    target: Annotated[str | None, Option("--target TARGET", envvar="PLIMSOLL_TARGET")] = None
    """
    Metrics to pace by: rds:NAME or prom:URL (default: none; then half of the baseline of --class and --storage).
    """
    workers: Annotated[int, Option("--workers N", min=1, max=WORKERS_MAX)] = 8
    """Use at most N connections."""
    is_truncated_first: Annotated[bool, Option("--truncate")] = False
    """
    Empty the table first, and forget what was loaded into it. After a failure, run the command without it to go on.
    """
    commit_latency: Annotated[float | None, Option("--commit-latency RATIO", TERMS_PANEL)] = None
    """
    Send less while the 95th percentile of commits is above RATIO times what it was before the load, for example 1.2
    (default: commits are not watched).
    """
    rows: RowOptionsOfLoad
    instance: Annotated[InstanceOptions, BOUGHT]
    read: Annotated[ReadOptions, ACCESS]
    terms: TermsOptions


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("load")(expand(load))


def load(options: LoadOptions) -> None:
    """
    Load files into a table within the I/O budget.

    Rows go in through COPY, in parallel as far as the allowance of 'plimsoll pace' carries. A ledger table makes
    it exactly once: run the same command again after any failure.

    Exit status: 0 everything is loaded, 2 not everything, or bad input.
    """
    *names, table = named_table(options.files, "load")
    terms = options.terms.terms()
    if options.dsn is None:
        raise UsageError("no server to load into was given", "Give --dsn, or set PLIMSOLL_DSN.")
    from plimsoll.app.load import LoadRequest, load_files

    request = LoadRequest(
        files=tuple(names),
        table=table,
        dsn=options.dsn,
        copy=options.rows.of(names),
        target=options.target,
        instance=options.instance,
        read_options=options.read,
        terms=terms,
        workers_max=options.workers,
        is_truncated_first=options.is_truncated_first,
        commit_latency_ratio=options.commit_latency,
    )
    shown: list[Callable[[], str]] = []
    began_s = time.monotonic()
    with ended_like_ctrl_c(), progress_while(lambda: shown[0]() if shown else ""):
        done = load_files(
            request, watch=lambda pace, progress: shown.append(lambda: _line(pace, progress())), progress=TERMINAL
        )
    print(summary(done, time.monotonic() - began_s))  # noqa: T201


def named_table(files: Sequence[str], command: str) -> Sequence[str]:
    """
    Return the files, and the table at the end.

    Raises:
        UsageError: there is only one word.
    """
    if len(files) < 2:
        raise UsageError("a table is missing", f"Write it after the files: plimsoll {command} a.csv orders.")
    return files


def is_csv(names: Sequence[str], row_format: str | None) -> bool:
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
        raise UsageError("the files have names of different formats", "Give --row-format csv or text.")
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
