"""An ingest that is killed at any moment loses no point and doubles none."""

from pathlib import Path

import polars as pl
import pyiceberg.catalog
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config

from live.killed_ingests import held, killed_until_done, mixed_source, started
from plimsoll.app.lake.ingest import open_lake


def test_an_ingest_that_is_killed_again_and_again_gives_the_lake_of_one_that_is_not(tmp_path: Path):
    source = str(mixed_source(tmp_path / "in"))
    process = started(source, str(tmp_path / "whole"))
    _, complaints = process.communicate()
    expected = held(open_lake(str(tmp_path / "whole")))
    kills = 0
    for seed in range(2):
        place = str(tmp_path / f"lake-{seed}")
        kills += killed_until_done(source, place, seed=seed, most=12, longest_s=0.15)
        found = held(open_lake(place))

        assert complaints == ""
        assert expected["points"].equals(found["points"])
        assert expected["described"].equals(found["described"])
        assert expected["sources"].equals(found["sources"])
    print(f"killed {kills} times")

    assert 10 <= kills
    assert 3 == expected["points"]["instance"].n_unique()


def test_the_next_ingest_deletes_what_a_killed_one_left(tmp_path: Path):
    source = str(mixed_source(tmp_path / "in"))
    place = str(tmp_path / "lake")
    killed_until_done(source, place, seed=7, most=6, longest_s=0.1)
    started(source, place).communicate()
    lake = open_lake(place)
    manifest = lake.manifest()
    named = {name for names in manifest.files.values() for name in names}

    assert {"lake.json", manifest.described, *named} == {name for name, _, _ in lake.place.files()}


def test_a_table_of_iceberg_is_made_good_by_the_next_ingest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Killed before, between and after the commits of the lake and of the table, both have each point once."""
    monkeypatch.setenv("PYICEBERG_CATALOG__LAB__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAB__WAREHOUSE", f"file://{tmp_path}/warehouse")
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
    source, place = str(mixed_source(tmp_path / "in")), str(tmp_path / "lake")
    table = "lab.rds.points"
    load_catalog("lab")  # makes the tables of the catalog, which takes a moment
    kills = killed_until_done(source, place, table, seed=11, most=12, longest_s=1.5)
    lake = open_lake(place)
    copy = load_catalog("lab").load_table("rds.points")
    order = ["account", "region", "instance", "metric", "time_s"]
    found = pl.DataFrame(copy.scan().to_arrow()).with_columns(
        (pl.col("time").dt.timestamp("us") // 1_000_000).alias("time_s")
    )

    assert 2 <= kills
    assert str(lake.manifest().commit) == copy.properties["plimsoll.commit"]
    assert held(lake)["points"].equals(found.select(*order, "sum", "count", "min", "max").sort(order))
