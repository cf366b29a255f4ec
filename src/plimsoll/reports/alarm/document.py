"""The document of alarms: what each watches, and what it would have done."""

from plimsoll.model.alarm import Alarm, AlarmHistory, AlarmSet
from plimsoll.model.ceiling import Family
from plimsoll.model.family import CREDITS, RATE_FAMILIES
from plimsoll.reports.document.parts import Cell, Column, Document, Paragraph, Section, Table, Tone, bullets_of
from plimsoll.reports.render.words import FAMILY_NAMES
from plimsoll.units import format_bytes_per_s, format_duration, format_ops_per_s, format_ratio, format_time, number

# AWS price list, usage type APS1-CW:AlarmMonitorUsage (standard resolution), queried on 2026-08-12 and quoted in a
# public repository: USD for one alarm metric and month. Other Regions may differ.
ALARM_USD_PER_METRIC = 0.10

FORMS = ("cli", "terraform", "cloudformation", "prometheus", "grafana", "json")


def alarm_document(found: AlarmSet, command: str = "plimsoll alarm TARGET") -> Document:
    """
    Return the alarms as a document.

    Args:
        found: alarms with their histories.
        command: the command line that was given, without a form.
    """
    window = ""
    if found.window_s is not None:
        window = f" · {_moment(found.window_s[0])} – {_moment(found.window_s[1])} UTC"
    notes = dict.fromkeys(alarm.note for alarm in found.alarms if alarm.note)
    return Document(
        kind="alarms",
        headline=_headline(found),
        simulated=("",) if found.is_simulated else (),
        parts=(
            Paragraph(text=f"{found.identifier} · {found.source}{window}", weight="quiet"),
            _table(found),
            Section(title="Good to know", parts=(bullets_of([*notes, *_remarks(found)]),)),
            Section(
                title="Left out",
                parts=(bullets_of([f"{one.name}: {one.why}." for one in found.left_out]),) if found.left_out else (),
            ),
            Section(title="Print them", parts=(bullets_of([f"{command} --format {form}" for form in FORMS]),)),
        ),
    )


def _remarks(found: AlarmSet) -> list[str]:
    count = found.billed_metric_count
    cost = (
        f"CloudWatch bills {count} alarm metrics: about USD {count * ALARM_USD_PER_METRIC:.2f} a month at "
        f"USD {ALARM_USD_PER_METRIC:.2f} each (AWS price list, ap-southeast-1, 2026-08-12). The first 10 of an "
        "account are free; other Regions may differ."
    )
    remarks = [
        "Each alarm looks at averages over 5 min. Shorter peaks do not set it off.",
        "Missing data is treated as missing: a stopped instance shows INSUFFICIENT_DATA, not OK.",
        cost,
    ]
    if any(not history.is_measured for history in found.histories):
        remarks.append("Not measured: this window has no samples of a metric of the alarm, or only coarse ones.")
    return remarks


def _headline(found: AlarmSet) -> str:
    noun = "alarm fits" if len(found.alarms) == 1 else "alarms fit"
    fits = f"{len(found.alarms)} {noun} the limits and balances of {found.identifier}"
    if not found.histories:
        return f"{fits}."
    if found.held_s is None or found.held_family is None:
        is_quiet = not any(history.fired_s for history in found.histories)
        done = "none would have gone off" if is_quiet else "some would have gone off"
        return f"{fits}; {done} in this window, and no lasting limit was reached."
    fired = [
        history.fired_s[0]
        for alarm, history in zip(found.alarms, found.histories, strict=True)
        if found.held_family in (alarm.family, CREDITS.get(alarm.family)) and history.fired_s
    ]
    limit = _limit(found.identifier, found.held_family)
    if not fired:
        return f"No alarm would have gone off when {limit}, first at {_moment(found.held_s)} UTC."
    lead_s = found.held_s - min(fired)
    side = "before" if lead_s >= 0 else "after"
    return f"An alarm would have gone off at {_moment(min(fired))} UTC, {format_duration(abs(lead_s))} {side} {limit}."


def _limit(identifier: str, family: Family) -> str:
    """Return how a limit held an instance, in the words of a diagnosis."""
    name = FAMILY_NAMES[family]
    if family in (*CREDITS.values(), Family.CPU_CREDITS):
        return f"{identifier} had no {name} left"
    if family in RATE_FAMILIES or family is Family.UNKNOWN:
        return f"the {name} held {identifier} back"
    return f"{identifier} was at the maximum of its {name}"


def _moment(epoch_s: int) -> str:
    return format_time(epoch_s)[:16].replace("T", " ")


def _table(found: AlarmSet) -> Table:
    columns = [Column(title="alarm", least=14), Column(title="goes off", least=12), Column(title="for", least=8)]
    if found.histories:
        columns.append(Column(title="in this window", least=16))
    rows: list[tuple[str | Cell, ...]] = []
    for at, alarm in enumerate(found.alarms):
        row: list[str | Cell] = [alarm.name, _condition(alarm), _lasting(alarm)]
        if found.histories:
            row.append(_done(alarm, found.histories[at]))
        rows.append(tuple(row))
    return Table(
        columns=tuple(columns), rows=tuple(rows), stacks=True, remarks=tuple(alarm.why for alarm in found.alarms)
    )


def _condition(alarm: Alarm) -> str:
    sign = "≤" if alarm.is_below else "≥"
    also = f", credits ≤ {format_ratio(alarm.balance_at_most)}" if alarm.balance else ""
    return f"{sign} {_amount(alarm)}{also}"


def _amount(alarm: Alarm) -> str:
    if alarm.unit == "bytes/s":
        return format_bytes_per_s(alarm.threshold)
    if alarm.unit == "ops/s":
        return format_ops_per_s(alarm.threshold)
    if alarm.unit == "ratio":
        return format_ratio(alarm.threshold)
    return number(alarm.threshold)


def _lasting(alarm: Alarm) -> str:
    needed, of = (n * alarm.period_s // 60 for n in (alarm.datapoints_to_alarm, alarm.evaluation_periods))
    return f"{needed} of {of} min"


def _done(alarm: Alarm, history: AlarmHistory) -> Cell:
    if not history.is_measured:
        return Cell("not measured", tone=Tone.UNKNOWN)
    if not history.fired_s:
        missed = "; the limit was reached" if history.reached_s is not None else ""
        return Cell(f"quiet{missed}", tone=Tone.NEAR if missed else Tone.PLAIN)
    times = "once" if len(history.fired_s) == 1 else f"{len(history.fired_s)} times"
    text = f"{times}, first {_moment(history.fired_s[0])}"
    if history.lead_s is not None:
        what = "it was empty" if alarm.is_below else "the limit was reached"
        side = "before" if history.lead_s >= 0 else "after"
        text += f", {format_duration(abs(history.lead_s))} {side} {what}"
    elif history.is_noisy:
        text += "; noisy: the limit was not reached"
    return Cell(text)
