"""A reader that uses the index of a points file gives the points that count, whatever was ingested in which order."""

import io
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.fleet import lake as lakes
from plimsoll.fleet.instance_points import points_of
from plimsoll.fleet.lake import Lake, Manifest
from plimsoll.fleet.metric_points import points_by_metric
from plimsoll.fleet.parts import points_file
from plimsoll.fleet.place import LakePlace
from plimsoll.fleet.series_index import add_file, add_table, index_of
from plimsoll.fleet.tables import DESCRIBED, POINTS
from plimsoll.model.points import PointColumns

NOTHING = pl.DataFrame(DESCRIBED.empty_table())
KEYS = [("1", "us-east-1", name, metric) for name in ("a", "b") for metric in ("cpu", "queue")]
Point = tuple[int, int, float, float]
"""Series, time, sum and count."""

points = st.lists(
    st.tuples(
        st.integers(0, len(KEYS) - 1),
        st.integers(0, 40).map(lambda minute: 86_400 * 20_000 - 1_200 + 60 * minute),
        st.floats(0, 1e6),
        st.sampled_from([60.0, 60.0, 60.0, 59.0]),
    ),
    min_size=1,
    max_size=60,
)
regular = st.tuples(
    st.integers(0, len(KEYS) - 1), st.integers(0, 20), st.integers(1, 20), st.sampled_from([60, 300])
).map(
    lambda some: [
        (some[0], 86_400 * 20_000 - 1_200 + 60 * some[1] + some[3] * n, float(n), 60.0) for n in range(some[2])
    ]
)


def columns(rows: list[Point]) -> PointColumns:
    total = np.array([row[2] for row in rows])
    return PointColumns(
        series=KEYS,
        index=np.array([row[0] for row in rows], dtype=np.int64),
        time_s=np.array([row[1] for row in rows], dtype=np.int64),
        sum=total,
        count=np.array([row[3] for row in rows]),
        min=total,
        max=total,
    )


def truth(commits: list[list[Point]]) -> dict[tuple[int, int], tuple[float, float]]:
    return {(row[0], row[1]): (row[2], row[3]) for rows in commits for row in rows}


def read(
    lake: Lake, manifest: Manifest, window_s: tuple[int, int] | None
) -> list[tuple[tuple[int, int], tuple[float, float]]]:
    found = []
    for bucket in lake.buckets(manifest):
        for table, _ in lake.instances(manifest, bucket, window_s):
            for row in table.to_pylist():
                key = KEYS.index((row["account"], row["region"], row["instance"], row["metric"]))
                found.append(((key, row["time_s"]), (row["sum"], row["count"])))
    return found


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    commits=st.lists(st.one_of(points, regular), min_size=1, max_size=10),
    window_s=st.sampled_from([None, (86_400 * 20_000 - 300, 86_400 * 20_000 + 300)]),
)
def test_an_instance_has_the_points_that_count(
    commits: list[list[Point]], window_s: tuple[int, int] | None, tmp_path_factory: pytest.TempPathFactory
):
    """Late points, points that come again, and files that become one: of equal points the last one counts."""
    lake = Lake(LakePlace(str(tmp_path_factory.mktemp("lake"))))
    manifest = Manifest(bucket_count=1)
    for number, rows in enumerate(commits):
        manifest = lake.commit(manifest, columns(rows), NOTHING, {str(number): "1"})
    start_s, end_s = window_s or (0, 1 << 62)
    expected = {key: row for key, row in truth(commits).items() if start_s <= key[1] < end_s}
    found = read(lake, manifest, window_s)

    assert expected == dict(found)
    assert len(expected) == len(found)


def part(rows: list[Point]) -> pa.Table:
    table = pa.table(
        {
            **{name: [KEYS[row[0]][n] for row in rows] for n, name in enumerate(POINTS.names[:4])},
            "time_s": [row[1] for row in rows],
            **{name: [row[2] for row in rows] for name in ("sum", "min", "max")},
            "count": [row[3] for row in rows],
        }
    )
    return table.select(POINTS.names).cast(POINTS)


REGULAR = [(0, 60 * n, float(n), 60.0) for n in range(5)]


def test_only_the_sums_of_regular_series_are_read(monkeypatch: pytest.MonkeyPatch):
    asked = []
    whole = pq.ParquetFile.read

    def noting(file: pq.ParquetFile, names: list[str], **options: object) -> pa.Table:
        asked.append(names)
        return whole(file, names, **options)

    monkeypatch.setattr(pq.ParquetFile, "read", noting)
    add_file(points_file(part(REGULAR)), {})
    add_file(points_file(part([*REGULAR, (1, 0, 1.0, 60.0), (1, 90, 1.0, 60.0), (1, 120, 1.0, 3.0)])), {})

    assert [["sum"], ["sum", "time_s", "count"]] == asked


def test_a_file_without_an_index_is_read_as_before():
    content = io.BytesIO()
    pq.write_table(part(REGULAR), content)
    content.seek(0)
    found: dict = {}

    assert not add_file(content, found)
    assert {} == found


def test_an_index_that_does_not_fit_its_rows_is_not_used():
    content = points_file(part(REGULAR))
    table = pq.read_table(content)
    metadata = pq.ParquetFile(content).metadata.metadata
    shorter = io.BytesIO()
    with pq.ParquetWriter(shorter, table.schema) as writer:
        writer.write_table(table.slice(1))
        writer.add_key_value_metadata({name.decode(): text.decode() for name, text in metadata.items()})
    shorter.seek(0)

    assert not add_file(shorter, {})


def test_a_lake_of_files_without_an_index_has_the_same_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lake = Lake(LakePlace(str(tmp_path)))
    manifest = lake.commit(Manifest(bucket_count=1), columns(REGULAR), NOTHING, {"1": "1"})
    indexed = read(lake, manifest, None)
    monkeypatch.setattr(lakes, "add_file", lambda _file, _found: False)

    assert indexed == read(lake, manifest, None)


def test_the_index_says_where_times_are_not_regular():
    table = part([(0, 0, 1.0, 60.0), (0, 60, 1.0, 60.0), (0, 180, 1.0, 60.0), (1, 0, 1.0, 5.0)])
    first, second = index_of(table).series

    assert (3, 0, 180, False, 60.0) == (
        *(first.row_count, first.first_s, first.last_s),
        *(first.is_regular, first.count),
    )
    assert (1, True, 5.0) == (second.row_count, second.is_regular, second.count)


def test_an_instance_without_points_in_the_window_has_no_table():
    found: dict = {}
    add_table(part(REGULAR), found)

    assert points_of(KEYS[0][:3], found[KEYS[0][:3]], (1000, 2000)) is None


def test_a_table_has_a_chunk_for_each_metric_and_equal_times_once():
    """Whoever judges it needs not look where a metric ends, nor compare times."""
    found: dict = {}
    add_table(part([*REGULAR, *((1, time_s, total, 60.0) for _, time_s, total, _ in REGULAR)]), found)
    table = points_of(KEYS[0][:3], found[KEYS[0][:3]], None)
    assert table is not None
    times = table.column("time_s").chunks

    assert ["cpu", "queue"] == [str(c.dictionary[0]) for c in table.column("metric").chunks]
    assert times[0].buffers()[1].address == times[1].buffers()[1].address


points_and_blocks = st.lists(st.one_of(points, regular), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(commits=points_and_blocks)
def test_points_by_metric_do_not_depend_on_the_shape_of_the_table(commits: list[list[Point]]):
    """A chunk for each metric, one chunk of dictionaries, plain texts and another order: the same points."""
    rows = [(key[0], key[1], *row) for key, row in sorted(truth(commits).items()) if key[0] in (0, 1)]
    if not rows:
        return
    found: dict = {}
    add_table(part(rows), found)
    chunks = points_of(KEYS[0][:3], found[KEYS[0][:3]], None)
    assert chunks is not None
    plain = part(rows)
    shuffled = plain.take(np.random.default_rng(len(rows)).permutation(len(rows)))

    def sorted_points(table: pa.Table) -> dict[str, list[tuple[float, ...]]]:
        by_metric, last_s = points_by_metric(table)
        assert last_s == max(row[1] for row in rows)
        return {
            name: sorted(
                zip(
                    one.time_s.tolist(),
                    one.sum.tolist(),
                    np.broadcast_to(one.count, one.sum.size).tolist(),
                    strict=True,
                )
            )
            for name, one in sorted(by_metric.items())
        }

    expected = sorted_points(plain)

    assert expected == sorted_points(chunks)
    assert expected == sorted_points(chunks.unify_dictionaries().combine_chunks())
    assert expected == sorted_points(shuffled)


def test_a_file_keeps_values_to_the_last_bit_and_splits_them_into_streams():
    """Streams of bytes compress better and are read faster; polars and pyarrow read them as the numbers they were."""
    rows = part([(0, 60 * n, value, 60.0) for n, value in enumerate((0.0, -0.0, 1e-300, 1 / 3))])
    content = points_file(rows)
    group = pq.ParquetFile(content).metadata.row_group(0)
    encodings = {group.column(n).path_in_schema: group.column(n).encodings for n in range(9)}
    content.seek(0)

    assert all("BYTE_STREAM_SPLIT" in encodings[name] for name in ("sum", "min", "max"))
    assert rows.column("sum").to_numpy().tobytes() == pl.read_parquet(content)["sum"].to_numpy().tobytes()
