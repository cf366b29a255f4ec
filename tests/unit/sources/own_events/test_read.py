"""A file of one's own events gives events, or one sentence with file, line and reason."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.errors import DataError, PlimsollError, UsageError
from plimsoll.model.own_event import OwnEvent
from plimsoll.sources.own_events import read
from plimsoll.sources.own_events.read import read_own_events

START_S = 1_676_338_200  # 2023-02-14T01:30:00Z
RUN = {
    "dag_id": "load_claims",
    "run_id": "scheduled__2023-02-14T00:00:00+00:00",
    "state": "success",
    "execution_date": "2023-02-14T00:00:00+00:00",
    "start_date": "2023-02-14T01:30:00.123456+00:00",
    "end_date": "2023-02-14T02:30:00.5+00:00",
}


def events(tmp_path: Path, text: str | bytes, *, zone: str | None = None) -> tuple[OwnEvent, ...]:
    path = tmp_path / "events.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_own_events(path, zone).events


def refusal(tmp_path: Path, text: str | bytes, **options: str) -> PlimsollError:
    with pytest.raises(PlimsollError) as raised:
        events(tmp_path, text, **options)
    return raised.value


@pytest.mark.parametrize(
    "text",
    [
        "start,end,name,kind\n2023-02-14T01:30:00Z,2023-02-14T02:30:00+00:00,load,job\n",
        "# made up\n\nEnd;START;owner;Name;Kind\n2023-02-14 02:30 UTC;1676338200;me;load;job\n",
        "name\tkind\tstart\tend\nload\tjob\t2023-02-14T02:30:00+01:00\t1676341800000\n",
        '[{"start": 1676338200, "end": "2023-02-14T02:30:00Z", "name": "load", "kind": "job"}]',
        '{"start": "2023-02-14T01:30:00Z", "end": 1676341800, "name": "load", "kind": "job"}\n\n',
        '{"events": [{"start": 1676338200, "end": 1676341800, "name": "load", "kind": "job"}]}',
    ],
)
def test_every_form_gives_the_same_event(tmp_path: Path, text: str):
    """CSV with any delimiter, JSON, and JSON lines; columns in any order and case, others ignored."""
    expected = OwnEvent(name="load", kind="job", start_s=START_S, end_s=START_S + 3600)

    assert (expected,) == events(tmp_path, text)
    assert (expected,) == events(tmp_path, gzip.compress(text.encode()))


def test_an_event_without_an_end_is_a_moment(tmp_path: Path):
    """A deploy has a time and no length; an end that equals the start is none either."""
    found = events(
        tmp_path, "time,end,title\n2023-02-14T01:30:00Z,,release\n2023-02-14T01:30:00Z,2023-02-14T01:30:00Z,x\n"
    )

    assert [None, None] == [e.end_s for e in found]
    assert not any(e.is_running for e in found)


def test_runs_of_airflow_are_read_as_they_are(tmp_path: Path):
    """
    `airflow dags list-runs -o json`: a run that had not begun is counted, one that goes on has no end.
    `airflow tasks states-for-dag-run -o json`: tasks have their DAG in the name, a skipped one no start.
    """
    queued = RUN | {"state": "queued", "start_date": "", "end_date": ""}
    running = RUN | {"state": "running", "end_date": ""}
    task = RUN | {"task_id": "copy"}
    skipped = task | {"task_id": "notify", "state": "skipped", "start_date": None, "end_date": None}
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([RUN, queued, running]))
    runs = read_own_events(path)
    path.write_text(json.dumps([task, skipped]))
    tasks = read_own_events(path)

    end_s = START_S + 3600
    assert [("load_claims", "DAG run", end_s, False), ("load_claims", "DAG run", None, True)] == [
        (e.name, e.kind, e.end_s, e.is_running) for e in runs.events
    ]
    assert [("load_claims.copy", "task")] == [(e.name, e.kind) for e in tasks.events]
    assert {START_S} == {e.start_s for e in (*runs.events, *tasks.events)}
    assert (1, 1) == (runs.not_begun, tasks.not_begun)


def test_a_zone_is_given_or_refused(tmp_path: Path):
    """A time without a zone is never guessed; a zone that is given does not replace one in the text."""
    text = "start,name\n2023-02-14 02:30,a\n2023-02-14T01:30:00Z,b\n"

    assert [START_S] * 2 == [e.start_s for e in events(tmp_path, text, zone="Europe/Berlin")]
    assert isinstance(refusal(tmp_path, text, zone="Europe/Nowhere"), UsageError)
    assert isinstance(refusal(tmp_path, text, zone="../../etc/passwd"), UsageError)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Both bounds are checked: bytes before anything is parsed, and events while they are read."""
    monkeypatch.setattr(read, "MOST_EVENTS", 2)
    text = "start,name\n" + "1676338200,a\n" * 3
    assert "more than 2 events" in refusal(tmp_path, text).message

    monkeypatch.setattr(read, "MOST_BYTES", 10)
    assert isinstance(refusal(tmp_path, text), DataError)


def test_names_are_made_printable_and_cut(tmp_path: Path):
    """A name with an escape sequence or of a megabyte does no harm."""
    (found,) = events(tmp_path, json.dumps([{"start": START_S, "name": "\x1b[31m\u202e" + "x" * 10**6}]))

    assert found.name.isprintable()
    assert 120 == len(found.name)


WELL_FORMED = (
    b"start,end,name,kind\n2023-02-14T01:30:00Z,1676341800,load,job\n",
    json.dumps([RUN, RUN]).encode(),
    b'{"start": 1676338200, "name": "a"}\n{"start": "2023-02-14", "name": "b", "end": null}\n',
)


@given(st.sampled_from(WELL_FORMED), st.integers(0, 300), st.binary(max_size=8), st.booleans())
def test_a_damaged_file_gives_events_or_one_sentence(tmp_path_factory, data, at, bytes_in, is_cut):
    """Whatever bytes are put in or cut off, the end is a value or an error of ours, and never a traceback."""
    damaged = data[:at] + bytes_in + (b"" if is_cut else data[at:])
    path = tmp_path_factory.getbasetemp() / "damaged.csv"
    path.write_bytes(damaged)
    try:
        found = read_own_events(path, "UTC")
    except PlimsollError as refused:
        text = refused.message
    else:
        text = "".join(e.name + e.kind for e in found.events)

    assert "\n" not in text
