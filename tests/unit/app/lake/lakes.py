"""A lake of the files that a test wrote, and its points."""

from pathlib import Path

import polars as pl

from plimsoll.app.lake.ingest import Ingested, ingest, open_lake
from plimsoll.fleet.lake import Lake
from plimsoll.fleet.parts import merged


def all_points(lake: Lake) -> pl.DataFrame:
    manifest = lake.manifest()
    parts = [merged([lake._frame(name) for name in names]) for names in manifest.files.values()]
    return pl.concat(parts).sort("account", "region", "instance", "metric", "time_s")


def ingested(folder: Path, name: str = "lake", **options) -> tuple[pl.DataFrame, Ingested]:
    """Points of a new lake of a folder, and what its ingest said."""
    lake = open_lake(str(folder.parent / name))
    done = ingest(str(folder), lake, **options)
    return all_points(lake), done
