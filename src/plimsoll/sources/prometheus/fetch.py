"""
Fetch series and their raw samples in chunks of bounded size.

Samples are read with range selectors, not with `query_range`, which uses a grid of its own and fills gaps
with values up to five minutes old (Prometheus docs, "Staleness"). A range selector returns raw samples
without staleness markers, so a gap stays a gap.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from plimsoll.errors import DataError, SourceError
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.sources.prometheus.client import UNREADABLE, Answer, Client, TooMuch, unlike
from plimsoll.sources.prometheus.exporters import SeriesRow
from plimsoll.sources.prometheus.node import Counted

Window = tuple[int, int]
"""Epoch seconds, [start, end)."""
Labels = Mapping[str, str]

# A judgement: a day keeps an answer small; a server that refuses five minutes gets no smaller requests.
LONGEST_CHUNK_S = 86_400
SHORTEST_CHUNK_S = 300

# Samples of one answer. Prometheus loads up to 50 million samples for a query (--query.max-samples), Mimir
# and Amazon fewer. 200,000 take 6 MB and a fraction of a second, a small load for any server.
SAMPLES_PER_ANSWER = 200_000

# A judgement: scrapes are rarely more frequent. If they are, an answer that is too large is halved.
ASSUMED_INTERVAL_S = 15

T = TypeVar("T")


class _Matrix(Struct, rename="camel"):
    result_type: Literal["matrix"]
    result: list[SeriesRow]


def data_of(answer: Answer, form: type[T], client: Client) -> T:
    """
    Return the data of an answer.

    Raises:
        SourceError: they have another form.
    """
    try:
        return msgspec.json.decode(answer.data, type=form)
    except UNREADABLE as error:
        raise unlike(client.server) from error


def list_series(client: Client, selectors: Sequence[str], window_s: Window) -> list[Labels]:
    """
    Return the labels of every series with a sample in the window, each once.

    Raises:
        SourceError: no usable answer, or more series than one answer may have.
    """
    parameters = [("match[]", s) for s in selectors]
    parameters += [("start", str(window_s[0])), ("end", str(window_s[1]))]
    try:
        found = data_of(client.ask("/api/v1/series", parameters), list[dict[str, str]], client)
    except TooMuch as much:
        raise SourceError(
            f"{client.server.url} has too many series for one answer: {much}",
            "Choose an instance with --match LABEL=VALUE, for example dbidentifier=orders-primary.",
        ) from much
    return list({frozenset(labels.items()): labels for labels in found}.values())


def label_values(client: Client, label: str, selector: str, window_s: Window) -> list[str]:
    """Return the values of a label in the series of a selector, in order; empty if none is known."""
    parameters = [("match[]", selector)]
    parameters += [("start", str(window_s[0])), ("end", str(window_s[1]))]
    try:
        answer = client.ask(f"/api/v1/label/{label}/values", parameters, may_post=False)
        return sorted(data_of(answer, list[str], client))
    except (TooMuch, SourceError):
        return []  # The values are only for an error message.


def read_samples(client: Client, selector: str, window_s: Window, count: int) -> list[Counted]:
    """
    Return every sample of every series of a selector, NaN included.

    Args:
        selector: selects the series.
        window_s: epoch seconds, [start, end).
        count: expected number of series, which decides the length of a chunk.

    Raises:
        SourceError: no usable answer, or one too large even for five minutes; Exhausted if the whole
            reading exceeds its bound.
        DataError: samples that are not numbers.
    """
    fitting_s = SAMPLES_PER_ANSWER * ASSUMED_INTERVAL_S // max(count, 1)
    chunk_s = int(np.clip(fitting_s, SHORTEST_CHUNK_S, LONGEST_CHUNK_S))
    pieces: dict[frozenset[tuple[str, str]], list[tuple[IntArray, FloatArray]]] = {}
    waiting = [(start, min(start + chunk_s, window_s[1])) for start in range(*window_s, chunk_s)][::-1]
    while waiting:
        start, end = waiting.pop()
        try:
            rows = _piece(client, selector, (start, end))
        except TooMuch as much:
            if end - start <= SHORTEST_CHUNK_S:
                raise SourceError(
                    f"{client.server.url} refuses even five minutes of samples: {much}",
                    "Select fewer series with --match LABEL=VALUE.",
                ) from much
            middle = (start + end) // 2
            waiting += [(middle, end), (start, middle)]
            continue
        client.allowance.take("samples", sum(len(row.values) for row in rows), client.server)
        for row in rows:
            pieces.setdefault(frozenset(row.metric.items()), []).append(_arrays(row, client))
    return [_whole(dict(labels), parts) for labels, parts in pieces.items()]


def _piece(client: Client, selector: str, window_s: Window) -> list[SeriesRow]:
    """
    Return the samples of [start, end), with the evaluation time a millisecond before the end.

    A range includes both ends in Prometheus 2, but only the later end in Prometheus 3 (its migration guide).
    Times are whole milliseconds, so this request has the same samples in both.
    """
    start, end = window_s
    parameters = [
        ("query", f"{selector}[{end - start}s]"),
        ("time", f"{end - 0.001:.3f}"),
        ("timeout", f"{client.bounds.read_s:g}s"),
    ]
    return data_of(client.ask("/api/v1/query", parameters), _Matrix, client).result


def _arrays(row: SeriesRow, client: Client) -> tuple[IntArray, FloatArray]:
    try:
        value = np.array([v for _, v in row.values], dtype=np.float64)
    except ValueError as error:
        raise DataError(
            f"{client.server.url} sent a sample that is not a number",
            "Check that the address is of a Prometheus-compatible server.",
        ) from error
    time_s = np.array([t for t, _ in row.values], dtype=np.float64)
    if time_s.size and not np.all(np.abs(time_s) < 1e12):
        raise DataError(
            f"{client.server.url} sent a sample whose time cannot be read",
            "Check that the address is of a Prometheus-compatible server.",
        )
    return np.round(time_s * 1000).astype(np.int64), value


def _whole(labels: Labels, parts: list[tuple[IntArray, FloatArray]]) -> Counted:
    time_ms = np.concatenate([t for t, _ in parts])
    value = np.concatenate([v for _, v in parts])
    time_ms, first = np.unique(time_ms, return_index=True)
    return Counted(labels=labels, time_ms=time_ms, value=value[first])
