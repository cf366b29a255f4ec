"""
Read CloudWatch metric streams in JSON 1.0: one record per line, metric, instance and minute.

A record has the minimum, maximum, sum and count of its minute; the mean is sum ÷ count. One file mixes
records of several instances, and of groups of instances.
Source: Amazon CloudWatch User Guide, "Metric stream output in JSON format".
"""

from typing import Any

from msgspec import Struct

from plimsoll.model.instance import Instance
from plimsoll.sources.files.json_text import as_type, lines
from plimsoll.sources.reading.reading import Block, Reading
from plimsoll.sources.values.numbers import floats, mean_of
from plimsoll.sources.values.times import epoch_seconds

PERIOD_S = 60
"""Seconds of a record; a stream has one record for each metric and minute."""


class _Value(Struct):
    sum: float | None = None
    count: float | None = None


class StreamRecord(Struct):
    """A line of the stream."""

    metric_name: str
    timestamp: int | float | str
    value: _Value
    dimensions: dict[str, str] = {}
    namespace: str | None = None
    region: str | None = None
    unit: str | None = None


Key = tuple[str, str, str | None, str | None]
"""Metric name, instance, unit, namespace."""


class Columns:
    """Samples of several series, collected record by record."""

    def __init__(self) -> None:
        """Start empty."""
        self.columns: dict[Key, tuple[list[object], list[object], list[object]]] = {}
        self.regions: dict[str, str] = {}

    def add(self, key: Key, time: object, total: object, count: object) -> None:
        """Append one sample."""
        lists = self.columns.get(key)
        if lists is None:
            lists = self.columns[key] = ([], [], [])
        lists[0].append(time)
        lists[1].append(total)
        lists[2].append(count)

    def hand_over(self, reading: Reading) -> None:
        """Add a block for every series, without minutes that had no samples."""
        for key, (times, totals, counts) in self.columns.items():
            name, instance, unit, namespace = key
            time_s, readable = epoch_seconds(times)
            count = floats(counts)
            mean = mean_of(floats(totals), count)
            reading.bad_times += int((~readable).sum())
            readable &= count != 0  # a minute without samples has no mean
            if readable.any():
                reading.blocks.append(
                    Block(
                        name=name,
                        instance=instance,
                        unit=unit,
                        namespace=namespace,
                        time_s=time_s[readable],
                        value=mean[readable],
                        period_s=PERIOD_S,
                    )
                )
        for instance, region in self.regions.items():
            reading.hints.append(Instance(identifier=instance, region=region))


def read_lines(data: bytes, reading: Reading, *, where: str) -> int:
    """
    Add a file with one record per line.

    Returns:
        The number of lines that are not records: cut off, or of another shape.
    """
    columns = Columns()
    bad_lines = 0
    for records, bad in lines(data, StreamRecord, where):
        bad_lines += bad
        _gather(records, columns)
    columns.hand_over(reading)
    return bad_lines


def read_records(documents: list[Any], reading: Reading, *, where: str) -> None:
    """
    Add records that are already decoded, for example an array.

    Raises:
        DataError: a record of another shape.
    """
    columns = Columns()
    _gather(as_type(documents, list[StreamRecord], where), columns)
    columns.hand_over(reading)


def _gather(records: list[StreamRecord], columns: Columns) -> None:
    for record in records:
        dimensions = record.dimensions
        name = record.metric_name
        # Nearly all records have only this dimension; the general rule is five times slower.
        instance = dimensions.get("DBInstanceIdentifier") if len(dimensions) == 1 else None
        if instance is None:
            instance = instance_of(dimensions)
            if instance is None:
                continue
            name = volume_name(name, dimensions)
        key = (name, instance, record.unit, record.namespace)
        columns.add(key, record.timestamp, record.value.sum, record.value.count)
        if record.region:
            columns.regions[instance] = record.region


def instance_of(dimensions: dict[str, str]) -> str | None:
    """Return the instance of a record; None for totals of classes, engines or clusters."""
    named = {name.lower(): value for name, value in dimensions.items()}
    if set(named) - {"dbinstanceidentifier", "volumename"}:
        return None
    return named.get("dbinstanceidentifier")


def volume_name(metric_name: str, dimensions: dict[str, str]) -> str:
    """Return the name of a metric; that of an additional volume gets a name of its own."""
    is_volume = any(name.lower() == "volumename" for name in dimensions)
    return f"{metric_name} LogVolume" if is_volume else metric_name
