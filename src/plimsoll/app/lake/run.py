"""Run the diagnosis over a lake, and explain one instance of it."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.lake.verdict import plan_of, verdict_function
from plimsoll.app.moments import window_of
from plimsoll.app.render import Report
from plimsoll.errors import DataError, PlimsollError, UsageError
from plimsoll.model.fleet import FleetReport, FleetVerdict
from plimsoll.model.visible import cell
from plimsoll.sources.values.shown import shown

if TYPE_CHECKING:
    import pyarrow as pa

    from plimsoll.fleet.lake import Lake, Manifest
    from plimsoll.fleet.run import Verdict

Window = tuple[str | None, str | None, str | None]
"""`--last`, `--from` and `--to`; `--last` counts back from the last point of the lake."""

LOCAL, SPARK = "local", "spark"
"""Engines: processes of this machine, or a Spark."""


def run_fleet(
    lake: "Lake",
    window: Window,
    *,
    processes: int | None = None,
    has_plan: bool = True,
    by: Sequence[str] = (),
    on_bucket: Callable[[int, int], None] | None = None,
    engine: str = LOCAL,
    spark_master: str | None = None,
) -> tuple["pa.Table", FleetReport]:
    """
    Return the verdicts of all instances as an Arrow table by name, and ranked as a report.

    Args:
        lake: opened.
        window: of the points to judge.
        processes: of the local engine; None for one for each core.
        has_plan: whether plans are computed.
        by: groupings, each a text that `fleet.answers.check_by` accepts.
        on_bucket: called after each bucket, with the number of buckets done and of all.
        engine: `LOCAL` or `SPARK`; the table is the same.
        spark_master: of Spark, as of `fleet.spark.run.run_spark`.

    Raises:
        UsageError: there is no lake, the window is not valid, or the engine cannot start.
        DataError: no point lies in the window.
        SourceError: the lake cannot be read, or the engine failed.
    """
    from plimsoll.fleet.answers import fleet_report

    manifest = lake.manifest()
    window_s = window_s_of(lake, manifest, window)
    verdict = verdict_function(window_s=window_s, has_plan=has_plan)
    if engine == SPARK:
        table = _on_spark(lake, manifest, verdict, spark_master, window_s, on_bucket)
    else:
        from plimsoll.fleet.run import run_local

        table = run_local(
            lake,
            manifest,
            verdict,
            processes=processes or len(os.sched_getaffinity(0)),
            window_s=window_s,
            on_bucket=on_bucket,
        )
    rows = msgspec.convert(table.to_pylist(), tuple[FleetVerdict, ...])
    if not rows:
        raise DataError(f"'{lake.place.url}' has no point in that window", "Choose another window.")
    starts = [row.start_s for row in rows if row.start_s is not None]
    ends = [row.end_s for row in rows if row.end_s is not None]
    return table, fleet_report(
        rows,
        lake=lake.place.url,
        window_s=window_s or (min(starts, default=0), max(ends, default=0)),
        has_plan=has_plan,
        by=by,
    )


def _on_spark(
    lake: "Lake",
    manifest: "Manifest",
    verdict: "Verdict",
    master: str | None,
    window_s: tuple[int, int] | None,
    on_bucket: Callable[[int, int], None] | None,
) -> "pa.Table":
    """Return the verdicts by Spark, after a look for the Java that its driver needs."""
    from plimsoll.fleet.spark.java import find_java
    from plimsoll.fleet.spark.master import chosen_master, starts_java
    from plimsoll.fleet.spark.run import run_spark
    from plimsoll.fleet.spark.session import require_pyspark

    require_pyspark()
    if starts_java(chosen_master(master, os.environ), os.environ):
        find_java("Spark")
    return run_spark(lake, manifest, verdict, master=master, window_s=window_s, on_bucket=on_bucket)


def explain_instance(lake: "Lake", name: str, window: Window, *, has_plan: bool = True) -> Report:
    """
    Return the usual report of one instance of a lake.

    Args:
        lake: opened.
        name: its identifier, compared without case.
        window: of the points to judge.
        has_plan: whether the report has a plan, if one can be made.

    Raises:
        UsageError: no instance or several have the name.
        DataError: its points cannot be used.
        SourceError: the lake cannot be read.
    """
    from plimsoll.fleet.verdict import snapshot_of

    manifest = lake.manifest()
    window_s = window_s_of(lake, manifest, window)
    found = lake.find(manifest, name)
    if not found:
        raise UsageError(
            f"no instance '{shown(name, 63)}' in '{lake.place.url}'",
            "Its identifier is in the column instance of --format csv.",
        )
    if len(found) > 1:
        listed = ", ".join("/".join(part or "?" for part in key[:2]) for key, _ in found)
        raise UsageError(
            f"{len(found)} instances are named '{shown(name, 63)}', in {listed}",
            "Ingest each account and region into a lake of its own to explain one.",
        )
    key, bucket = found[0]
    for points, described in lake.instances(manifest, bucket, window_s):
        if all(points.column(n)[0].as_py() == v for n, v in zip(_KEY, key, strict=True)):
            snapshot = snapshot_of(points, described, window_s)
            diagnosis = diagnose_snapshot(snapshot)
            try:
                plan = plan_of(diagnosis, snapshot) if has_plan else None
            except PlimsollError:
                plan = None  # the column plan_note of the table says why
            return Report(diagnosis=diagnosis, snapshot=snapshot, plan=plan)
    raise DataError(f"no point of '{shown(name, 63)}' in the window", "Choose a longer window.")


_KEY = ("account", "region", "instance")


def table_bytes(table: "pa.Table", report: FleetReport, form: str) -> bytes:
    """
    Return the ranked table as a file.

    Args:
        table: of `run_fleet`.
        report: of `run_fleet`.
        form: `csv` or `parquet`.
    """
    import io

    import polars as pl

    order = {key: place for place, key in enumerate((r.account, r.region, r.instance) for r in report.rows)}
    keys = zip(*(table.column(name).to_pylist() for name in _KEY), strict=True)
    places = [order[key] for key in keys]
    ranked = table.take(sorted(range(len(places)), key=places.__getitem__))
    content = io.BytesIO()
    frame = pl.DataFrame(ranked)
    if form == "csv":
        texts = pl.col(pl.String, pl.Categorical).cast(pl.String)
        frame.with_columns(texts.map_elements(cell, return_dtype=pl.String)).write_csv(content)
    else:
        frame.write_parquet(content)
    return content.getvalue()


def window_s_of(lake: "Lake", manifest: "Manifest", window: Window) -> tuple[int, int] | None:
    """
    Return a window as epoch seconds [start, end); None for all points.

    Raises:
        UsageError: it is not valid.
        SourceError: the lake cannot be read.
    """
    last, since, until = window
    if not any(window):
        return None
    return window_of(last, since, until, now_s=lake.end_s(manifest), default=None)
