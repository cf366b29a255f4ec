"""
Alarms as JSON: the form `plimsoll.alarms/1`, described in docs/reference/alarms-json.md.

Rule: every field is always there; what is not known is null.
"""

from typing import ClassVar, Literal

from msgspec import Struct

from plimsoll.model.alarm import Alarm, AlarmHistory, AlarmSet
from plimsoll.model.written import Inline, Ratio
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_text


class AlarmObject(Struct, frozen=True, kw_only=True):
    """One alarm. It looks at averages over `period_s`."""

    alarm: Inline[Alarm]
    balance_at_most: Ratio | None
    """The most that may be left of them; null without such a condition."""
    history: AlarmHistory | None
    """What it would have done in the window; null without measurements."""


class AlarmsDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll alarms for the limits of an instance.

    What `plimsoll alarm --format json` writes. Every field is always present; null means not known
    or does not apply. Bytes, operations, seconds and ratios 0–1, unrounded.
    """

    LEFT_OUT: ClassVar = {AlarmSet: ("histories",)}

    schema: Literal["plimsoll.alarms/1"] = "plimsoll.alarms/1"
    """Name and version of this form."""
    found: Inline[AlarmSet]
    alarms: tuple[AlarmObject, ...]
    """The alarms."""


def render_alarms_json(found: AlarmSet) -> str:
    """Return the alarms of an instance as JSON."""
    histories = found.histories or (None,) * len(found.alarms)
    alarms = tuple(
        AlarmObject(alarm=alarm, history=history, balance_at_most=alarm.balance_at_most if alarm.balance else None)
        for alarm, history in zip(found.alarms, histories, strict=True)
    )
    return json_text(AlarmsDocument(found=found, alarms=alarms))
