import gzip
from pathlib import Path

import pytest

from fuzz import corpus
from plimsoll.sources.export import read as export
from plimsoll.sources.files import text as file_text
from plimsoll.sources.files.text import open_text
from plimsoll.sources.targets.one import read


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch):
    """Sizes of a test, and pieces so small that everything lies across their edges."""
    monkeypatch.setattr(file_text, "LEAST_BYTES", 1)
    monkeypatch.setattr(file_text, "_COUNTED_BYTES", 7)
    monkeypatch.setattr(file_text, "_LINE_BYTES", 3)


def refuse(path: Path) -> bytes:
    raise AssertionError(f"{path} was loaded")


@pytest.mark.parametrize("make", [corpus.csv_wide, corpus.csv_long])
def test_a_large_table_is_read_without_being_loaded(tmp_path, monkeypatch, make):
    """The snapshot is that of the table held in memory, but its bytes are never held."""
    path = tmp_path / "orders.csv"
    path.write_bytes(make(corpus.made(50)))
    with monkeypatch.context() as small:
        small.setattr(file_text, "LEAST_BYTES", 1 << 30)
        held = read(path)
    monkeypatch.setattr("plimsoll.sources.targets.one.load", refuse)
    monkeypatch.setattr(export, "load", refuse)

    assert held == read(path)


def test_a_file_answers_as_its_bytes_do(tmp_path):
    """Slices, length, places and counts, whatever the pieces in which it is read."""
    data = b"one,two\n\n3,4\nfive,six"
    path = tmp_path / "f.csv"
    path.write_bytes(data)
    with open_text(path) as text:
        assert text is not None
        assert len(data) == len(text)
        assert data.count(b"\n") == text.count(b"\n")
        for start in range(len(data) + 2):
            assert data[start:] == text[start:]
            assert data.find(b"\n", start) == text.find(b"\n", start)
            assert data.count(b",", start, start + 9) == text.count(b",", start, start + 9)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("orders.csv", gzip.compress(corpus.csv_wide(corpus.made(50)))),
        ("orders.csv", corpus.csv_wide(corpus.made(50)).decode().encode("utf-16")),
        ("metric-data.json", corpus.metric_data(corpus.made(50))),
    ],
    ids=["packed", "UTF-16", "no table"],
)
def test_what_is_wrapped_or_no_table_is_loaded(tmp_path, name, data):
    """Packed files and UTF-16 are unwrapped, and large JSON and captures of a host go the way they went."""
    (tmp_path / name).write_bytes(data)

    assert 12 == len(read(tmp_path / name).series)
