"""
Alarms as JSON: the form `plimsoll.alarms/1`, described in docs/reference/alarms-json.md.

Rule: every field is always there; what is not known is null.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.alarm import AlarmHistory, AlarmKind, AlarmSet
from plimsoll.model.ceiling import Family
from plimsoll.reports.render.json_values import (
    Count,
    Moment,
    Positive,
    Ratio,
    WindowObject,
    json_text,
    same_fields,
    window_object,
)
from plimsoll.units import format_time

AlarmFamily = Literal[
    "instance_ebs_throughput", "instance_ebs_iops", "volume_throughput", "volume_iops", "cpu_credits", "connections"
]
AlarmBalance = Literal["byte_balance_ratio", "io_balance_ratio", "volume_balance_ratio"]
AlarmMetric = Literal[
    "read_bytes_per_s",
    "write_bytes_per_s",
    "read_ops_per_s",
    "write_ops_per_s",
    "byte_balance_ratio",
    "io_balance_ratio",
    "volume_balance_ratio",
    "cpu_credits",
    "connection_count",
]


class AlarmHistoryObject(Struct, frozen=True, kw_only=True):
    """What an alarm would have done in the window."""

    is_measured: bool
    """Whether its metrics were measured at its period or finer; if not, the rest says nothing."""
    fired: tuple[Moment, ...]
    """Each moment at which it would have gone off."""
    reached: Moment | None
    """When its ceiling was first reached or its balance was first empty; null if never."""
    lead_s: int | None
    """Seconds from the first alarm to that moment, negative if the alarm came later; null if either is
    missing."""
    is_noisy: bool
    """Whether it went off several times without such a moment."""


class AlarmObject(Struct, frozen=True, kw_only=True):
    """One alarm. It looks at averages over `period_s`."""

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
    is_below: bool
    """Whether it goes off at or below `threshold`; otherwise at or above it."""
    threshold: Positive
    """The number, in `unit`."""
    ceiling: float | None
    """The number of the limit, in `unit`; null for a balance in percent."""
    unit: Literal["bytes/s", "ops/s", "count", "ratio", "credits"]
    """Unit of `threshold` and `ceiling`."""
    balance: AlarmBalance | None
    """Credits that must also be at or below `balance_at_most`; null without such a condition."""
    balance_at_most: Ratio | None
    """The most that may be left of them; null without such a condition."""
    period_s: Count
    """Length of a period, in seconds."""
    datapoints_to_alarm: Count
    """Periods that must be at the threshold."""
    evaluation_periods: Count
    """The newest periods, among which they must be."""
    why: str
    """What it means when the alarm goes off; a sentence."""
    note: str
    """A remark about the number; may be empty."""
    history: AlarmHistoryObject | None
    """What it would have done in the window; null without measurements."""


class LeftOutAlarmObject(Struct, frozen=True, kw_only=True):
    """An alarm that would never go off, or that cannot be set."""

    name: str
    """What it would watch."""
    why: str
    """Why there is none; a clause."""


class AlarmsDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll alarms for the limits of an instance.

    What `plimsoll alarm --format json` writes. Every field is always present; null means not known
    or does not apply. Bytes, operations, seconds and ratios 0–1, unrounded.
    """

    schema: Literal["plimsoll.alarms/1"] = "plimsoll.alarms/1"
    """Name and version of this form."""
    identifier: str
    """Identifier of the instance."""
    source: str
    """Where the measurements come from."""
    is_simulated: bool
    """Whether they come from a simulator."""
    window: WindowObject | None
    """What the histories cover; null without measurements."""
    held: Moment | None
    """When a limit that lasts (a baseline or a fixed number, not a burst) was first reached; null if never."""
    held_family: Family | None
    """Family of that limit; null if never."""
    alarms: tuple[AlarmObject, ...]
    """The alarms."""
    left_out: tuple[LeftOutAlarmObject, ...]
    """Alarms that do not fit this instance."""
    billed_metric_count: Count
    """Metrics that CloudWatch bills for these alarms."""


def render_alarms_json(found: AlarmSet) -> str:
    """Return the alarms of an instance as JSON."""
    histories = found.histories or (None,) * len(found.alarms)
    alarms = tuple(
        same_fields(
            AlarmObject,
            alarm,
            balance_at_most=None if alarm.balance is None else alarm.balance_at_most,
            history=None if history is None else _history(history),
        )
        for alarm, history in zip(found.alarms, histories, strict=True)
    )
    return json_text(
        same_fields(
            AlarmsDocument,
            found,
            window=None if found.window_s is None else window_object(found.window_s),
            held=_moment(found.held_s),
            alarms=alarms,
        )
    )


def _history(history: AlarmHistory) -> AlarmHistoryObject:
    return same_fields(
        AlarmHistoryObject,
        history,
        fired=tuple(format_time(at) for at in history.fired_s),
        reached=_moment(history.reached_s),
    )


def _moment(epoch_s: int | None) -> str | None:
    return None if epoch_s is None else format_time(epoch_s)
