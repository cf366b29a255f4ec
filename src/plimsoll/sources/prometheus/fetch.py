"""
Series and their raw samples, asked for in pieces that stay bounded.

Samples are read with range selectors, not with `query_range`: that would put them on a grid of its
own and fill gaps with what was said five minutes ago. A range selector gives them as they are, and
leaves out staleness markers, so a gap stays a gap.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from plimsoll.errors import DataError, SourceError
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.sources.prometheus.answers import SeriesRow, TooMuch, labels_of, names_of, rows_of
from plimsoll.sources.prometheus.client import Client
from plimsoll.sources.prometheus.node import Counted

Window = tuple[int, int]
"""Epoch seconds, [start, end)."""
Labels = Mapping[str, str]

# A day keeps an answer small; below five minutes a server that still refuses is not asked in smaller parts.
LONGEST_CHUNK_S = 86_400
SHORTEST_CHUNK_S = 300

# What one answer may hold. Prometheus loads 50 million samples for a query, Mimir and Amazon less;
# 200,000 take 6 MB on the way and a fraction of a second, so no server notices.
SAMPLES_PER_ANSWER = 200_000

# Scrapes are rarely more frequent; where they are, an answer that grows too large is halved.
ASSUMED_INTERVAL_S = 15


def list_series(client: Client, selectors: Sequence[str], window_s: Window) -> list[Labels]:
    """
    Return labels of every series with a sample in the window, each once.

    Raises:
        SourceError: no usable answer, or more series than one answer may hold.
    """
    parameters = [("match[]", s) for s in selectors]
    parameters += [("start", str(window_s[0])), ("end", str(window_s[1]))]
    try:
        found = labels_of(client.ask("/api/v1/series", parameters), client.server)
    except TooMuch as much:
        raise SourceError(
            f"{client.server.url} has more series than one answer may hold: {much.reason}",
            "Choose an instance with --match LABEL=VALUE, such as dbidentifier=orders-primary.",
        ) from much
    return list({frozenset(labels.items()): labels for labels in found}.values())


def label_values(client: Client, label: str, selector: str, window_s: Window) -> list[str]:
    """Return the values a label has among the series of a selector, in order; empty if none is known."""
    parameters = [("match[]", selector)]
    parameters += [("start", str(window_s[0])), ("end", str(window_s[1]))]
    try:
        answer = client.ask(f"/api/v1/label/{label}/values", parameters, may_post=False)
        return sorted(names_of(answer, client.server))
    except (TooMuch, SourceError):
        return []  # It would only have adorned a message.


def read_samples(client: Client, selector: str, window_s: Window, count: int) -> list[Counted]:
    """
    Return every sample of every series of a selector, NaN and all.

    Args:
        selector: which series.
        window_s: the times wanted.
        count: how many series to expect, which decides how long a piece may be.

    Raises:
        SourceError: no usable answer, or one too large even for five minutes; Exhausted if the reading
            as a whole takes too much.
        DataError: samples that are no numbers.
    """
    fitting_s = SAMPLES_PER_ANSWER * ASSUMED_INTERVAL_S // max(count, 1)
    chunk_s = int(np.clip(fitting_s, SHORTEST_CHUNK_S, LONGEST_CHUNK_S))
    pieces: dict[frozenset[tuple[str, str]], list[tuple[IntArray, FloatArray]]] = {}
    waiting = [(start, min(start + chunk_s, window_s[1])) for start in range(*window_s, chunk_s)][
        ::-1
    ]
    while waiting:
        start, end = waiting.pop()
        try:
            rows = _piece(client, selector, (start, end))
        except TooMuch as much:
            if end - start <= SHORTEST_CHUNK_S:
                raise SourceError(
                    f"{client.server.url} gives too much at once: {much.reason}",
                    "Ask for fewer series with --match LABEL=VALUE.",
                ) from much
            middle = (start + end) // 2
            waiting += [(middle, end), (start, middle)]
            continue
        client.allowance.samples.take(sum(len(row.values) for row in rows), client.server)
        for row in rows:
            pieces.setdefault(frozenset(row.metric.items()), []).append(_arrays(row, client))
    return [_whole(dict(labels), parts) for labels, parts in pieces.items()]


def _piece(client: Client, selector: str, window_s: Window) -> list[SeriesRow]:
    """
    Return the samples of [start, end), asked for at a thousandth before the end.

    Prometheus 2 counts both ends of a range, Prometheus 3 the later one only; times are whole
    milliseconds, so this means the same in both.
    """
    start, end = window_s
    parameters = [
        ("query", f"{selector}[{end - start}s]"),
        ("time", f"{end - 0.001:.3f}"),
        ("timeout", f"{client.bounds.read_s:g}s"),
    ]
    return rows_of(client.ask("/api/v1/query", parameters), client.server)


def _arrays(row: SeriesRow, client: Client) -> tuple[IntArray, FloatArray]:
    try:
        value = np.array([v for _, v in row.values], dtype=np.float64)
    except ValueError as error:
        raise DataError(
            f"{client.server.url} gave a sample that is no number",
            "Check that the address is of a Prometheus-compatible server.",
        ) from error
    time_s = np.array([t for t, _ in row.values], dtype=np.float64)
    if time_s.size and not np.all(np.abs(time_s) < 1e12):
        raise DataError(
            f"{client.server.url} gave a sample whose time is no time",
            "Check that the address is of a Prometheus-compatible server.",
        )
    return np.round(time_s * 1000).astype(np.int64), value


def _whole(labels: Labels, parts: list[tuple[IntArray, FloatArray]]) -> Counted:
    time_ms = np.concatenate([t for t, _ in parts])
    value = np.concatenate([v for _, v in parts])
    time_ms, first = np.unique(time_ms, return_index=True)
    return Counted(labels=labels, time_ms=time_ms, value=value[first])
