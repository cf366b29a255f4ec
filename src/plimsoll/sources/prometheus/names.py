"""
Parse Prometheus series as dashboards and the HTTP API write them: `name{label="value"}`, and JSON.

Source: Prometheus documentation, "HTTP API", range queries (read 2026-11); Grafana writes the same
names as column heads of its CSV if a panel has no legend.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.model.snapshot import Gap
from plimsoll.sources.prometheus.exporters import IDENTITY_LABELS, SeriesRow, track_of
from plimsoll.sources.reading.reading import Block, Reading, Statistic
from plimsoll.sources.values.numbers import floats
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.steps import usual_step_s
from plimsoll.sources.values.times import of_numbers

_SERIES = re.compile(r"\s*([A-Za-z_:][A-Za-z0-9_:]*)?\s*\{(.*)\}\s*\Z", re.DOTALL)
_LABEL = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|\Z)')
# A judgement: no fleet has more instances, so a longer answer has more than one metric.
_MOST_ROWS = 10_000
# A judgement: a few names are enough to recognise the counters.
_MOST_NAMED = 3

_RANGE_HINT = "Query /api/v1/query_range for series by name; rates and sums have no name."


class Called(Struct, frozen=True, kw_only=True):
    """Name, instance and statistic of a series."""

    name: str
    """Name in the rest of the program; empty if the series has none."""
    instance: str | None = None
    statistic: Statistic | None = None


def called(text: str) -> Called | None:
    """Parse a head such as `{__name__="aws_rds_read_iops_average",…}`; None if it is no series."""
    match = _SERIES.match(text)
    if match is None:
        return None
    labels, at = {}, 0
    inside = match[2]
    while at < len(inside):
        label = _LABEL.match(inside, at)
        if label is None:
            return None
        labels[label[1]] = label[2].replace('\\"', '"').replace("\\\\", "\\")
        at = label.end()
    if match[1]:
        labels["__name__"] = match[1]
    return of_labels(labels)


def of_labels(labels: Mapping[str, str]) -> Called:
    """Return the name, instance and statistic in the labels of a series, which include `__name__`."""
    track = track_of(labels)
    if track is not None and track.metric is not None and track.written is not None:
        return Called(name=track.written, instance=track.subject.identifier, statistic=track.statistic)
    instance = next((labels[k] for k in sorted(IDENTITY_LABELS) if labels.get(k)), None)
    return Called(name=labels.get("__name__", ""), instance=instance)


def read_answer(document: Mapping[str, Any], reading: Reading, *, where: str, path: Path) -> None:
    """
    Add the answer to a range query to a reading.

    Raises:
        DataError: an error, an answer of another kind, or one of another shape.
    """
    data = document.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    if document.get("status") != "success" or not isinstance(data, dict):
        raise DataError(
            f"{where} has an error of Prometheus: {shown(document.get('error') or 'unnamed', 120)}",
            "Send the query again, and save its answer.",
        )
    if kind != "matrix":
        raise DataError(
            f"{where} has values at a single time ({shown(kind or 'no type')}), not a time series", _RANGE_HINT
        )
    try:
        rows = msgspec.convert(data.get("result"), list[SeriesRow])
    except msgspec.ValidationError as error:
        raise DataError(f"{where} is not the answer to a range query", _RANGE_HINT) from error
    if len(rows) > _MOST_ROWS:
        raise DataError(f"{where} has {len(rows):,} series", "Query a single instance.")
    nameless = 0
    others: dict[str, None] = {}
    for row in rows:
        found = of_labels(row.metric)
        is_known = track_of(row.metric)
        if not found.name:
            nameless += 1
        elif is_known is not None and is_known.metric is None:
            others[found.name] = None
        else:
            _add(row, found, reading, path)
    if nameless:
        reading.gaps.append(
            Gap(
                metric=f"{nameless:,} series of {where}",
                reason="they have no name, so it is unknown what they measure",
                remedy=_RANGE_HINT,
            )
        )
    if others:
        names = ", ".join(list(others)[:_MOST_NAMED])
        reading.gaps.append(
            Gap(
                metric=f"counters in {where}",
                reason=f"{shown(names, 120)} are counters, which need all their labels",
                remedy="Read them directly from the server with prom:URL.",
            )
        )


def _add(row: SeriesRow, found: Called, reading: Reading, path: Path) -> None:
    times, readable = of_numbers(np.array([t for t, _ in row.values], dtype=np.float64))
    value = floats([v for _, v in row.values])
    reading.bad_times += int((~readable).sum())
    keep = readable & np.isfinite(value)
    if keep.any():
        reading.blocks.append(
            Block(
                name=found.name,
                instance=found.instance,
                statistic=found.statistic,
                time_s=times[keep],
                value=value[keep],
                period_s=usual_step_s(times[keep]),
                folder=path.parent,
            )
        )
