"""`plimsoll fleet`: ingest metrics into a lake, and rank its instances."""

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll.cli.fleet_table import By, Compare, File, FleetForm, FleetOutput, Form, HasChanges, ListsAll, Page, Width
from plimsoll.cli.help import TargetGroup
from plimsoll.cli.output import Format, Output
from plimsoll.cli.waiting import progress_while
from plimsoll.errors import UsageError

if TYPE_CHECKING:
    from plimsoll.app.lake.run import Window
    from plimsoll.fleet.lake import Lake

_OTHER = "lake"
_ENGINE_PANEL = "Engine"


class FleetEngine(StrEnum):
    """What runs the diagnoses."""

    LOCAL = "local"
    SPARK = "spark"


_Last = Annotated[
    str | None,
    typer.Option(
        "--last",
        metavar="TIME",
        help="Length of the window up to the last point, for example 14d (default: all points).",
    ),
]
_From = Annotated[
    str | None, typer.Option("--from", metavar="DATE", help="Start of the window, for example 2026-11-20.")
]
_To = Annotated[
    str | None, typer.Option("--to", metavar="DATE", help="End of the window, exclusive (default: the last point).")
]
_Explain = Annotated[
    str | None, typer.Option("--explain", metavar="INSTANCE", help="Print the usual report of this instance.")
]
_HasPlan = Annotated[
    bool,
    typer.Option(
        "--plan/--no-plan", help="Compute what would lift each limit, and what could cost less; takes most of the time."
    ),
]
_Processes = Annotated[
    int | None,
    typer.Option(
        "--processes",
        metavar="N",
        min=1,
        max=256,
        rich_help_panel=_ENGINE_PANEL,
        help="Processes of the local engine (default: one for each core).",
    ),
]
_Engine = Annotated[
    FleetEngine,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Diagnose in processes of this machine (local) or on Spark (spark); the table is the same "
        "(default: local).",
        show_default=False,
        rich_help_panel=_ENGINE_PANEL,
    ),
]
_SparkMaster = Annotated[
    str | None,
    typer.Option(
        "--spark-master",
        metavar="URL",
        help="Spark master, for example local[4], spark://host:7077, yarn, or sc://host:15002 for Spark "
        "Connect (default: as the environment configures Spark, else this machine).",
        rich_help_panel=_ENGINE_PANEL,
    ),
]


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
    fleet.command("ingest")(ingest)
    fleet.command(_OTHER, hidden=True)(rank)
    app.add_typer(fleet, name="fleet")


def ingest(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Folder, file or s3://bucket/prefix: files of a CloudWatch metric stream, tables or range "
            "exports of many instances, answers of describe-db-instances, recorded snapshots, or exports that "
            "'plimsoll diagnose' reads.",
        ),
    ],
    lake: Annotated[str, typer.Argument(metavar="LAKE", help="Folder or s3://bucket/prefix; made if there is none.")],
    *,
    buckets: Annotated[
        int | None,
        typer.Option(
            "--buckets",
            metavar="N",
            min=1,
            max=4096,
            help="Of a new lake: spread instances over this many files a day (default: 64).",
        ),
    ] = None,
    iceberg: Annotated[
        str | None,
        typer.Option(
            "--iceberg",
            metavar="CATALOG.NAMESPACE.TABLE",
            help="Also keep the points in this Apache Iceberg table; made if there is none.",
        ),
    ] = None,
) -> None:
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
        done = run(source, open_lake(lake), bucket_count=buckets, iceberg=iceberg, on_file=show)
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
    raise typer.Exit(1 if problems else 0)


def rank(
    lake: Annotated[str, typer.Argument(metavar="LAKE", help="Lake that 'plimsoll fleet ingest' wrote.")],
    *,
    last: _Last = None,
    since: _From = None,
    until: _To = None,
    explain: _Explain = None,
    has_plan: _HasPlan = True,
    engine: _Engine = FleetEngine.LOCAL,
    processes: _Processes = None,
    spark_master: _SparkMaster = None,
    by: By = None,
    has_changes: HasChanges = False,
    compare: Compare = None,
    form: Form = None,
    file: File = None,
    html: Page = None,
    lists_all: ListsAll = False,
    width: Width = None,
) -> None:
    """
    Diagnose every instance of a lake, and print one table, the most urgent first.

    Exit status: 0 no limit was reached, 1 a limit was reached, 2 an instance could not be judged, or bad input.
    """
    _check_engine(engine, processes, spark_master)
    output = FleetOutput(form_given=form, file=file, html=html, lists_all=lists_all, width=width)
    output.check()
    if has_changes and compare is not None:
        raise UsageError("--changes and --compare exclude each other", "Give one of them.")
    from plimsoll.app.lake.earlier import table_before, table_in, with_changes
    from plimsoll.app.lake.ingest import open_lake
    from plimsoll.app.lake.run import run_fleet
    from plimsoll.model.fleet import exit_status

    opened, window = open_lake(lake), (last, since, until)
    from plimsoll.fleet.answers import check_by

    groupings = [check_by(text) for text in dict.fromkeys(by or ())]
    if explain is not None:
        _explain(opened, explain, window, _output(output), has_plan=has_plan)
        return
    progress = [""]

    def show(count: int, total: int) -> None:
        progress[0] = f"{count:,} of {total:,} buckets"

    run = partial(
        run_fleet, opened, processes=processes, on_bucket=show, engine=engine.value, spark_master=spark_master
    )
    earlier = None if compare is None else table_in(compare)
    with progress_while(lambda: progress[0]):
        if has_changes:
            # Its class and verdict are enough, and a plan takes most of the time.
            earlier = table_before(opened, window, lambda before: run(before, has_plan=False)[1])
        table, report = run(window, has_plan=has_plan, by=groupings)
    if earlier is not None:
        report = with_changes(report, earlier)
    output.write(table, report)
    raise typer.Exit(exit_status(report.rows))


def _check_engine(engine: FleetEngine, processes: int | None, spark_master: str | None) -> None:
    if engine is FleetEngine.LOCAL and spark_master is not None:
        raise UsageError("--spark-master needs --engine spark", "Add --engine spark.")
    if engine is FleetEngine.SPARK and processes is not None:
        raise UsageError(
            "--processes is for the local engine", "Give the number to Spark, for example --spark-master local[2]."
        )


def _explain(lake: "Lake", name: str, window: "Window", output: Output, *, has_plan: bool) -> None:
    from plimsoll.app.lake.run import explain_instance
    from plimsoll.model.diagnosis import Verdict

    report = explain_instance(lake, name, window, has_plan=has_plan)
    output.write(report)
    verdict = report.diagnosis.verdict
    raise typer.Exit({Verdict.BINDS: 1, Verdict.UNKNOWN: 2}.get(verdict, 0))


def _output(of: FleetOutput) -> Output:
    if of.form in (FleetForm.CSV, FleetForm.PARQUET):
        raise UsageError(
            f"--explain has no {of.form.value} form", "Use --format text, json or markdown with --explain."
        )
    return Output(format_given=Format(of.form.value), file=of.file, html=of.html, width=of.width)


def _counted(count: int, what: str, many: str | None = None) -> str:
    return f"{count:,} {what if count == 1 else many or f'{what}s'}"
