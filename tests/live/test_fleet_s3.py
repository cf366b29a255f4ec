"""A lake and its source on a real S3 server: as on disk, killed at any moment, and written by two at once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import polars as pl
import pytest
from botocore.config import Config

from live.killed_ingests import held, killed_until_done, mixed_source, started
from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.app.lake.verdict import verdict_function
from plimsoll.errors import SourceError
from plimsoll.fleet.lake import Lake
from plimsoll.fleet.run import run_local
from plimsoll.fleet.tables import DESCRIBED
from plimsoll.model.points import PointColumns
from plimsoll_lab.servers.s3 import REGION, S3Store

_NOTHING = pl.DataFrame(DESCRIBED.empty_table())


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Store]:
    with S3Store() as running:
        yield running


@pytest.fixture
def client(s3: S3Store, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client, and the variables with which an ingest finds the store."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return boto3.client(
        "s3",
        endpoint_url=s3.address,
        region_name=REGION,
        aws_access_key_id=s3.key,
        aws_secret_access_key=s3.secret,
        config=Config(s3={"addressing_style": "path"}),
    )


def judged(lake: Lake, processes: int) -> bytes:
    function = verdict_function(window_s=None, has_plan=False)
    table = run_local(lake, lake.manifest(), function, processes=processes)
    return repr(table.to_pylist()).encode()


def test_a_lake_on_s3_gives_the_verdicts_of_one_on_disk(client: Any, tmp_path: Path):
    """Source and lake are on S3; the second ingest reads nothing, and other processes read the lake too."""
    client.create_bucket(Bucket="metrics")
    for name in ("search-service", "quiet"):
        file = f"examples/{name}/snapshot.json"
        client.upload_file(file, "metrics", f"in/{name}/snapshot.json")
    on_s3, on_disk = open_lake("s3://metrics/lake"), open_lake(str(tmp_path / "lake"))
    first = ingest("s3://metrics/in", on_s3)
    second = ingest("s3://metrics/in", on_s3)
    ingest("s3://metrics/in", on_disk)

    assert (2, 0) == (first.file_count, first.known_count)
    assert (0, 2) == (second.file_count, second.known_count)
    assert judged(on_disk, 1) == judged(on_s3, 2)


def test_killed_again_and_again_a_lake_on_s3_loses_and_doubles_nothing(client: Any, tmp_path: Path):
    client.create_bucket(Bucket="killed")
    source = str(mixed_source(tmp_path / "in", streams=12))
    ingest(source, open_lake(str(tmp_path / "whole")), bucket_count=4)
    expected = held(open_lake(str(tmp_path / "whole")))
    kills = killed_until_done(source, "s3://killed/lake", seed=3, most=6, longest_s=0.6)
    found = held(open_lake("s3://killed/lake"))

    assert 2 <= kills
    assert expected["points"].equals(found["points"])
    assert expected["described"].equals(found["described"])
    assert expected["sources"].equals(found["sources"])


@pytest.mark.parametrize("is_new", [True, False])
def test_of_two_commits_on_one_manifest_the_second_is_refused(client: Any, is_new: bool):
    bucket = f"two-{str(is_new).lower()}"
    client.create_bucket(Bucket=bucket)
    first, second = open_lake(f"s3://{bucket}/lake"), open_lake(f"s3://{bucket}/lake")
    if not is_new:
        first.commit(first.manifest_or_new(2), PointColumns.empty(), _NOTHING, {"before": "1"})
    begun = [lake.manifest_or_new(2) for lake in (first, second)]
    first.commit(begun[0], PointColumns.empty(), _NOTHING, {"one": "1"})

    with pytest.raises(SourceError, match="another process wrote"):
        second.commit(begun[1], PointColumns.empty(), _NOTHING, {"two": "1"})
    assert "one" in first.manifest().sources
    assert "two" not in first.manifest().sources


def test_two_ingests_at_once_end_in_the_lake_of_one(client: Any, tmp_path: Path):
    """One of them may be refused; run again, it finishes the work, and every named file is there."""
    client.create_bucket(Bucket="both")
    source = str(mixed_source(tmp_path / "in", streams=12))
    ingest(source, open_lake(str(tmp_path / "whole")), bucket_count=4)
    both = [started(source, "s3://both/lake") for _ in range(2)]
    complaints = [process.communicate()[1] for process in both]
    ended = [process.returncode for process in both]
    ingest(source, open_lake("s3://both/lake"), bucket_count=4)
    lake = open_lake("s3://both/lake")
    names = {name for name, _, _ in lake.place.files()}

    for status, complaint in zip(ended, complaints, strict=True):
        assert status == 0 or "in the meantime" in complaint
    assert held(open_lake(str(tmp_path / "whole")))["points"].equals(held(lake)["points"])
    assert {name for part in lake.manifest().files.values() for name in part} <= names
