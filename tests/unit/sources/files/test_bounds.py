"""Limits on what a file may hold lie above every export, and below what is none."""

import gzip

import numpy as np
import pytest

from fuzz import bombs, corpus
from plimsoll.errors import DataError
from plimsoll.sources.export.parquet import decode as decode_parquet
from plimsoll.sources.export.read import read_export
from plimsoll.sources.files import bounds
from plimsoll.sources.files.bytes import load
from plimsoll.sources.files.json_text import decode, documents, lines
from plimsoll.sources.reading.reading import Reading


def flat(count: int) -> dict[str, bytes]:
    """Every format with values that are all zero, which pack best."""
    day = corpus.made(count)
    zero = {name: np.zeros_like(values) for name, values in day.values.items()}
    return corpus.all_formats(corpus.Made(day.time_s, zero))


def test_no_export_packs_as_well_as_is_allowed():
    """The best is OpenTelemetry, 145 times; the limit is 200."""
    best = {name: len(data) / len(gzip.compress(data)) for name, data in flat(2_000).items()}

    assert "otel-1.0.jsonl" == max(best, key=lambda name: best[name])
    assert 100 < max(best.values()) < 0.75 * bounds.MOST_TIMES_PACKED


def test_no_export_is_as_dense_as_is_allowed():
    """Bytes for each bracket, line and row of every format lie above the least."""
    for name, data in flat(200).items():
        brackets = data.count(b"{") + data.count(b"[")
        if name.endswith((".json", ".jsonl")):
            assert len(data) > bounds.LEAST_BYTES_PER_OBJECT * brackets, name
        if name.endswith(".jsonl"):
            assert len(data) > 2 * bounds.LEAST_BYTES_PER_LINE * data.count(b"\n"), name
        if name.endswith(".csv"):
            assert len(data) > 2 * bounds.LEAST_BYTES_PER_ROW * data.count(b"\n"), name


def test_a_year_is_allowed():
    """Twelve metrics at a minute for a year, in a document and in a long table."""
    samples = 12 * 366 * 1_440

    assert 2 * samples < bounds.MOST_VALUES
    assert samples < bounds.MOST_ROWS
    assert 3 * samples < bounds.MOST_CELLS


def test_unpacking_ends_where_no_export_is_left(tmp_path):
    """A file that unpacks to 200 times its size is not unpacked further than to see that."""
    (tmp_path / "f.gz").write_bytes(bombs.packed(b"{", bytes(1 << 20), 10_000))
    with pytest.raises(DataError, match="more than 200 times its size"):
        load(tmp_path / "f.gz")


def test_what_unpacks_to_little_is_read_whatever_its_ratio(tmp_path):
    """A day of zeros in a few hundred bytes is an export."""
    data = bytes(bounds.UNPACKED_FREELY_BYTES)
    (tmp_path / "f.gz").write_bytes(gzip.compress(data))

    assert data == load(tmp_path / "f.gz")


@pytest.mark.parametrize("read", [decode, lambda data, where: list(documents(data, where))])
def test_json_is_refused_before_it_is_decoded(monkeypatch, read):
    """Objects without content, and more values than a year has, are counted in the text."""
    monkeypatch.setattr(bounds, "OBJECTS_FREELY", 10)
    monkeypatch.setattr(bounds, "MOST_VALUES", 40)
    with pytest.raises(DataError, match="'f' contains 21 almost empty objects"):
        read(b"[" + b"{}," * 19 + b"{}]", "'f'")
    with pytest.raises(DataError, match="'f' contains more than 40 values"):
        read(b"[" + b"0," * 41 + b"0]", "'f'")


def test_lines_are_refused_before_they_are_decoded(monkeypatch):
    """A stream of lines that say nothing costs no more than counting them."""
    monkeypatch.setattr(bounds, "LINES_FREELY", 10)
    with pytest.raises(DataError, match="'f' contains 11 almost empty lines"):
        list(lines(b"x\n" * 11, dict, "'f'"))


def test_tables_are_refused_before_they_are_read(monkeypatch, tmp_path):
    """Rows and cells are counted in text, and in the end of a Parquet file."""
    monkeypatch.setattr(bounds, "MOST_ROWS", 20)
    (tmp_path / "f.csv").write_bytes(corpus.csv_wide(corpus.made(30)))
    with pytest.raises(DataError, match=r"'f\.csv' contains 31 rows, and 20 are the most"):
        read_export(tmp_path / "f.csv")
    with pytest.raises(DataError, match="contains 30 rows, and 20 are the most"):
        decode_parquet(corpus.parquet(corpus.made(30)), Reading(), where="'f.parquet'", path=tmp_path / "f")
    monkeypatch.setattr(bounds, "MOST_ROWS", 10_000)
    monkeypatch.setattr(bounds, "MOST_CELLS", 100)
    with pytest.raises(DataError, match="cells, and 100 are the most"):
        read_export(tmp_path / "f.csv")


def test_rows_without_content_are_refused(monkeypatch, tmp_path):
    """A row of text has at least a time and a value."""
    monkeypatch.setattr(bounds, "ROWS_FREELY", 100)
    (tmp_path / "f.csv").write_bytes(b"timestamp,ReadIOPS\n" + b"1,2\n" * 200)
    with pytest.raises(DataError, match="contains 201 almost empty rows"):
        read_export(tmp_path / "f.csv")
