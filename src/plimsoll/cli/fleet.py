"""`plimsoll fleet`: ingest metrics into a lake, and rank its instances."""

import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from msgspec import Struct

from plimsoll.app.options import Option
from plimsoll.cli.help import TargetGroup
from plimsoll.cli.option_groups import OptionGroup, expand
from plimsoll.cli.output import OUTPUT_PANEL, Output, say_written, write_text
from plimsoll.cli.progress import progress_while
from plimsoll.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from plimsoll.app.lake.run import Window
    from plimsoll.fleet.lake import Lake
    from plimsoll.model.fleet import FleetReport

_OTHER = "lake"
_ENGINE_PANEL = "Engine"


class FleetEngine(StrEnum):
    """What runs the diagnoses."""

    LOCAL = "local"
    SPARK = "spark"


class FleetForm(StrEnum):
    """The form of the table."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"
    PARQUET = "parquet"


class FleetOutput(Output, frozen=True, kw_only=True):
    """Where the table goes, and in which form."""

    format_given: Annotated[FleetForm | None, Option("--format FORM", OUTPUT_PANEL)] = None  # type: ignore[assignment]
    """Print text, json, markdown, csv or parquet (default: text, or by the ending of -o)."""
    file: Annotated[Path | None, Option("-o --output FILE", OUTPUT_PANEL)] = None
    """
    Write to this file instead of standard output. The endings .json, .md, .csv and .parquet choose the form.
    """
    lists_all: Annotated[bool, Option("--all", OUTPUT_PANEL)] = False
    """Show every row of each table of the text."""

    by_ending: ClassVar[dict[str, StrEnum]] = {**Output.by_ending, ".csv": FleetForm.CSV, ".parquet": FleetForm.PARQUET}
    writes = "text, JSON, Markdown, CSV or Parquet"

    def check(self) -> None:
        """
        Refuse what could not be written, before any work.

        Raises:
            UsageError: a file has the wrong ending or no folder, or a terminal would get Parquet.
        """
        super().check()
        if self.form == FleetForm.PARQUET and self.is_printed and sys.stdout.isatty():
            raise UsageError("a terminal cannot show Parquet", "Give -o FILE.parquet.")

    def write_table(self, table: "pa.Table", report: "FleetReport") -> None:
        """
        Print or write the table, and write its page if one was requested.

        Raises:
            UsageError: a file cannot be written.
        """
        if self.form not in (FleetForm.CSV, FleetForm.PARQUET):
            self.write(report, lists_all=self.lists_all)
            return
        from plimsoll.app.lake.run import table_bytes

        self._emit(table_bytes(table, report, self.form.value))
        if self.html is not None:
            from plimsoll.app.render import render
            from plimsoll.cli.page_origin import page_origin

            write_text(self.html, render(report, "html", origin=page_origin()), "report")

    def _emit(self, content: bytes) -> None:
        if self.file is not None and not self.is_printed:
            from plimsoll.reports.files.file import write_aside

            write_aside(self.file, content)
            say_written(self.file, "table")
            return
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


class IngestOptions(Struct, frozen=True, kw_only=True):
    """The options of `fleet ingest`."""

    source: Annotated[str, Option("SOURCE")]
    """
    Folder, file or s3://bucket/prefix: files of a CloudWatch metric stream, tables or range exports of many instances,
    answers of describe-db-instances, recorded snapshots, or exports that 'plimsoll diagnose' reads.
    """
    lake: Annotated[str, Option("LAKE")]
    """Folder or s3://bucket/prefix; made if there is none."""
    buckets: Annotated[int | None, Option("--buckets N", min=1, max=4096)] = None
    """Of a new lake: spread instances over this many files a day (default: 64)."""
    iceberg: Annotated[str | None, Option("--iceberg CATALOG.NAMESPACE.TABLE")] = None
    """Also keep the points in this Apache Iceberg table; made if there is none."""


class RankOptions(Struct, frozen=True, kw_only=True):
    """The options of `fleet LAKE`."""

    lake: Annotated[str, Option("LAKE")]
    """Lake that 'plimsoll fleet ingest' wrote."""
    last: Annotated[str | None, Option("--last TIME")] = None
    """Length of the window up to the last point, for example 14d (default: all points)."""
    since: Annotated[str | None, Option("--from DATE")] = None
    """Start of the window, for example 2026-11-20."""
    until: Annotated[str | None, Option("--to DATE")] = None
    """End of the window, exclusive (default: the last point)."""
    explain: Annotated[str | None, Option("--explain INSTANCE")] = None
    """Print the usual report of this instance."""
    has_plan: Annotated[bool, Option("--plan/--no-plan")] = True
    """Compute what would lift each limit, and what could cost less; takes most of the time."""
    engine: Annotated[FleetEngine, Option("--engine ENGINE", _ENGINE_PANEL, shows_default=False)] = FleetEngine.LOCAL
    """
    Diagnose in processes of this machine (local) or on Spark (spark); the table is the same (default: local).
    """
    processes: Annotated[int | None, Option("--processes N", _ENGINE_PANEL, min=1, max=256)] = None
    """Processes of the local engine (default: one for each core)."""
    spark_master: Annotated[str | None, Option("--spark-master URL", _ENGINE_PANEL)] = None
    """
    Spark master, for example local[4], spark://host:7077, yarn, or sc://host:15002 for Spark Connect (default: as the
    environment configures Spark, else this machine).
    """
    by: Annotated[tuple[str, ...], Option("--by GROUP")] = ()
    """
    Also list groups: class, family, engine, region, account or a tag, for example tag:team; can be repeated.
    """
    has_changes: Annotated[bool, Option("--changes")] = False
    """
    Also judge the window before, of the same length, and list what changed; needs --last or --from.
    """
    compare: Annotated[Path | None, Option("--compare FILE")] = None
    """Also list what changed since FILE, a Parquet table of an earlier run."""
    output: Annotated[FleetOutput, OptionGroup(FleetOutput).without("is_brief")]

    def check(self) -> None:
        """Refuse options that do not go together."""
        if self.engine is FleetEngine.LOCAL and self.spark_master is not None:
            raise UsageError("--spark-master needs --engine spark", "Add --engine spark.")
        if self.engine is FleetEngine.SPARK and self.processes is not None:
            raise UsageError(
                "--processes is for the local engine", "Give the number to Spark, for example --spark-master local[2]."
            )
        if self.has_changes and self.compare is not None:
            raise UsageError("--changes and --compare exclude each other", "Give one of them.")


class _FleetGroup(TargetGroup):
    """`fleet ingest …` is a separate command; any other first word is a lake."""

    named = frozenset({"ingest"})
    other = _OTHER


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    fleet = typer.Typer(
        cls=_FleetGroup,
        no_args_is_help=True,
        rich_markup_mode=None,
        subcommand_metavar="{ingest|LAKE}",
        help=(
            "Rank thousands of databases by their limits, from metrics in files.\n\n"
            "'fleet ingest SOURCE LAKE' puts metrics into a lake. 'fleet LAKE' diagnoses every instance in "
            "it and prints one table, the most urgent first; 'fleet LAKE --help' lists its options."
        ),
    )
    fleet.command("ingest")(expand(ingest))
    fleet.command(_OTHER, hidden=True)(expand(rank))
    app.add_typer(fleet, name="fleet")


def ingest(options: IngestOptions) -> int:
    """
    Put metrics into a lake: only files that are new or changed are read.

    Exit status: 0 done, 1 some files or points could not be used, 2 bad input.
    """
    from plimsoll.app.lake.ingest import ingest as run
    from plimsoll.app.lake.ingest import open_lake

    progress = [""]

    def show(count: int, total: int) -> None:
        progress[0] = f"{count:,} of {total:,} files"

    with progress_while(lambda: progress[0]):
        lake = open_lake(options.lake)
        done = run(options.source, lake, bucket_count=options.buckets, iceberg=options.iceberg, on_file=show)
    typer.echo(
        f"{_counted(done.point_count, 'point')} and {_counted(done.described_count, 'description')} from "
        f"{_counted(done.file_count, 'file')}; {done.known_count:,} already ingested"
    )
    if done.copied_count is not None:
        typer.echo(f"{_counted(done.copied_count, 'point')} written to the Iceberg table")
    problems = [f"skipped: {line}" for line in done.unread]
    if done.bad_lines:
        problems.append(f"{_counted(done.bad_lines, 'line or message', 'lines or messages')} could not be read")
    if done.bad_points:
        problems.append(f"{done.bad_points:,} points have no time or no possible value")
    if done.without_mean:
        problems.append(f"{done.without_mean:,} points have a maximum, a minimum or a percentile, but no mean")
    if done.unnamed:
        problems.append(f"{done.unnamed:,} values name no instance")
    if done.counters:
        problems.append(f"{done.counters:,} series are counters: read them with prom:URL")
    for line in problems:
        typer.echo(line, err=True)
    return 1 if problems else 0


def rank(options: RankOptions) -> int:
    """
    Diagnose every instance of a lake, and print one table, the most urgent first.

    Exit status: 0 no limit was reached, 1 a limit was reached, 2 an instance could not be judged, or bad input.
    """
    from plimsoll.app.lake.earlier import table_before, table_in, with_changes
    from plimsoll.app.lake.ingest import open_lake
    from plimsoll.app.lake.run import run_fleet
    from plimsoll.fleet.answers import check_by
    from plimsoll.model.fleet import exit_status

    opened, window = open_lake(options.lake), (options.last, options.since, options.until)
    groupings = [check_by(text) for text in dict.fromkeys(options.by)]
    if options.explain is not None:
        return _explain(opened, options.explain, window, options)
    progress = [""]

    def show(count: int, total: int) -> None:
        progress[0] = f"{count:,} of {total:,} buckets"

    run = partial(
        run_fleet,
        opened,
        processes=options.processes,
        on_bucket=show,
        engine=options.engine.value,
        spark_master=options.spark_master,
    )
    earlier = None if options.compare is None else table_in(options.compare)
    with progress_while(lambda: progress[0]):
        if options.has_changes:
            # Its class and verdict are enough, and a plan takes most of the time.
            earlier = table_before(opened, window, lambda before: run(before, has_plan=False)[1])
        table, report = run(window, has_plan=options.has_plan, by=groupings)
    if earlier is not None:
        report = with_changes(report, earlier)
    options.output.write_table(table, report)
    return exit_status(report.rows)


def _explain(lake: "Lake", name: str, window: "Window", options: RankOptions) -> int:
    from plimsoll.app.lake.run import explain_instance
    from plimsoll.model.diagnosis import Verdict

    form = options.output.form
    if form in (FleetForm.CSV, FleetForm.PARQUET):
        raise UsageError(f"--explain has no {form.value} form", "Use --format text, json or markdown with --explain.")
    report = explain_instance(lake, name, window, has_plan=options.has_plan)
    options.output.write(report)
    return {Verdict.BINDS: 1, Verdict.UNKNOWN: 2}.get(report.diagnosis.verdict, 0)


def _counted(count: int, what: str, many: str | None = None) -> str:
    return f"{count:,} {what if count == 1 else many or f'{what}s'}"
