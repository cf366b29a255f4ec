"""Alarms on the ceilings and balances of one instance, and what they would have done."""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Struct

from plimsoll.model.ceiling import Family
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.written import After, Count, Moment, OneOf, Positive, Ratio, Window


class AlarmKind(StrEnum):
    """What an alarm watches."""

    RATE = "rate"
    """A use, reads and writes together, near a limit."""
    BASELINE = "baseline"
    """A use near a baseline while few credits are left to exceed it."""
    BALANCE = "balance"
    """Credits that are running out."""


AlarmFamily = Annotated[
    Family,
    OneOf(
        (
            "instance_ebs_throughput",
            "instance_ebs_iops",
            "volume_throughput",
            "volume_iops",
            "cpu_credits",
            "connections",
        )
    ),
]
AlarmBalance = Annotated[Metric, OneOf(("byte_balance_ratio", "io_balance_ratio", "volume_balance_ratio"))]
AlarmMetric = Annotated[
    Metric,
    OneOf(
        (
            "read_bytes_per_s",
            "write_bytes_per_s",
            "read_ops_per_s",
            "write_ops_per_s",
            "byte_balance_ratio",
            "io_balance_ratio",
            "volume_balance_ratio",
            "cpu_credits",
            "connection_count",
        )
    ),
]


class Alarm(Struct, frozen=True, kw_only=True):
    """One alarm, whatever system evaluates it. Values are in our units."""

    key: str
    """Unique among the alarms of an instance: lower-case letters, digits and hyphens."""
    name: str
    """What is watched, for people."""
    kind: AlarmKind
    """A use near a limit, a use near a baseline while few credits are left, or credits that are running out."""
    family: AlarmFamily
    """The limit that it belongs to."""
    metrics: tuple[AlarmMetric, ...]
    """Metrics whose sum is compared: reads and writes share every limit."""
    threshold: Positive
    """The number, in `unit`."""
    ceiling: float | None
    """The number of the limit, in `unit`; null for a balance in percent."""
    unit: Literal["bytes/s", "ops/s", "count", "ratio", "credits"]
    """Unit of `threshold` and `ceiling`."""
    balance: AlarmBalance | None = None
    """Credits that must also be at or below `balance_at_most`; null without such a condition."""
    balance_at_most: Ratio = 0.0
    """The most that may be left of them; null without such a condition."""
    period_s: Count
    """Length of a period, in seconds."""
    datapoints_to_alarm: Count
    """Periods that must be at the threshold."""
    evaluation_periods: Count
    """The newest periods, among which they must be."""
    why: str
    """What it means when the alarm goes off; a sentence."""
    note: str = ""
    """A remark about the number; may be empty."""

    @property
    def is_below(self) -> Annotated[bool, After("metrics")]:
        """Whether it goes off at or below `threshold`; otherwise at or above it."""
        return self.kind is AlarmKind.BALANCE

    @property
    def all_metrics(self) -> tuple[Metric, ...]:
        """Return every metric that the alarm reads; CloudWatch bills each of them."""
        return self.metrics if self.balance is None else (*self.metrics, self.balance)

    @property
    def cloudwatch_trigger(self) -> float:
        """Return the threshold in the unit in which CloudWatch reports the metrics."""
        return self.threshold / METRICS[self.metrics[0]].scale

    @property
    def cloudwatch_balance(self) -> float:
        """Return `balance_at_most` in the unit in which CloudWatch reports the balance."""
        return self.balance_at_most / (METRICS[self.balance].scale if self.balance else 1.0)


class LeftOutAlarm(Struct, frozen=True, kw_only=True):
    """An alarm that would never go off, or that cannot be set."""

    name: str
    """What it would watch."""
    why: str
    """Why there is none; a clause."""


class AlarmHistory(Struct, frozen=True, kw_only=True):
    """What an alarm would have done in a window."""

    is_measured: bool
    """Whether its metrics were measured at its period or finer; if not, the rest says nothing."""
    fired_s: tuple[Moment, ...] = ()
    """Each moment at which it would have gone off."""
    reached_s: Moment | None = None
    """When its ceiling was first reached or its balance was first empty; null if never."""
    is_noisy: bool = False
    """Whether it went off several times without such a moment."""

    @property
    def lead_s(self) -> Annotated[int | None, After("reached_s")]:
        """Seconds from the first alarm to that moment, negative if the alarm came later; null if either is missing."""
        if not self.fired_s or self.reached_s is None:
            return None
        return self.reached_s - self.fired_s[0]


class AlarmSet(Struct, frozen=True, kw_only=True):
    """The alarms for one instance."""

    identifier: str
    """Identifier of the instance."""
    source: str
    """Where the measurements come from."""
    is_simulated: bool
    """Whether they come from a simulator."""
    window_s: Window | None
    """What the histories cover; null without measurements."""
    held_s: Moment | None = None
    """When the limit that lasts (no burst) and that bound longest, or a full disk, was first reached; null if never."""
    held_family: Family | None = None
    """Family of that limit; null if never."""
    alarms: tuple[Alarm, ...]
    """The alarms."""
    histories: tuple[AlarmHistory, ...]
    """One for each alarm; empty without measurements."""
    left_out: tuple[LeftOutAlarm, ...]
    """Alarms that do not fit this instance."""

    @property
    def billed_metric_count(self) -> Annotated[Count, After("left_out")]:
        """Metrics that CloudWatch bills for these alarms."""
        return sum(len(alarm.all_metrics) for alarm in self.alarms)
