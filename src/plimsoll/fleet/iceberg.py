"""
Keep the points of a lake in an Apache Iceberg table as well, so that Athena, Spark and Trino can query them.

Rule 1: the table is a copy. The lake decides what counts; nothing is read back from the table.
Rule 2: the table says of which commit of the lake it is a copy. A part that changed since then is written
again as a whole, so an update that was killed is made good by the next one, and a point is there once.
The files of the lake are not registered (`add_files`): of two files of a part, both would count.
"""

import datetime as dt
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, DoubleType, IntegerType, NestedField, StringType, TimestamptzType

from plimsoll.errors import PlimsollError, SourceError, UsageError
from plimsoll.fleet.lake import Lake, Manifest, commit_of
from plimsoll.fleet.tables import INSTANCE_KEY

_COMMIT = "plimsoll.commit"
_LAKE = "plimsoll.lake"
# A judgement: this many rows take some hundred megabytes while they are written.
ROWS_A_TRANSACTION = 2_000_000
_SETTINGS = "Describe it in ~/.pyiceberg.yaml, or by variables PYICEBERG_CATALOG__NAME__URI and so on."

_FIELDS = (
    *((name, StringType()) for name in (*INSTANCE_KEY, "metric")),
    ("time", TimestamptzType()),
    *((name, DoubleType()) for name in ("sum", "count", "min", "max")),
    ("date", DateType()),
    ("bucket", IntegerType()),
)
_SCHEMA = Schema(*(NestedField(place, name, kind) for place, (name, kind) in enumerate(_FIELDS, start=1)))
_PARTITIONS = PartitionSpec(
    *(
        PartitionField(source_id=len(_FIELDS) - 1 + at, field_id=1000 + at, transform=IdentityTransform(), name=name)
        for at, name in enumerate(("date", "bucket"))
    )
)


class IcebergCopy:
    """A table of Iceberg that is a copy of a lake."""

    def __init__(self, name: str) -> None:
        """
        Open the table, or make it.

        Args:
            name: `catalog.namespace.table`; the catalog as the settings of pyiceberg describe it.

        Raises:
            UsageError: the name lacks a part, or no such catalog is described.
            SourceError: the catalog does not answer.
        """
        parts = name.split(".")
        if len(parts) < 3 or not all(parts):
            raise UsageError(f"'{name}' is no name of an Iceberg table", "Write it as CATALOG.NAMESPACE.TABLE.")
        self.name = name
        try:
            catalog = load_catalog(parts[0])
        except Exception as error:  # every catalog has errors of its own
            raise UsageError(f"unable to open the Iceberg catalog '{parts[0]}': {_reason(error)}", _SETTINGS) from error
        try:
            self._table = _opened(catalog, tuple(parts[1:]))
        except Exception as error:
            raise self._failed("open", error) from error

    def update(self, lake: Lake, manifest: Manifest) -> int:
        """
        Write the parts of a lake that changed since the last update, and return the number of their points.

        Args:
            lake: of which the table is a copy.
            manifest: what counts in it.

        Raises:
            UsageError: the table is a copy of another lake.
            SourceError: lake or table cannot be read or written.
        """
        known = self._table.properties
        done = int(known.get(_COMMIT, "0"))
        if known.get(_LAKE, lake.place.url) != lake.place.url or done > manifest.commit:
            raise UsageError(
                f"the Iceberg table '{self.name}' is a copy of another lake, '{known.get(_LAKE)}'",
                "Give a table of its own.",
            )
        if done == manifest.commit:
            return 0
        said = {_COMMIT: str(manifest.commit), _LAKE: lake.place.url}
        count = 0
        try:
            for rows in _changed(lake, manifest, done):
                self._write(rows, said)
                count += rows.num_rows
            with self._table.transaction() as change:
                change.set_properties(said)
        except PlimsollError:
            raise
        except CommitFailedException as error:
            raise SourceError(
                f"another process wrote the Iceberg table '{self.name}' in the meantime", "Run the ingest again."
            ) from error
        except Exception as error:
            raise self._failed("write", error) from error
        return count

    def _write(self, rows: pa.Table, said: dict[str, str]) -> None:
        with warnings.catch_warnings():
            # A part that is new has nothing to delete.
            warnings.filterwarnings("ignore", message="Delete operation did not match any records")
            self._table.dynamic_partition_overwrite(rows, snapshot_properties=said)

    def _failed(self, verb: str, error: Exception) -> SourceError:
        return SourceError(
            f"unable to {verb} the Iceberg table '{self.name}': {_reason(error)}",
            "Check its catalog and the permissions of its warehouse.",
        )


def _opened(catalog: Catalog, place: tuple[str, ...]) -> Table:
    try:
        return catalog.load_table(place)
    except NoSuchTableError:
        pass
    with suppress(NamespaceAlreadyExistsError):
        catalog.create_namespace(place[:-1])
    try:
        return catalog.create_table(place, schema=_SCHEMA, partition_spec=_PARTITIONS)
    except TableAlreadyExistsError:  # another process made it in the meantime
        return catalog.load_table(place)


def _changed(lake: Lake, manifest: Manifest, done: int) -> Iterator[pa.Table]:
    """Yield the rows of the parts with a file of a later commit, whole parts together."""
    kept: list[pa.Table] = []
    count = 0
    for part, names in sorted(manifest.files.items()):
        if max(map(commit_of, names)) <= done:
            continue
        date, bucket = (text.partition("=")[2] for text in part.split("/"))
        rows = _rows(lake.part(manifest, part), dt.date.fromisoformat(date), int(bucket))
        kept.append(rows)
        count += rows.num_rows
        if count >= ROWS_A_TRANSACTION:
            yield pa.concat_tables(kept)
            kept, count = [], 0
    if kept:
        yield pa.concat_tables(kept)


def _rows(points: pa.Table, date: dt.date, bucket: int) -> pa.Table:
    micros = pc.multiply(points.column("time_s"), 1_000_000)
    columns: dict[str, Any] = {name: points.column(name).cast(pa.large_string()) for name in (*INSTANCE_KEY, "metric")}
    columns["time"] = micros.cast(pa.timestamp("us", "UTC"))
    columns |= {name: points.column(name) for name in ("sum", "count", "min", "max")}
    columns["date"] = pa.repeat(pa.scalar(date, pa.date32()), points.num_rows)
    columns["bucket"] = pa.repeat(pa.scalar(bucket, pa.int32()), points.num_rows)
    return pa.table(columns)


def _reason(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
