"""
Define the result of a parser: blocks of samples as written, and facts about them.

Parsers know formats, not metrics: `resolve.py` gives a block its metric, `merge.py` makes series.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.model.snapshot import Gap


class Statistic(StrEnum):
    """Statistics of CloudWatch for a period; the value is CloudWatch's name."""

    AVERAGE = "Average"
    MAXIMUM = "Maximum"
    MINIMUM = "Minimum"
    SUM = "Sum"
    COUNT = "SampleCount"
    OTHER = "percentile"
    """A percentile or trimmed mean, which does not show the mean."""


class Channel(StrEnum):
    """Which of AWS's channels a block came through; of equal steps the first is preferred."""

    CLOUDWATCH = "CloudWatch"
    ENHANCED_MONITORING = "Enhanced Monitoring"
    PERFORMANCE_INSIGHTS = "Performance Insights"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Samples of one metric, in the order and the unit of the file."""

    name: str
    """Metric name, label or column name, as written."""
    time_s: IntArray
    """Start of each sample's step, epoch seconds, shape (n,), any order, may repeat."""
    value: FloatArray
    """As written, shape (n,); NaN where something was written that is no number."""
    query_id: str | None = None
    """Id of a `get-metric-data` query; a request file may say what it asked for."""
    metric: Metric | None = None
    """Set by formats whose fields need no name; the values are then in our unit already."""
    instance: str | None = None
    """DBInstanceIdentifier; None where the file does not say."""
    namespace: str | None = None
    """CloudWatch namespace; None where the file does not say."""
    statistic: Statistic | None = None
    """None where the file does not say: an average."""
    unit: str | None = None
    """As written; None where the file does not say: CloudWatch's own unit of that metric."""
    period_s: int | None = None
    """As declared by the request; None where it must be seen from the times."""
    origin: Channel = Channel.CLOUDWATCH
    folder: Path = Path()
    """Where the file lies; a request file speaks for the answers beside and below it."""


class SeriesQuery(Struct, frozen=True, kw_only=True):
    """What one query of a `get-metric-data` request asked for."""

    metric_name: str
    namespace: str | None = None
    instance: str | None = None
    statistic: Statistic | None = None
    unit: str | None = None
    period_s: int | None = None


@dataclass(slots=True, kw_only=True)
class Reading:
    """Everything read so far; every parser adds to it."""

    blocks: list[Block] = field(default_factory=list)
    queries: dict[Path, dict[str, SeriesQuery | None]] = field(default_factory=dict)
    """Per folder and Id; None where two requests use the Id for different metrics."""
    described: list[Instance] = field(default_factory=list)
    """From `describe-db-instances`."""
    hints: list[Instance] = field(default_factory=list)
    """What metric files say in passing about an instance: region, vCPUs, memory, volumes."""
    gaps: list[Gap] = field(default_factory=list)
    pending: dict[tuple[Path, str | None, str | None], Gap] = field(default_factory=dict)
    """By folder, Id and Label: an answer that was not complete, until a later page completes it."""
    remarks: dict[Metric, Gap] = field(default_factory=dict)
    """Gaps of Enhanced Monitoring by metric; reported only if it is used for that metric."""
    bad_times: int = 0
    """Samples whose time could not be read or lies outside 2000–2100."""
    simulated: str | None = None
    """Remark of a simulator about its export; None for measured data."""


def statistic_of(text: str | None) -> Statistic | None:
    """Return the statistic a name stands for (`Average`, `avg`, `SampleCount`, `p99`), or None."""
    name = (text or "").strip().lower().replace("_", "").replace(" ", "")
    if name in _STATISTICS:
        return _STATISTICS[name]
    is_percentile = name[:1] == "p" and name[1:].replace(".", "", 1).isdigit()
    is_trimmed = name[:2] in ("tm", "wm", "tc", "ts", "pr") and name[2:3] in tuple("(0123456789")
    return Statistic.OTHER if is_percentile or is_trimmed or name == "iqm" else None


_STATISTICS = {
    "average": Statistic.AVERAGE,
    "avg": Statistic.AVERAGE,
    "mean": Statistic.AVERAGE,
    "maximum": Statistic.MAXIMUM,
    "max": Statistic.MAXIMUM,
    "minimum": Statistic.MINIMUM,
    "min": Statistic.MINIMUM,
    "sum": Statistic.SUM,
    "total": Statistic.SUM,
    "samplecount": Statistic.COUNT,
    "count": Statistic.COUNT,
    "n": Statistic.COUNT,
}
