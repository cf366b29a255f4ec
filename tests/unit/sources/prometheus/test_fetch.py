"""Samples are asked for in pieces, and come out whole: none twice, none lost, none made up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.prometheus.expositions import Series
from fixtures.prometheus.servers import Double, Wrong
from plimsoll.errors import DataError, SourceError
from plimsoll.sources.prometheus import fetch
from plimsoll.sources.prometheus.client import Bounds, Client
from plimsoll.sources.prometheus.fetch import label_values, list_series, read_samples
from plimsoll.sources.prometheus.server import server_of

START_S = 1_615_161_600
ALL = '{__name__=~".+"}'


def client_of(double: Double) -> Client:
    return Client(server_of(double.url, match=(), headers=(), environment={}), Bounds())


def series(time_ms, value=None, **labels: str) -> Series:
    times = np.asarray(time_ms, dtype=np.int64)
    values = np.arange(times.size, dtype=float) if value is None else np.asarray(value, dtype=float)
    return Series(labels={"__name__": "x", **labels}, time_ms=times, value=values)


def test_a_window_is_asked_for_in_pieces_that_stay_bounded():
    """Three days are three questions; with many series a piece is shorter than a day."""
    one = series(1000 * (START_S + 15 * np.arange(3 * 5760)))
    with Double([one]) as double, client_of(double) as client:
        found = read_samples(client, ALL, (START_S, START_S + 3 * 86_400), 1)
        questions = len(double.requests)
        read_samples(client, ALL, (START_S, START_S + 86_400), 1000)

    assert 3 == questions
    assert len(double.requests) - questions == pytest.approx(86_400 * 1000 / (200_000 * 15), abs=1)
    np.testing.assert_array_equal(one.time_ms, found[0].time_ms)
    np.testing.assert_array_equal(one.value, found[0].value)


@settings(max_examples=15, deadline=None)
@given(
    offsets=st.sets(st.integers(-5_000, 305_000), max_size=40),
    edge=st.sampled_from([0, 1, 59_999, 60_000, 120_000, 299_999, 300_000]),
)
def test_pieces_together_are_the_window(offsets, edge):
    """A sample at the start belongs to it, one at the end does not, one between two pieces comes once."""
    times = np.array(sorted(offsets | {edge}), dtype=np.int64) + 1000 * START_S
    expected = times[(times >= 1000 * START_S) & (times < 1000 * (START_S + 300))]
    with Double([series(times)]) as double, client_of(double) as client:
        whole = read_samples(client, ALL, (START_S, START_S + 300), 1)
        double.samples_max = 3  # so that pieces are halved, down to the shortest
        original, fetch.SHORTEST_CHUNK_S = fetch.SHORTEST_CHUNK_S, 1
        try:
            halved = read_samples(client, ALL, (START_S, START_S + 300), 1)
        except SourceError:
            halved = whole  # more than three samples in one second
        finally:
            fetch.SHORTEST_CHUNK_S = original

    assert expected.tolist() == [t for s in whole for t in s.time_ms.tolist()]
    assert expected.tolist() == [t for s in halved for t in s.time_ms.tolist()]


def test_halving_has_an_end():
    """What does not fit even for five minutes is an error with the remedy."""
    with Double([series(1000 * (START_S + np.arange(600)))]) as double:
        double.samples_max = 10
        with client_of(double) as client, pytest.raises(SourceError) as raised:
            read_samples(client, ALL, (START_S, START_S + 600), 1)

    assert "refuses even five minutes of samples" in raised.value.message
    assert "--match" in raised.value.hint


def test_values_are_read_as_they_are_written():
    """NaN and infinities come as texts and stay what they are; later stages drop them."""
    values = [1.5, np.nan, np.inf, -np.inf, 1e-320, 1.7976931348623157e308]
    one = series(1000 * START_S + 1000 * np.arange(6), values)
    with Double([one]) as double, client_of(double) as client:
        found = read_samples(client, ALL, (START_S, START_S + 60), 1)

    np.testing.assert_array_equal(values, found[0].value)


DEEP = b"[" * 500_000
MATRIX = b'{"resultType":"matrix","result":[{"metric":{},"values":[%s]}]}'


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (MATRIX % b'[1, "many"]', DataError, "sent a sample"),
        (MATRIX % b'[1e300, "1"]', DataError, "sent a sample"),
        (b'{"resultType":"vector","result":[]}', SourceError, "another form"),
        (b'{"resultType":"matrix","result":{}}', SourceError, "another form"),
        (MATRIX % b'["1",1]', SourceError, "another form"),
        (b"[]", SourceError, "another form"),
        (b"7", SourceError, "another form"),
        pytest.param(
            b'{"resultType":"matrix","result":' + DEEP + b"]" * len(DEEP) + b"}", SourceError, "not JSON", id="deep"
        ),
    ],
)
def test_another_form_than_prometheus_answers_in_is_an_error(data, kind, words):
    body = b'{"status":"success","data":' + data + b"}"
    with Double(wrong=[Wrong(body=body)]) as double, client_of(double) as client, pytest.raises(kind, match=words):
        read_samples(client, ALL, (START_S, START_S + 60), 1)


def test_series_of_several_selectors_are_listed_once():
    found = [series([1000 * START_S], instance="a"), series([1000 * START_S], instance="b")]
    with Double(found) as double, client_of(double) as client:
        listed = list_series(client, [ALL, '{instance="a"}'], (START_S, START_S + 60))

    assert ["a", "b"] == sorted(labels["instance"] for labels in listed)


def test_too_many_series_are_an_error_that_asks_for_a_match():
    many = Wrong(body=b'{"status":"success","data":["' + b"x" * 200_000)
    with Double(wrong=[many]) as double:
        server = server_of(double.url, match=(), headers=(), environment={})
        with (
            Client(server, Bounds(answer_bytes_max=1000)) as client,
            pytest.raises(SourceError, match="too many series for one answer") as raised,
        ):
            list_series(client, [ALL], (START_S, START_S + 60))

    assert "--match" in raised.value.hint


def test_label_values_that_cannot_be_had_are_no_error():
    """They adorn a message about something else, which must not get lost."""
    with Double(wrong=[Wrong(status=404)]) as double, client_of(double) as client:
        assert [] == label_values(client, "instance", ALL, (START_S, START_S + 60))
