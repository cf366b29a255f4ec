"""The section of the caller's own events: when they ran, their I/O, and their time at a ceiling."""

from collections.abc import Iterator

from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.own_event import OwnEventIo, OwnEventName, OwnEventsIo
from plimsoll.reports.document.parts import Cell, Column, Paragraph, Part, Section, Table, bullets_of
from plimsoll.reports.render import words
from plimsoll.units import format_bytes, format_duration, format_ratio

# More rows than this are not read in an incident; the JSON form has all of them.
EVENTS_SHOWN = 12
# Names with a sentence and a row of the chart: each takes a line.
NAMES_SHOWN = 6


def own_events_section(own: OwnEventsIo, diagnosis: Diagnosis) -> Section:
    """Return the events with the I/O of their time."""
    return Section(title="Your events", parts=tuple(_parts(own, diagnosis)))


def shown_names(own: OwnEventsIo | None) -> tuple[OwnEventName, ...]:
    """Return the names with a row of their own: those with the most bytes; none without events."""
    return () if own is None else own.names[:NAMES_SHOWN]


def own_spans(diagnosis: Diagnosis, name: OwnEventName) -> list[tuple[int, int]]:
    """Return the time of each event of a name within the window, epoch seconds; a moment has no length."""
    if diagnosis.own_events is None:
        return []
    start_s, end_s = diagnosis.window_s
    found = []
    for event in diagnosis.own_events.events:
        if event.number == name.number:
            last_s = end_s if event.is_running else event.end_s or event.start_s
            found.append((max(event.start_s, start_s), min(last_s, end_s)))
    return found


def _parts(own: OwnEventsIo, diagnosis: Diagnosis) -> Iterator[Part]:
    if not own.events:
        yield Paragraph(text=f"None of the events in {own.file} lies in the window. {_left_out(own)}")
        return
    yield Paragraph(text=_lead(own), weight="strong")
    yield bullets_of([_sentence(name, own) for name in shown_names(own)])
    kept = sorted(own.events, key=_bytes, reverse=True)[:EVENTS_SHOWN]
    yield _table([e for e in own.events if e in kept], diagnosis)
    for text in (_more(own), _METHOD):
        if text:
            yield Paragraph(text=text, weight="quiet")


_METHOD = (
    "I/O, read and written, is that of the whole instance while the event ran. Where events overlap, it is not divided between them. "
    "That two things happen at the same time does not show that one causes the other."
)


def _lead(own: OwnEventsIo) -> str:
    if own.ceiling_s <= 0:
        return "No ceiling was reached in this window, with or without your events."
    outside = own.ceiling_without_any_s
    total = format_duration(own.ceiling_s)
    if outside <= 0:
        return f"All of the {total} at a ceiling lie within your events."
    if outside >= own.ceiling_s:
        return f"None of the {total} at a ceiling lies within your events."
    return (
        f"{format_duration(own.ceiling_s - outside)} of the {total} at a ceiling lie within your events, "
        f"{format_duration(outside)} outside of them."
    )


def _sentence(name: OwnEventName, own: OwnEventsIo) -> str:
    """Return what a name coincides with: `1 load_claims: …`."""
    begin = f"#{name.number} {words.plain(name.name)}"
    runs = f" ({name.count:,} times)" if name.count > 1 else ""
    if name.seconds <= 0:
        noun = "a moment" if name.count == 1 else "moments"
        return f"{begin}{runs}: {noun}, so no I/O is counted for it."
    text = f"{begin}{runs} ran for {format_duration(name.seconds)}"
    if name.bytes is not None:
        share = "" if name.share_of_bytes is None else f", {format_ratio(name.share_of_bytes)} of the window's I/O"
        text += f": {format_bytes(name.bytes)}{share}"
    if own.ceiling_s <= 0:
        return f"{text}."
    if name.ceiling_s <= 0:
        return f"{text}. No ceiling was reached while it ran."
    at = format_duration(name.ceiling_s)
    share = format_ratio(name.ceiling_s / own.ceiling_s)
    text += f". A ceiling was reached for {at} of that, {share} of all time at a ceiling"
    if name.ceiling_without_s <= 0:
        return f"{text}, and never without it."
    return f"{text}; without it for another {format_duration(name.ceiling_without_s)}."


def _table(events: list[OwnEventIo], diagnosis: Diagnosis) -> Table:
    return Table(
        columns=(
            Column(title="#", is_number=True),
            Column(title="Event", least=12),
            Column(title="When (UTC)", may_break=False),
            Column(title="I/O", is_number=True),
            Column(title="Operations", is_number=True, from_width=110),
            Column(title="Of window", is_number=True, from_width=96),
            Column(title="At ceiling", is_number=True),
            Column(title="Same time", least=10),
        ),
        rows=tuple(tuple(_cells(event, diagnosis)) for event in events),
        stacks=True,
    )


def _cells(event: OwnEventIo, diagnosis: Diagnosis) -> Iterator[str | Cell]:
    yield str(event.number)
    kind = f" ({words.plain(event.kind)})" if event.kind else ""
    name = words.plain(event.name)
    yield Cell(f"{name}{kind}", brief=name, brief_below=100)
    yield _when(event, diagnosis)
    is_moment = event.seconds <= 0
    total = _total(event)
    measured = format_bytes(total) if total is not None else "unknown"
    if total is not None and event.measured_s < event.seconds - diagnosis.step_s:
        measured += f" in {format_duration(event.measured_s)} measured"
    yield "–" if is_moment else measured
    yield "–" if is_moment else words.quantity(event.operations, "count")
    share = event.share_of_bytes
    yield "–" if is_moment else "unknown" if share is None else format_ratio(share)
    if is_moment:
        yield "yes" if event.is_at_ceiling else "no"
    else:
        yield format_duration(event.ceiling_s) if event.ceiling_s > 0 else "never"
    yield _together(event)


def _when(event: OwnEventIo, diagnosis: Diagnosis) -> str:
    if event.is_running:
        return f"since {words.moment(event.start_s)[5:]}"
    if event.end_s is None:
        return words.moment(event.start_s)[5:]
    when = words.short_span(event.start_s, event.end_s)
    start_s, end_s = diagnosis.window_s
    is_cut = event.start_s < start_s or event.end_s > end_s
    return f"{when}, in part" if is_cut else when


def _together(event: OwnEventIo) -> str:
    if not event.together_count:
        return "none"
    names = ", ".join(words.plain(name) for name in event.together)
    if not names:
        return f"{event.together_count:,} of the same name"
    more = event.together_count - len(event.together)
    return names + (f" and {more:,} more" if more > 0 else "")


def _total(event: OwnEventIo) -> float | None:
    if event.read_bytes is None or event.written_bytes is None:
        return None
    return event.read_bytes + event.written_bytes


def _bytes(event: OwnEventIo) -> tuple[float, float]:
    return _total(event) or 0.0, event.seconds


def _more(own: OwnEventsIo) -> str:
    left = len(own.events) - EVENTS_SHOWN
    texts = []
    if left > 0:
        texts.append(f"{left:,} events with less I/O are in the JSON report.")
    return " ".join([*texts, _left_out(own)]).strip()


def _left_out(own: OwnEventsIo) -> str:
    texts = []
    if own.outside_count:
        noun = "event lies" if own.outside_count == 1 else "events lie"
        texts.append(f"{own.outside_count:,} {noun} outside the window.")
    if own.not_begun:
        noun = "run" if own.not_begun == 1 else "runs"
        texts.append(f"{own.not_begun:,} {noun} had not begun.")
    return " ".join(texts)
