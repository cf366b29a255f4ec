"""Alarms on the ceilings and balances of one instance, and what they would have done."""

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from plimsoll.model.ceiling import Family
from plimsoll.model.metric import METRICS, Metric


class AlarmKind(StrEnum):
    """What an alarm watches."""

    RATE = "rate"
    """A use, reads and writes together, near a limit."""
    BASELINE = "baseline"
    """A use near a baseline while few credits are left to exceed it."""
    BALANCE = "balance"
    """Credits that are running out."""


class Alarm(Struct, frozen=True, kw_only=True):
    """One alarm, whatever system evaluates it. Values are in our units."""

    key: str
    """Unique among the alarms of an instance: lower-case letters, digits and hyphens."""
    name: str
    """What is watched, for people: `instance EBS throughput, baseline`."""
    kind: AlarmKind
    family: Family
    metrics: tuple[Metric, ...]
    """Metrics whose sum is compared: reads and writes share every limit."""
    threshold: float
    """The alarm goes off at or above it; for a balance, at or below it."""
    ceiling: float | None
    """The number of the limit; None for a balance in percent."""
    unit: Literal["bytes/s", "ops/s", "count", "ratio", "credits"]
    balance: Metric | None = None
    """Condition in addition: credits at or below `balance_at_most`; None for no such condition."""
    balance_at_most: float = 0.0
    """Ratio 0–1."""
    period_s: int
    datapoints_to_alarm: int
    evaluation_periods: int
    """Of the last `evaluation_periods` periods, `datapoints_to_alarm` must be at the threshold."""
    why: str
    """One sentence: what it means when the alarm goes off."""
    note: str = ""
    """A remark about the number, for example on legacy limits; a sentence."""

    @property
    def is_below(self) -> bool:
        """Return whether low values set the alarm off."""
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
    why: str
    """A clause that completes `NAME: …`."""


class AlarmHistory(Struct, frozen=True, kw_only=True):
    """What an alarm would have done in a window."""

    is_measured: bool
    """Whether its metrics were measured at its period or finer."""
    fired_s: tuple[int, ...] = ()
    """Moments at which it would have gone off, epoch seconds."""
    reached_s: int | None = None
    """When its ceiling was first reached or its balance was first empty, epoch seconds; None if never."""
    is_noisy: bool = False
    """Whether it went off several times without such a moment."""

    @property
    def lead_s(self) -> int | None:
        """Return the seconds from the first alarm to that moment; None if either is missing."""
        if not self.fired_s or self.reached_s is None:
            return None
        return self.reached_s - self.fired_s[0]


class AlarmSet(Struct, frozen=True, kw_only=True):
    """The alarms for one instance."""

    identifier: str
    source: str
    is_simulated: bool
    window_s: tuple[int, int] | None
    """The window of the histories, epoch seconds [start, end); None without measurements."""
    alarms: tuple[Alarm, ...]
    histories: tuple[AlarmHistory, ...]
    """One for each alarm; empty without measurements."""
    left_out: tuple[LeftOutAlarm, ...]
    held_s: int | None = None
    """When a limit that lasts (a baseline or a fixed number, not a burst) was first reached, epoch seconds."""
    held_family: Family | None = None
    """Family of that limit."""

    @property
    def billed_metric_count(self) -> int:
        """Return the metrics that CloudWatch bills for these alarms."""
        return sum(len(alarm.all_metrics) for alarm in self.alarms)
