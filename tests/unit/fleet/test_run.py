"""The local engine gives the same table with any number of processes, also when one of them is killed."""

import io
import json
import multiprocessing
import os
import threading
import time
from pathlib import Path

import polars as pl
import psutil
import pyarrow as pa
import pytest

from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.app.lake.run import explain_instance, run_fleet, table_bytes
from plimsoll.app.lake.verdict import verdict_function
from plimsoll.app.render import render
from plimsoll.errors import SourceError, UsageError
from plimsoll.fleet.lake import Lake
from plimsoll.fleet.run import in_order, run_local
from plimsoll.fleet.tables import VERDICTS
from plimsoll.model.visible import cell

ALL = (None, None, None)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = open_lake(str(tmp_path_factory.mktemp("fleet") / "lake"))
    for name in ("search-service", "claims-pipeline", "quiet"):
        ingest(f"examples/{name}", made)
    return made


def judged(lake: Lake, processes: int) -> pa.Table:
    function = verdict_function(window_s=None, has_plan=False)
    return run_local(lake, lake.manifest(), function, processes=processes)


def test_one_by_one_and_in_processes_the_table_is_the_same(lake: Lake):
    manifest = lake.manifest()
    function = verdict_function(window_s=None, has_plan=False)
    one_by_one = in_order(
        function(*tables)
        for bucket in reversed(lake.buckets(manifest))
        for tables in lake.instances(manifest, bucket, None)
    )

    assert 3 == one_by_one.num_rows
    assert one_by_one.equals(judged(lake, 1))
    assert one_by_one.equals(judged(lake, 2))


def test_a_killed_process_changes_nothing(lake: Lake):
    killed = []

    def kill() -> None:
        by_s = time.monotonic() + 60
        while not killed and time.monotonic() < by_s:
            for child in psutil.Process().children(recursive=True):
                if "spawn_main" in " ".join(child.cmdline()):
                    child.kill()
                    killed.append(child.pid)
                    return
            time.sleep(0.02)

    thread = threading.Thread(target=kill)
    thread.start()
    found = judged(lake, 2)
    thread.join()

    assert killed
    assert judged(lake, 1).equals(found)


def _die(_points: pa.Table, _described: pa.Table) -> pa.Table:
    os.kill(os.getpid(), 9)


def test_a_bucket_that_always_kills_its_process_ends_the_run(lake: Lake):
    with pytest.raises(SourceError, match="killed 3 times"):
        run_local(lake, lake.manifest(), _die, processes=2)


WAIT_S = 90.0


def _wait_but_for_one(points: pa.Table, _described: pa.Table) -> pa.Table:
    if str(points.column("instance")[0]) != "quiet":
        time.sleep(WAIT_S)
    return VERDICTS.empty_table()


def test_an_interrupted_run_waits_for_no_bucket(lake: Lake):
    """Its processes end with it, however long their buckets would take."""
    begun: list[psutil.Process] = []

    def interrupt(_done: int, _of: int) -> None:
        begun.extend(psutil.Process(child.pid) for child in multiprocessing.active_children())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_local(lake, lake.manifest(), _wait_but_for_one, processes=3, on_bucket=interrupt)

    assert begun
    assert not psutil.wait_procs(begun, timeout=WAIT_S / 3)[1]


def test_the_table_is_ranked_and_has_every_form(lake: Lake):
    table, report = run_fleet(lake, ALL, processes=1, has_plan=False)
    text = table_bytes(table, report, "csv").decode()
    frame = pl.read_parquet(io.BytesIO(table_bytes(table, report, "parquet")))
    objects = json.loads(render(report, "json"))["rows"]

    names = ["search-service", "claims-pipeline", "quiet"]
    assert names == [row.instance for row in report.rows]
    assert names == [line.split(",")[2] for line in text.splitlines()[1:]]
    assert names == frame["instance"].to_list()
    assert names == [one["instance"] for one in objects]


@pytest.mark.attack(
    "A tag or a name of an instance is a formula, and the table of a fleet is opened in a spreadsheet",
    "the cell is a text: it begins with `'`; numbers below zero stay numbers",
)
@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(1)", "\t=1", "a\x1b[31m"])
def test_no_cell_of_the_table_is_a_formula(lake: Lake, name):
    """Nor has it a control character; the Parquet file keeps the name."""
    table, report = run_fleet(lake, ALL, processes=1, has_plan=False)
    names = pa.array([name] * table.num_rows)
    table = table.set_column(table.schema.get_field_index("engine"), "engine", names)
    frame = pl.read_csv(io.BytesIO(table_bytes(table, report, "csv")))
    kept = pl.read_parquet(io.BytesIO(table_bytes(table, report, "parquet")))

    assert {cell(name)} == set(frame["engine"])
    assert {name} == set(kept["engine"])
    assert frame["at_ceiling_ratio"].dtype.is_numeric()


def test_a_window_counts_back_from_the_last_point(lake: Lake):
    _, report = run_fleet(lake, ("2d", None, None), processes=1, has_plan=False)

    assert ["quiet"] == [row.instance for row in report.rows]


def test_one_instance_is_explained_as_usual(lake: Lake):
    report = explain_instance(lake, "Search-Service", ALL, has_plan=False)

    assert "binds" == report.diagnosis.verdict.value


def test_an_instance_that_is_not_there_is_refused(lake: Lake):
    with pytest.raises(UsageError, match="no instance 'orders'"):
        explain_instance(lake, "orders", ALL)


def test_a_folder_that_is_no_lake_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="is not a lake"):
        run_fleet(open_lake(str(tmp_path)), ALL)
