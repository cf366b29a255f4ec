"""
A diagnosis in one screen: verdict, ceiling, since when, whether it lasts, how sure, first step.

Claims are those of the whole report; this file chooses among them.
"""

from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import CeilingTime, Diagnosis, Interval, Resource, Verdict
from plimsoll.model.nearest import nearest_resource
from plimsoll.model.now import intervals_at, open_at, reaches_end
from plimsoll.model.plan import Plan
from plimsoll.model.waiting import longest_of, waiting_s_of
from plimsoll.reports.diagnosis.document import missing_facts, moves_of
from plimsoll.reports.diagnosis.headline import peak_ratio, shown_interval, unjudged
from plimsoll.reports.plan.brief import way_past
from plimsoll.reports.render import words
from plimsoll.reports.render.brief import Brief
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.terminal import STYLES
from plimsoll.units import format_duration, format_ratio, number

# More names than this are not read at a glance.
_NAMES_SHOWN = 3


def diagnosis_brief(diagnosis: Diagnosis, plan: Plan | None = None) -> Brief:
    """
    Return the brief report of a diagnosis.

    Args:
        diagnosis: what was found.
        plan: the plan of the same run; None adds no price.
    """
    rows = [*_facts(diagnosis), Fact("First step", _first_step(diagnosis))]
    way = way_past(plan) if plan is not None else None
    if way is not None:
        text = ", ".join(part for part in (way.price, way.chance) if part)
        rows.append(Fact("Way past", f"{way.title}: {text}"))
    return Brief(
        title=verdict_title(diagnosis),
        style=STYLES[diagnosis.verdict],
        is_simulated=diagnosis.is_simulated,
        rows=tuple(row for row in rows if row.value),
    )


def verdict_title(diagnosis: Diagnosis) -> str:
    """Return the verdict with its sign and the instance: `▲ At a limit now: orders (db.r5.2xlarge)`."""
    about = words.subject(diagnosis.instance)
    return f"{words.VERDICT_SIGNS[diagnosis.verdict]} {verdict_in_words(diagnosis)}: {about}"


def verdict_in_words(diagnosis: Diagnosis) -> str:
    """Return the verdict in a few words; *now* stands only for what lasted to the end of the data."""
    match diagnosis.verdict:
        case Verdict.BINDS if diagnosis.binding and _is_open(diagnosis, diagnosis.binding):
            return "At a limit now"
        case Verdict.BINDS:
            return "Was at a limit"
        case Verdict.NEAR:
            return "Near a limit"
        case Verdict.SLACK if unjudged(diagnosis):
            return "No sign of a limit"
        case Verdict.SLACK:
            return "Not at any limit"
    return "Requests waited, cause unknown" if diagnosis.waiting else "Verdict unknown"


def _facts(diagnosis: Diagnosis) -> list[Fact]:
    binding, shown = diagnosis.binding, shown_interval(diagnosis)
    if diagnosis.verdict is Verdict.BINDS and binding is not None and shown is not None:
        return [
            Fact("Ceiling", _ceiling(binding)),
            _since(diagnosis, binding, shown),
            Fact("Now", _now(diagnosis, binding)),
            Fact("How sure", words.confidence(shown.confidence)),
        ]
    if diagnosis.verdict is Verdict.UNKNOWN and diagnosis.waiting:
        return _waited(diagnosis)
    if diagnosis.verdict is Verdict.UNKNOWN:
        # Its remedy is the first step.
        return [Fact("Not known", "; ".join(gap.name for gap in missing_facts(diagnosis.missing)[:_NAMES_SHOWN]))]
    return [
        Fact("Nearest" if diagnosis.verdict is Verdict.SLACK else "Ceiling", _nearest(diagnosis)),
        Fact("Now", _now_elsewhere(diagnosis)),
        Fact("How sure", _measured(diagnosis)),
    ]


def _ceiling(binding: CeilingTime) -> str:
    if binding.ceiling is None:
        return f"unknown limit, {words.level(binding.level, binding.dimension)}"
    return f"{words.ceiling_name(binding.ceiling)}, {words.ceiling_value(binding.ceiling)}"


def _since(diagnosis: Diagnosis, binding: CeilingTime, shown: Interval) -> Fact:
    noun = "interval" if binding.interval_count == 1 else "intervals"
    total = (
        f"{format_duration(binding.seconds)} of {format_duration(diagnosis.span_s)} in {binding.interval_count} {noun}"
    )
    if _is_open(diagnosis, binding):
        last = max(intervals_at(diagnosis, binding), key=lambda i: i.end_s)
        return Fact("Since", f"{words.moment(last.start_s)} UTC; {total}")
    when = f"{words.span(shown.start_s, shown.end_s)} UTC"
    return Fact("When", f"{when}; {total}" if binding.interval_count == 1 else f"{total}, the longest {when}")


def _is_open(diagnosis: Diagnosis, binding: CeilingTime) -> bool:
    return any(reaches_end(diagnosis, i.end_s) for i in intervals_at(diagnosis, binding))


def _now(diagnosis: Diagnosis, binding: CeilingTime) -> str:
    end_s = diagnosis.window_s[1]
    if _is_open(diagnosis, binding):
        return f"yes, up to the last data ({words.moment(end_s)} UTC)"
    ended_s = max((i.end_s for i in intervals_at(diagnosis, binding)), default=end_s)
    now = open_at(diagnosis)
    also = f"; now at its {_ceiling(now)}" if now else ""
    return _ended(ended_s, end_s) + also


def _ended(ended_s: int, end_s: int) -> str:
    ago = format_duration(end_s - ended_s)
    return f"no, ended {ago} before the last data ({words.moment(end_s)} UTC)"


def _now_elsewhere(diagnosis: Diagnosis) -> str:
    """Return whether a resource without intervals is at its limit; it is judged over the whole window."""
    end = f"the data ends {words.moment(diagnosis.window_s[1])} UTC"
    if diagnosis.verdict is Verdict.BINDS:
        return f"unknown: it is judged over the whole window; {end}"
    return f"not at a limit; {end}"


def _nearest(diagnosis: Diagnosis) -> str:
    """Return the resources of the verdict, or the one with the least headroom, with their numbers."""
    mine = [r for r in diagnosis.resources if r.verdict is diagnosis.verdict]
    known = sorted((r for r in mine if peak_ratio(r) is not None), key=lambda r: -(peak_ratio(r) or 0.0))
    if diagnosis.verdict is Verdict.SLACK:
        nearest = nearest_resource(diagnosis.resources)
        known = [r for r in known if nearest is not None and r.family is nearest.family]
    shown = [_peak(r) for r in known[:_NAMES_SHOWN]]
    return "; ".join(shown) or words.series_of([words.plain(r.name) for r in mine] or ["unknown"])


def _peak(resource: Resource) -> str:
    assert resource.ceiling is not None
    ratio = peak_ratio(resource) or 0.0
    peak = words.quantity(resource.peak, resource.unit)
    ceiling = words.ceiling_value(resource.ceiling, as_sold=False)
    above = resource.minutes_above_80
    text = f"{words.plain(resource.name)}: peak {peak}"
    if resource.unit != "ratio":
        text += f" of {ceiling} ({format_ratio(ratio)})"
    return text + (f", above 80 % for {format_duration(above * 60)}" if above else "")


def _measured(diagnosis: Diagnosis) -> str:
    """Return what the verdict rests on: the measured time, and what was not judged."""
    measured, span = format_duration(diagnosis.measured_s), format_duration(diagnosis.span_s)
    text = f"storage measured for {measured} of {span}"
    names = [words.plain(gap.name) for gap in diagnosis.missing]
    if not names:
        return text
    rest = [f"{len(names) - _NAMES_SHOWN} more"] if len(names) > _NAMES_SHOWN else []
    return f"{text}; missing: {words.series_of(names[:_NAMES_SHOWN] + rest)}"


def _waited(diagnosis: Diagnosis) -> list[Fact]:
    waiting, end_s = diagnosis.waiting, diagnosis.window_s[1]
    last = max(waiting, key=lambda w: w.end_s)
    is_open = reaches_end(diagnosis, last.end_s)
    total = f"{format_duration(waiting_s_of(waiting))} of {format_duration(diagnosis.span_s)}"
    now = f"yes, up to the last data ({words.moment(end_s)} UTC)"
    causes = diagnosis.waiting_causes[:1]
    return [
        Fact("Ceiling", "no documented limit explains it"),
        Fact("Latency", f"{number(longest_of(waiting).times, 2)} times normal"),
        Fact("Since", f"{words.moment(last.start_s)} UTC; {total} in all")
        if is_open
        else Fact("When", f"{total}, the last {words.span(last.start_s, last.end_s)} UTC"),
        Fact("Now", now if is_open else _ended(last.end_s, end_s)),
        *(Fact("Likely" if cause.has_evidence else "Possible", words.sentence(cause.text)) for cause in causes),
    ]


def _first_step(diagnosis: Diagnosis) -> str:
    moves = guarded("what to do first", lambda: moves_of(diagnosis), ())
    if moves:
        return moves[0]
    if diagnosis.verdict is Verdict.UNKNOWN and diagnosis.waiting_causes:
        return words.sentence(diagnosis.waiting_causes[0].check)
    if diagnosis.verdict is Verdict.UNKNOWN:
        hiding = [gap for gap in diagnosis.missing if gap.hides == "verdict"] or diagnosis.missing
        return words.sentence(hiding[0].remedy) if hiding else ""
    if diagnosis.verdict is Verdict.NEAR:
        return "None needed now; reduce or plan for it before demand grows."
    return "None needed." if diagnosis.verdict is Verdict.SLACK else "Read the whole report."
