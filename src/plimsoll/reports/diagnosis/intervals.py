"""The section of the time at each ceiling, with the longest intervals."""

from collections.abc import Iterator

from plimsoll.model.diagnosis import CeilingTime, Diagnosis, Interval
from plimsoll.reports.diagnosis.headline import longest_intervals
from plimsoll.reports.document.parts import Cell, Column, Facts, Paragraph, Part, Section, Table
from plimsoll.reports.render import words
from plimsoll.reports.render.facts import Fact
from plimsoll.units import format_duration, format_ratio

# More rows than this are not read in an incident; the JSON form has all of them.
INTERVALS_SHOWN = 12
NARROW = 76
"""Below this width a table keeps only the columns that carry the verdict."""

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def intervals_section(diagnosis: Diagnosis) -> Section:
    """Return the time at each ceiling, and the longest intervals in order of time."""
    count, listed = len(diagnosis.intervals), longest_intervals(diagnosis.intervals, INTERVALS_SHOWN)
    which = f"the {len(listed)} longest of {count}" if count > len(listed) else f"{count}"
    return Section(
        title=f"Time at a ceiling: {which} {'interval' if count == 1 else 'intervals'}",
        parts=tuple(_parts(diagnosis, listed)) if listed else (),
        is_dense=True,
    )


def is_finer(interval: Interval, step_s: int) -> bool:
    """Return whether an interval was seen in finer samples than those of the window."""
    return 0 < interval.step_s < step_s


def when_cell(start_s: float, end_s: float) -> Cell:
    """Return a time; a terminal leaves out the year, which the report has already."""
    return Cell(words.span(start_s, end_s), brief=words.short_span(start_s, end_s))


def shorter(count: int, seconds: float) -> str:
    """Return how many intervals are not listed, and how long they are in all."""
    noun = "interval" if count == 1 else "intervals"
    return f"and {count} shorter {noun}, {format_duration(seconds)} in total"


def _parts(diagnosis: Diagnosis, listed: tuple[Interval, ...]) -> Iterator[Part]:
    yield Facts(facts=tuple(_time_at(at, diagnosis) for at in diagnosis.time_at), are_sentences=True)
    remarked = [_remark(one, diagnosis.step_s) for one in listed]
    remarks = list(dict.fromkeys(filter(None, remarked)))
    yield Table(
        columns=(
            Column(title="When (UTC)"),
            Column(title="Long", is_number=True),
            Column(title="Served", is_number=True),
            Column(title="Limit"),
            Column(title="Sure", is_number=True, from_width=NARROW),
        ),
        rows=tuple(
            (
                when_cell(one.start_s, one.end_s),
                format_duration(one.end_s - one.start_s),
                words.level_with_error(one),
                _limit(one, _sign(remarks.index(remark)) if remark else ""),
                words.confidence(one.confidence),
            )
            for one, remark in zip(listed, remarked, strict=True)
        ),
        spans=tuple((one.start_s, one.end_s) for one in listed),
        stacks=True,
        gap=1,
    )
    for index, remark in enumerate(remarks):
        yield Paragraph(text=f"{_sign(index)} {words.sentence(remark)}")
    left = len(diagnosis.intervals) - len(listed)
    if left:
        seconds = sum(i.end_s - i.start_s for i in diagnosis.intervals)
        yield Paragraph(text=shorter(left, seconds - sum(i.end_s - i.start_s for i in listed)))


def _limit(interval: Interval, sign: str) -> Cell:
    limit = (interval.family, interval.phase, interval.former_phase)
    return Cell(words.limit_name(*limit) + sign, brief=words.short_limit_name(*limit) + sign)


def _remark(interval: Interval, step_s: int) -> str:
    """Return what a reader must know of it: `lazy loading after a restore; seen at 1 s`; may be empty."""
    remarks = [words.plain(interval.context)] if interval.context else []
    if is_finer(interval, step_s):
        remarks.append(f"seen at {format_duration(interval.step_s)}")
    return "; ".join(remarks)


def _sign(index: int) -> str:
    """Return the raised number of a remark that rows share: `¹`."""
    return str(index + 1).translate(_RAISED)


def _time_at(at: CeilingTime, diagnosis: Diagnosis) -> Fact:
    legacy = at.ceiling.former_phase if at.ceiling else None
    rate = words.ceiling_value(at.ceiling) if at.ceiling else words.level(at.level, at.dimension)
    noun = "interval" if at.interval_count == 1 else "intervals"
    time = f"{format_duration(at.seconds)} ({format_ratio(at.seconds / diagnosis.span_s)} of the window)"
    return Fact(f"{words.limit_name(at.family, at.phase, legacy)}, {rate}", f"{time} in {at.interval_count} {noun}")
