"""All that one reading brought home, and its file form."""

import json

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

import builders
import strategies
from builders import START_S
from plimsoll.errors import DataError
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import cut
from plimsoll.model.snapshot_file.codec import SCHEMA, decode_snapshot, encode_snapshot, is_snapshot
from session_loads import session_load

CPU = Metric.CPU_RATIO


def written(*every) -> dict:
    document = json.loads(encode_snapshot(builders.snapshot(*every)))
    return document["series"][0]


def file(**changes) -> bytes:
    series = {"metric": "cpu_ratio", "step_s": 60, "start_s": 60, "value": [0.5]}
    head = {"schema": SCHEMA, "instance": {}, "source": "x"}
    return json.dumps(head | {"series": [series | changes]}).encode()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(strategies.snapshots(may_have_nan=True))
def test_a_snapshot_survives_its_file_form(snapshot):
    """What is decoded equals what was encoded, exactly, and encodes to the same bytes."""
    text = encode_snapshot(snapshot)

    assert snapshot == decode_snapshot(text)
    assert text == encode_snapshot(decode_snapshot(text))


def test_snapshots_with_equal_fields_are_equal():
    """And with nothing else."""
    snapshot = builders.snapshot({CPU: [0.1, 0.2]})

    assert snapshot == msgspec.structs.replace(snapshot)
    assert snapshot != msgspec.structs.replace(snapshot, note="Else.")
    assert snapshot != "a snapshot"


def test_the_window_is_from_the_first_start_to_the_last_end():
    """Each sample covers its step, so the window ends a step after the last sample."""
    snapshot = builders.snapshot(
        builders.series(CPU, [0.1] * 3),
        builders.series(Metric.QUEUE_DEPTH, [1.0] * 2, step_s=300),
        builders.series(Metric.SWAP_BYTES, []),
    )

    assert (START_S, START_S + 600) == snapshot.window_s
    assert builders.snapshot().window_s is None


def test_a_regular_series_is_written_as_its_start():
    """A series on its grid needs no times; a hole in it is a null."""
    whole = written({CPU: [0.1, 0.2, 0.3]})
    holed = written(builders.timed(CPU, [START_S, START_S + 120, START_S + 180], [1, 2, 3]))

    assert (START_S, [0.1, 0.2, 0.3]) == (whole["start_s"], whole["value"])
    assert [1.0, None, 2.0, 3.0] == holed["value"]
    assert "time_s" not in whole


@pytest.mark.parametrize(
    "series",
    [
        builders.timed(CPU, [START_S, START_S + 61], [1, 2]),  # off the grid
        builders.timed(CPU, [START_S, START_S + 6000], [1, 2]),  # nearly empty
        builders.series(CPU, [0.1, np.nan, 0.3]),  # a sample that says nothing
    ],
)
def test_an_irregular_series_is_written_with_its_times(series):
    """Where the grid would lose something, or be mostly empty, the times are written."""
    document = written(series)

    assert series.time_s.tolist() == document["time_s"]
    assert series == decode_snapshot(encode_snapshot(builders.snapshot(series))).series[CPU]


def test_equal_snapshots_give_equal_bytes():
    """The order in which series were read does not show in the file."""
    one = {CPU: [0.1], Metric.QUEUE_DEPTH: [1.0]}
    other = {Metric.QUEUE_DEPTH: [1.0], CPU: [0.1]}

    assert encode_snapshot(builders.snapshot(one)) == encode_snapshot(builders.snapshot(other))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (b"", "not a readable snapshot"),
        (b"{", "not a readable snapshot"),
        (b"[]", "not a readable snapshot"),
        (b'{"schema": "plimsoll.snapshot/1"}', "not a readable snapshot"),
        (b"\xff\xfe", "not a readable snapshot"),
        (file(metric="mood"), "not a readable snapshot"),
        (file(value=["a"]), "not a readable snapshot"),
        (file(step_s=0), "has a step of 0 s"),
        (file(step_s=-60), "has a step of -60 s"),
        (file(time_s=[60, 60], value=[1, 2]), "times that are not one per value"),
        (file(time_s=[60], value=[1, 2]), "times that are not one per value"),
        (file(start_s=None), "neither start nor times"),
        (file().replace(SCHEMA.encode(), b"plimsoll.snapshot/9"), "has form 9.0"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_a_hint(text, cause):
    """A broken or foreign file is told in one sentence, with what to do."""
    with pytest.raises(DataError) as refused:
        decode_snapshot(text)

    assert cause in refused.value.message
    assert refused.value.hint.endswith(".")


@pytest.mark.parametrize(
    ("document", "is_one"),
    [
        ({"schema": SCHEMA}, True),
        ({"schema": "plimsoll.snapshot/9"}, True),
        ({"schema": "plimsoll.report/1"}, False),
        ({"schema": 3}, False),
        ({}, False),
        ([], False),
        (None, False),
    ],
)
def test_a_snapshot_is_known_by_its_schema(document, is_one):
    """A snapshot of any version says that it is one."""
    assert is_one == is_snapshot(document)


def test_statements_stay_with_the_window_that_has_their_stretch():
    """A part of a snapshot keeps who was active only if the whole stretch lies in it."""
    whole = builders.snapshot(builders.series(CPU, [0.5] * 60))
    start_s = whole.window_s[0]
    load = session_load((start_s, start_s + 600), None)
    whole = msgspec.structs.replace(whole, session_load=load)

    assert load == cut(whole, (start_s, start_s + 600)).session_load
    assert cut(whole, (start_s, start_s + 540)).session_load is None
    assert cut(whole, (start_s + 60, start_s + 3600)).session_load is None
    assert whole == decode_snapshot(encode_snapshot(whole))
