"""A task judges its bucket as the local engine does, and its reason survives the way through Java."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.app.lake.verdict import verdict_function
from plimsoll.fleet.lake import Lake
from plimsoll.fleet.run import in_order, run_local
from plimsoll.fleet.spark.task import BucketTask, TaskError, reason_in


def task_of(lake: Lake, **changes: object) -> BucketTask:
    manifest = lake.manifest()
    fields = {
        "url": lake.place.url,
        "manifest": manifest,
        "buckets": lake.buckets(manifest),
        "verdict": verdict_function(window_s=None, has_plan=False),
        "window_s": None,
        "variables": {},
    }
    return BucketTask(**(fields | changes))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = open_lake(str(tmp_path_factory.mktemp("task") / "lake"))
    for name in ("claims-pipeline", "quiet"):
        ingest(f"examples/{name}", made)
    return made


def places(count: int) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"id": [place]}) for place in range(count)]


def test_the_tasks_of_all_buckets_give_the_table_of_the_local_engine(lake: Lake):
    task = task_of(lake)
    batches = list(task(iter(places(len(task.buckets)))))
    expected = run_local(lake, task.manifest, task.verdict, processes=1)

    assert expected.equals(in_order([pa.Table.from_batches([one]) for one in batches]))


def test_the_reason_of_a_task_is_read_from_a_text_of_java(lake: Lake, tmp_path: Path):
    task = task_of(lake, url=str(tmp_path / 'it\'s "gone"'))
    with pytest.raises(TaskError) as raised:
        list(task(iter(places(1))))
    text = f"org.apache.spark.api.python.PythonException: {raised.value}\n\tat org.apache.Spark"
    found = reason_in(text)

    assert found is not None
    assert found.message.startswith(f"unable to read '{tmp_path}/it's \"gone\"/points/")
    assert "Check the path and its permissions." == found.hint


def test_another_version_on_an_executor_is_refused(lake: Lake):
    with pytest.raises(TaskError, match=r"the executors have Plimsoll .*, but .* with 9\.9\.9"):
        list(task_of(lake, version="9.9.9")(iter(places(1))))


def test_an_executor_is_told_where_s3_is_unless_it_knows(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    given = {"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9000"}
    list(task_of(lake, variables=given)(iter(places(1))))

    assert "eu-west-1" == os.environ["AWS_REGION"]
    assert "http://127.0.0.1:9000" == os.environ["AWS_ENDPOINT_URL_S3"]


def test_a_text_without_a_reason_has_none():
    assert reason_in("java.lang.OutOfMemoryError: Java heap space") is None
