"""The sections about waiting that no ceiling explains, and its possible causes."""

from collections.abc import Iterator

from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.waiting import CeilingShare, UnexplainedWaiting, WaitingCause
from plimsoll.reports.diagnosis.intervals import INTERVALS_SHOWN, NARROW, shorter, when_cell
from plimsoll.reports.document.parts import Cell, Column, Paragraph, Part, Section, Table, facts_of
from plimsoll.reports.render import words
from plimsoll.units import format_duration, format_latency, format_ratio, number

_TITLES = ("Waited", "Times", "Latency", "Queue")


def waiting_section(diagnosis: Diagnosis) -> Section:
    """Return the longest stretches in order of time, and a sentence about the others."""
    return Section(title="Waiting without a known ceiling", parts=tuple(_parts(diagnosis.waiting)), is_dense=True)


def possible_section(causes: tuple[WaitingCause, ...]) -> Section:
    """Return each possible cause with its check; those with evidence come first."""
    named = [
        (
            "Likely" if cause.has_evidence and index == 0 else "Possible",
            f"{words.sentence(cause.text)} To check: {words.sentence(cause.check)}",
        )
        for index, cause in enumerate(causes)
    ]
    return Section(title="Possible causes", parts=(facts_of(named, are_sentences=True),) if named else ())


def _parts(waiting: tuple[UnexplainedWaiting, ...]) -> Iterator[Part]:
    kept = sorted(waiting, key=lambda w: (-w.waiting_s, w.start_s))[:INTERVALS_SHOWN]
    kept.sort(key=lambda w: w.start_s)
    if not kept:
        return
    yield Table(
        columns=(
            Column(title="When (UTC)"),
            *(Column(title=title, is_number=True) for title in _TITLES),
            Column(title="Rate", is_number=True, from_width=NARROW),
        ),
        rows=tuple(tuple(_cells(one)) for one in kept),
        spans=tuple((one.start_s, one.end_s) for one in kept),
        stacks=True,
        gap=1,
    )
    left = len(waiting) - len(kept)
    if left:
        seconds = sum(w.waiting_s for w in waiting) - sum(w.waiting_s for w in kept)
        yield Paragraph(text=shorter(left, seconds))


def _cells(one: UnexplainedWaiting) -> Iterator[str | Cell]:
    yield when_cell(one.start_s, one.end_s)
    yield format_duration(one.waiting_s)
    yield number(one.times, 2)
    yield f"{format_latency(one.latency_reference_s)} → {format_latency(one.latency_s)}"
    yield words.quantity(one.queue_depth, "count")
    yield _share(one.shares[0]) if one.shares else _rates(one)


def _share(share: CeilingShare) -> str:
    """Return the highest share of a ceiling: `20 % of instance EBS IOPS baseline`."""
    name = words.limit_name(share.family, share.phase).replace(",", "")
    return f"{format_ratio(share.ratio)} of {name}"


def _rates(one: UnexplainedWaiting) -> str:
    return f"{words.quantity(one.bytes_per_s, 'bytes/s')}, {words.quantity(one.ops_per_s, 'ops/s')}"
