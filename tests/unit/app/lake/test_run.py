"""A run chooses its engine; what an engine lacks is said before any work."""

import sys
from pathlib import Path

import pytest

from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.app.lake.run import SPARK, run_fleet
from plimsoll.errors import ExtraMissing, UsageError

ALL = (None, None, None)


@pytest.fixture
def lake_url(tmp_path: Path) -> str:
    url = str(tmp_path / "lake")
    ingest("examples/quiet", open_lake(url))
    return url


def test_without_pyspark_the_extra_is_named(lake_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ExtraMissing, match="the Spark engine needs the extra 'spark'") as raised:
        run_fleet(open_lake(lake_url), ALL, engine=SPARK)

    assert "pip install 'plimsoll-db[spark]'" in raised.value.hint


@pytest.mark.spark
def test_without_java_the_command_that_installs_it_is_named(lake_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="this machine has no Java, which Spark needs") as raised:
        run_fleet(open_lake(lake_url), ALL, engine=SPARK, spark_master="local[2]")

    assert "apt-get install -y openjdk-17-jre-headless" in raised.value.hint
