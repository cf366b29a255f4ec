"""
Read answers of the AWS CLI: `get-metric-data`, `get-metric-statistics`, and their requests.

`get-metric-data` names a series only by Label or Id. The metric of an Id is in the request, a list of
`MetricDataQueries`, which may be in the same folder as the answer.
Source: Amazon CloudWatch API Reference, GetMetricData and GetMetricStatistics.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from plimsoll.model.snapshot import Gap
from plimsoll.sources.files.json_text import as_type
from plimsoll.sources.reading.reading import Block, Reading, SeriesQuery, Statistic, statistic_of
from plimsoll.sources.values.numbers import floats
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.times import epoch_seconds

PERMISSION = "cloudwatch:GetMetricData"


class _Message(Struct, rename="pascal"):
    code: str | None = None
    value: str | None = None


class _Result(Struct, rename="pascal"):
    id: str | None = None
    label: str | None = None
    timestamps: list[Any] = []
    values: list[Any] = []
    status_code: str | None = None
    messages: list[_Message] | None = None


class _Answer(Struct, rename="pascal"):
    metric_data_results: list[_Result]
    next_token: str | None = None
    messages: list[_Message] | None = None


class _Dimension(Struct, rename="pascal"):
    name: str
    value: str


class _Metric(Struct, rename="pascal"):
    metric_name: str
    namespace: str | None = None
    dimensions: list[_Dimension] = []


class _MetricStat(Struct, rename="pascal"):
    metric: _Metric
    period: int | None = None
    stat: str | None = None
    unit: str | None = None


class _Query(Struct, rename="pascal"):
    id: str
    metric_stat: _MetricStat | None = None


class _Statistics(Struct, rename="pascal"):
    datapoints: list[dict[str, Any]]
    label: str | None = None


def read_metric_data(document: Any, reading: Reading, *, where: str, folder: Path) -> None:
    """
    Add a `get-metric-data` answer to a reading.

    Raises:
        DataError: fields of the wrong type.
    """
    answer = as_type(document, _Answer, where)
    for message in answer.messages or []:
        _read_message(message, reading)
    for result in answer.metric_data_results:
        _read_result(result, reading, folder)
    if answer.next_token:
        reading.gaps.append(
            Gap(
                metric=f"pages after {where}",
                reason="the answer has a NextToken, so it is not the last page",
                remedy="Put all pages into one folder, or let the AWS CLI paginate.",
            )
        )


def read_request(queries: Any, reading: Reading, *, where: str, folder: Path) -> None:
    """
    Add a list of `MetricDataQueries`, which has the metric of each Id.

    Raises:
        DataError: fields of the wrong type.
    """
    known = reading.queries.setdefault(folder, {})
    for query in as_type(queries, list[_Query], where):
        if query.metric_stat is None:
            continue  # an expression is no metric
        asked = _query_of(query.metric_stat)
        if known.get(query.id, asked) != asked:
            known[query.id] = None
        else:
            known[query.id] = asked


def read_metric_statistics(document: Any, reading: Reading, *, where: str, folder: Path) -> None:
    """
    Add a `get-metric-statistics` answer, with a block for each statistic.

    Raises:
        DataError: fields of the wrong type.
    """
    answer = as_type(document, _Statistics, where)
    by_kind: dict[tuple[Statistic, str | None], list[dict[str, Any]]] = {}
    for point in answer.datapoints:
        unit = point.get("Unit")
        for statistic in Statistic:
            if statistic.value in point:
                key = (statistic, unit if isinstance(unit, str) else None)
                by_kind.setdefault(key, []).append(point)
    for (statistic, unit), points in by_kind.items():
        block = block_of(
            reading,
            times=[p.get("Timestamp") for p in points],
            values=[p[statistic.value] for p in points],
            name=answer.label or Path(where).stem,
            statistic=statistic,
            unit=unit,
            folder=folder,
        )
        if block is not None:
            reading.blocks.append(block)


def block_of(reading: Reading, *, times: Sequence[object], values: Sequence[object], **fields: Any) -> Block | None:
    """Return a block of parallel lists, without unreadable times; None if no time can be read."""
    count = min(len(times), len(values))
    time_s, readable = epoch_seconds(times[:count])
    value = floats(values[:count])
    reading.bad_times += max(len(times), len(values)) - int(readable.sum())
    if not readable.any():
        return None
    return Block(time_s=time_s[readable], value=value[readable], **fields)


def _read_result(result: _Result, reading: Reading, folder: Path) -> None:
    name = result.label or result.id or "unnamed"
    key = (folder, result.id, result.label)
    gap = _status_gap(result, name)
    # Pages of one query come in order; the next page completes one with the status PartialData.
    if gap is None:
        reading.pending.pop(key, None)
    else:
        reading.pending[key] = gap
    block = block_of(
        reading, times=result.timestamps, values=result.values, name=name, query_id=result.id, folder=folder
    )
    if block is not None:
        reading.blocks.append(block)


def _status_gap(result: _Result, name: str) -> Gap | None:
    status = result.status_code
    if status in (None, "Complete"):
        return None
    messages = "; ".join(shown(m.value or m.code or "", 120) for m in result.messages or [])
    tail = f": {messages}" if messages else ""
    if status == "Forbidden":
        reason, remedy = f"access denied{tail}", f"Allow {PERMISSION} for the role that exports."
    elif status == "PartialData":
        reason = f"partial data{tail}"
        remedy = f"Fetch the remaining pages (NextToken); {PERMISSION} must be allowed."
    else:
        reason = f"CloudWatch answered {shown(status)}{tail}"
        remedy = f"Run the export again; {PERMISSION} must be allowed."
    return Gap(metric=shown(name), reason=reason, remedy=remedy)


def _read_message(message: _Message, reading: Reading) -> None:
    # CloudWatch never sends this code; our own simulator marks its exports with it.
    if message.code == "Simulated":
        reading.simulated = shown(message.value or "simulated", 300)
        return
    reading.gaps.append(
        Gap(
            metric="export",
            reason=f"CloudWatch added the message: {shown(message.value or message.code or '', 160)}",
            remedy="Request fewer metrics or a shorter window in one call.",
        )
    )


def _query_of(asked: _MetricStat) -> SeriesQuery:
    named = {d.name.lower(): d.value for d in asked.metric.dimensions}
    # A second dimension selects one volume, a role or a cluster, not the whole instance.
    instance = named.get("dbinstanceidentifier")
    volume = named.get("volumename")
    return SeriesQuery(
        metric_name=asked.metric.metric_name + (" LogVolume" if volume else ""),
        namespace=asked.metric.namespace,
        instance=instance,
        statistic=statistic_of(asked.stat) or (Statistic.OTHER if asked.stat else None),
        unit=asked.unit,
        period_s=asked.period if asked.period and 0 < asked.period <= 86_400 else None,
    )
