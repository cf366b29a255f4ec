"""
The verdict of a diagnosis in one plain sentence with number, unit and time.

Rule 1: *is* stands only for what lasted to the end of the window, and the sentence dates that end;
        everything else *was*, and the sentence says until when. model/now.py has the rule.
"""

from plimsoll.model.ceiling import Dimension, Family
from plimsoll.model.diagnosis import (
    FITTING,
    LATE_SHARE,
    SHORT_WINDOW,
    CeilingTime,
    Diagnosis,
    Interval,
    Resource,
    Verdict,
)
from plimsoll.model.family import CREDITS
from plimsoll.model.nearest import nearest_resource
from plimsoll.model.now import intervals_at, open_at, reaches_end, second_of
from plimsoll.model.waiting import longest_of, waiting_s_of
from plimsoll.reports.render import words
from plimsoll.units import format_duration, format_ratio, number

# Enforced rates vary by about a percent.
TOUCHED_RATIO = 0.98
WITHOUT_CREDITS = frozenset((*CREDITS.values(), Family.CPU_CREDITS))


def headline(diagnosis: Diagnosis) -> str:
    """Return the verdict in one plain sentence with number, unit and time."""
    about = words.subject(diagnosis.instance)
    window = _window(diagnosis)
    if diagnosis.verdict is Verdict.BINDS and diagnosis.binding:
        return _bound(about, diagnosis.binding, window, diagnosis)
    if diagnosis.verdict is Verdict.BINDS:
        return f"{about} was up against its {_names(diagnosis, Verdict.BINDS)} in {window}."
    if diagnosis.verdict is Verdict.NEAR:
        tail, touched = unjudged(diagnosis), _touched(diagnosis)
        if touched:
            whole = words.series_of(touched)
            return f"{about} used all of its {whole} at times in {window}{tail}, but its requests did not wait."
        near = _names(diagnosis, Verdict.NEAR) or "a resource"
        return f"{about} reached no limit{tail} in {window}, but came near its {near}."
    if diagnosis.verdict is Verdict.SLACK and unjudged(diagnosis):
        return f"{about} showed no sign of a limit in {window}{unjudged(diagnosis)}."
    if diagnosis.verdict is Verdict.SLACK:
        return f"{about} was not up against any limit in {window}{_nearest(diagnosis)}."
    if diagnosis.waiting:
        return _waited(about, window, diagnosis)
    if any(gap.name == FITTING for gap in diagnosis.missing):
        return f"{about} served more in {window} than its limits allow: class, storage or a unit is not what was given."
    gap = _gap(diagnosis)
    near = _names(diagnosis, Verdict.NEAR)
    if near:
        return f"{about} came near its {near} in {window}; we cannot say whether it was up against a limit{gap}."
    return f"We cannot say whether {about} was up against a limit in {window}{gap}."


def _window(diagnosis: Diagnosis) -> str:
    """Return `12 h`, or `the 8 h 40 min measured of 12 h`: what was not measured is not spoken about."""
    span = format_duration(diagnosis.span_s)
    measured = format_duration(diagnosis.measured_s)
    is_whole = diagnosis.measured_s >= (1 - LATE_SHARE) * diagnosis.span_s or measured == span
    return span if is_whole or diagnosis.measured_s <= 0 else f"the {measured} measured of {span}"


def shown_interval(diagnosis: Diagnosis) -> Interval | None:
    """Return the interval that represents the verdict: the longest at the binding ceiling."""
    binding = diagnosis.binding
    chosen = diagnosis.intervals
    if binding is not None:
        chosen = tuple(i for i in chosen if _is_at(i, binding)) or chosen
    return next(iter(longest_intervals(chosen, 1)), None)


def longest_intervals(intervals: tuple[Interval, ...], count: int) -> tuple[Interval, ...]:
    """Return the `count` longest intervals in order of time."""
    kept = sorted(intervals, key=lambda i: (i.start_s - i.end_s, i.start_s))[:count]
    return tuple(sorted(kept, key=lambda i: (i.start_s, i.end_s)))


def peak_ratio(resource: Resource) -> float | None:
    """Return peak ÷ ceiling, where both are known."""
    if resource.peak is None or resource.ceiling is None or resource.ceiling.value <= 0:
        return None
    return resource.peak / resource.ceiling.value


def _is_at(interval: Interval, at: CeilingTime) -> bool:
    same = interval.family is at.family and interval.dimension is at.dimension
    return same and interval.phase is at.phase and interval.ceiling == at.ceiling


def _bound(about: str, binding: CeilingTime, window: str, diagnosis: Diagnosis) -> str:
    verb, when = _when(binding, diagnosis)
    time = f"for {format_duration(binding.seconds)} of {window}{when}"
    ceiling = binding.ceiling
    if ceiling is None or binding.family is Family.UNKNOWN:
        shown = shown_interval(diagnosis)
        what = "a throughput" if binding.dimension is Dimension.THROUGHPUT else "an IOPS"
        rate = words.level(binding.level, binding.dimension)
        tail = f" ({words.plain(shown.context)})" if shown and shown.context else ""
        return f"{about} {verb} up against {what} limit of unknown origin: {rate} {time}{tail}."
    if binding.family in WITHOUT_CREDITS:
        has = "has" if verb == "is" else "had"
        name, value = words.FAMILY_NAMES[binding.family], words.ceiling_value(ceiling)
        return f"{about} {has} no {name} left {time}; its baseline of {value} applies."
    return f"{about} {verb} up against its {_limit(binding)} {time}{_second(diagnosis)}."


def _second(diagnosis: Diagnosis) -> str:
    """Return the ceiling that bound for about as long, as the end of a sentence."""
    second = second_of(diagnosis)
    if second is None or second.ceiling is None or second == open_at(diagnosis):
        return ""
    time = format_duration(second.seconds)
    if second.family in WITHOUT_CREDITS:
        return f"; it had no {words.FAMILY_NAMES[second.family]} left for {time}"
    return f"; and against its {_limit(second)} for {time}"


def _limit(at: CeilingTime) -> str:
    """Return `instance EBS throughput: 212.5 MB/s (legacy baseline)`."""
    ceiling = at.ceiling
    if ceiling is None:
        return f"unknown limit: {words.level(at.level, at.dimension)}"
    kind = words.phase_name(ceiling.phase, ceiling.former_phase)
    name, value = words.FAMILY_NAMES[ceiling.family], words.ceiling_value(ceiling)
    return f"{name}: {value}{f' ({kind})' if kind else ''}"


def _when(binding: CeilingTime, diagnosis: Diagnosis) -> tuple[str, str]:
    """Return the verb, and since or until when: relative to the end of the window, with its date."""
    mine = intervals_at(diagnosis, binding)
    if not mine:
        return "was", ""
    last = max(mine, key=lambda i: (i.end_s, i.start_s))
    end_s = diagnosis.window_s[1]
    if reaches_end(diagnosis, last.end_s):
        since = f"since {words.moment(last.start_s)} and" if len(mine) == 1 else "and"
        return "is", f", {since} still at the end ({words.moment(end_s)})"
    ago = format_duration(end_s - last.end_s)
    text = f", until {words.moment(last.end_s)} ({ago} before the end)"
    now = open_at(diagnosis)
    return "was", text + (f"; at the end it is at its {_limit(now)}" if now else "")


def _waited(about: str, window: str, diagnosis: Diagnosis) -> str:
    waiting = diagnosis.waiting
    time = f"for {format_duration(waiting_s_of(waiting))} of {window}"
    ended_s = max(w.end_s for w in waiting)
    when = (
        f"and still at the end ({words.moment(diagnosis.window_s[1])})"
        if reaches_end(diagnosis, ended_s)
        else f"until {words.moment(ended_s)}"
    )
    return (
        f"Storage latency of {about} was {number(longest_of(waiting).times, 2)} times normal {time}, {when}; no "
        "documented limit explains it."
    )


def _gap(diagnosis: Diagnosis) -> str:
    """Return why there is no verdict, as the end of a sentence."""
    hiding = [m for m in diagnosis.missing if m.hides == "verdict"]
    names = [words.plain(m.name) for m in hiding or diagnosis.missing if m.name != SHORT_WINDOW]
    is_short = any(m.name == SHORT_WINDOW for m in hiding)
    parts = ["the window is too short"] if is_short else []
    if names:
        rest = [f"{len(names) - 3} more"] if len(names) > 3 else []
        # A name may be that of several metrics.
        verb = "is" if len(names) == 1 and " and " not in names[0] else "are"
        parts.append(f"{words.series_of(names[:3] + rest)} {verb} missing")
    return f": {', and '.join(parts)}" if parts else ""


def unjudged(diagnosis: Diagnosis) -> str:
    """Return the missing facts without which some limits are unknown, in brackets."""
    bought = ("instance class", "storage type and size")
    gaps = [gap.name for gap in diagnosis.missing if gap.name in bought]
    return f" (some limits unknown: {words.series_of(gaps)} missing)" if gaps else ""


def _names(diagnosis: Diagnosis, verdict: Verdict) -> str:
    found = [words.plain(r.name) for r in diagnosis.resources if r.verdict is verdict]
    return words.series_of(found) if found else ""


def _touched(diagnosis: Diagnosis) -> list[str]:
    """Return the rates that were at their ceiling for a hundredth of the window, and are near because nothing waited."""
    return [
        words.plain(r.name)
        for r in diagnosis.resources
        if r.verdict is Verdict.NEAR and r.ceiling and r.ceiling.dimension is not Dimension.AMOUNT and r.p99 is not None
        if r.p99 >= TOUCHED_RATIO * r.ceiling.value
    ]


def _nearest(diagnosis: Diagnosis) -> str:
    """Return the measured resource with the least headroom, as the end of a sentence."""
    found = nearest_resource(diagnosis.resources)
    if found is None:
        return ""
    ratio = format_ratio(found.peak_ratio)
    return f"; {words.plain(found.name)} came nearest, at {ratio} of its ceiling"
