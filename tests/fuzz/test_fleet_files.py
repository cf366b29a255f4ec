"""A file of a fleet, however damaged, gives points or one clear sentence; both readers of streams agree."""

import io
import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.mutations import cut_off, flipped, junk_inside, piece_missing, piece_twice
from plimsoll.app.lake.files import content_of
from plimsoll.errors import PlimsollError
from plimsoll.sources.points.values import ReadTally
from unit.sources.documents.test_stream_points import fast, slow_json, slow_otel
from unit.sources.points.fleet_files import DIMENSIONS, ROWS, export, firehose, long_table, matrix, wide_table, yace

# A shared machine may be slow, so no example has a deadline.
fuzzed = settings(deadline=None, max_examples=300)
DAMAGES = (cut_off, flipped, junk_inside, piece_missing, piece_twice)
FORMS = ("map", "struct", "text", "long", "wide", "described")
MUTANTS = 150


def parquet(form: str) -> bytes:
    tables = {"long": long_table, "wide": wide_table, "described": lambda: pa.Table.from_pylist(ROWS)}
    table = firehose(DIMENSIONS[form], pa.int64()) if form in DIMENSIONS else tables[form]()
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


def texts(folder: Path) -> dict[str, bytes]:
    found = {}
    for name, table in {"long": long_table(), "wide": wide_table()}.items():
        content = io.BytesIO()
        pyarrow.csv.write_csv(table, content)
        found[f"{name}.csv"] = content.getvalue()
    rows: list = [(yace("read_iops_average", name), [1.0, 2.0, 3.0]) for name in ("a", "b", "c")]
    found["export.jsonl"] = export(folder / "export", rows).read_bytes()
    found["matrix.json"] = matrix(folder / "matrix", rows).read_bytes()
    found["described.json"] = json.dumps(ROWS).encode()
    return found


def answer(data: bytes, name: str) -> str:
    """What becomes of a file: its points are finite numbers of a time, or there is one sentence."""
    refusal = None
    try:
        content = content_of(data, name, 1_788_739_200, ReadTally())
        if content is None:
            return "left"
        for points in content.pieces:
            assert (points.time_s > 0).all()
            assert np.isfinite(points.sum).all()
            assert (points.count > 0).all()
    except PlimsollError as error:
        refusal = error.message
    if refusal is None:
        return "read"
    assert refusal.isprintable()
    assert not refusal.endswith(".")
    assert len(refusal) <= 600
    return "refused"


@pytest.mark.parametrize("form", FORMS)
def test_damaged_parquet_is_read_or_refused(form: str):
    rng = random.Random(form)
    whole = parquet(form)
    found = {answer(rng.choice(DAMAGES)(whole, rng), "f.parquet") for _ in range(MUTANTS)}

    assert answer(whole, "f.parquet") == "read"
    assert "refused" in found


TEXT_FILES = ("long.csv", "wide.csv", "export.jsonl", "matrix.json", "described.json")


@pytest.mark.parametrize("name", TEXT_FILES)
def test_damaged_text_is_read_or_refused(tmp_path: Path, name: str):
    rng = random.Random(name)
    whole = texts(tmp_path)[name]
    for _ in range(MUTANTS):
        answer(rng.choice(DAMAGES)(whole, rng), name)

    assert answer(whole, name) == "read"


cells = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
heads = st.sampled_from(["instance", "class", "time", "valid_from", "valid_to", "tags", "iops"])
heads = heads | st.sampled_from(["metric", "values", "timestamps", "account", "multi_az", "size"])


@fuzzed
@given(st.lists(st.dictionaries(heads, cells | st.lists(cells, max_size=2)), max_size=4))
def test_any_json_of_the_right_keys(rows):
    answer(json.dumps(rows).encode(errors="replace"), "f.json")
    answer(b"".join(json.dumps(row).encode() + b"\n" for row in rows), "f.jsonl")


@fuzzed
@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda data: b"PAR1" + data + b"PAR1"))
def test_any_bytes(data: bytes):
    answer(data, "f.csv")


@fuzzed
@given(st.binary(max_size=300))
def test_both_readers_of_json_lines_agree_on_any_bytes(data: bytes):
    assert slow_json(b"{" + data) == fast(b"{" + data)


@fuzzed
@given(st.binary(max_size=300))
def test_both_readers_of_messages_agree_on_any_bytes(data: bytes):
    assert slow_otel(b"\x00" + data) == fast(b"\x00" + data)
