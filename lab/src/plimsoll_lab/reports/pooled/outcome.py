"""The part of the report that says what was reached, and which processor time it took."""

from collections.abc import Iterator

from plimsoll.reports.document.parts import Column, Paragraph, Part, Section, Table
from plimsoll.units import format_ratio, number
from plimsoll_lab.model.pooled import PooledOutcome
from plimsoll_lab.reports.pooled import words

# A judgement: above it the processors are busy all the time, but for the moments in which everyone waits for a lock.
_BUSY = 0.9
# A judgement: less is what any machine does beside its work.
_OTHERS = 0.05
_OTHER_PROGRAMS = "other programs"


def outcome_section(outcome: PooledOutcome) -> Section:
    """Return the comparison of the end with the storm, and who spent the processors."""
    return Section(title="What was reached", parts=tuple(_parts(outcome)))


def _parts(outcome: PooledOutcome) -> Iterator[Part]:
    yield Paragraph(text=verdict(outcome), weight="strong")
    rows = [(name, text, wanted) for name, text, wanted in _rows(outcome)]
    columns = (Column(title="Measured"), Column(title="Here"), Column(title="Wanted"))
    yield Table(columns=columns, rows=tuple(rows))
    yield Paragraph(text=target_words(outcome))
    yield Table(
        columns=(
            Column(title="Program"),
            Column(title=f"Share of {outcome.processor_count} processors", is_number=True),
        ),
        rows=tuple((name, format_ratio(share)) for name, share in outcome.processors.items()),
    )


def _rows(outcome: PooledOutcome) -> Iterator[tuple[str, str, str]]:
    yield "useful queries per second in the storm", f"{outcome.storm_useful_per_s:,.0f}", ""
    yield "useful queries per second at the end", f"{outcome.end_useful_per_s:,.0f}", ""
    ratio = words.UNKNOWN if outcome.ratio is None else number(outcome.ratio, 2)
    yield "ratio of the two", ratio, f"at least {outcome.ratio_wanted:g}"
    wanted = f"at least {outcome.queries_wanted_per_s:,.0f}"
    yield "queries per second at the end", f"{outcome.end_queries_per_s:,.0f}", wanted
    if outcome.other_useful_per_s is not None:
        name = "useful queries per second through PgBouncer"
        yield name, f"{outcome.other_useful_per_s:,.0f}", ""


def verdict(outcome: PooledOutcome) -> str:
    """Return whether the published figures were reached, and otherwise what the limit is."""
    if outcome.is_reached:
        return "The published figures were reached."
    busy = sum(outcome.processors.values())
    if busy < _BUSY:
        return (
            f"The published figures were not reached. The processors were {format_ratio(busy)} busy at the end, so "
            "they are not the limit."
        )
    others = outcome.processors.get(_OTHER_PROGRAMS, 0.0)
    text = (
        "The published figures were not reached. The processors are the limit: "
        f"{format_ratio(busy)} of {outcome.processor_count} were busy at the end."
    )
    if others >= _OTHERS:
        text += f" Other programs took {format_ratio(others)}."
    return text


def target_words(outcome: PooledOutcome) -> str:
    """Return which rate arrived at the end, and what this machine carries."""
    target = f"At the end {number(outcome.target_per_s, 3)} business transactions arrive per second"
    if outcome.carried_per_s is None:
        return f"{target}, as published."
    return (
        f"{target}, as published. By the processor time that one took there, this machine carries "
        f"{number(outcome.carried_per_s, 3)}."
    )
