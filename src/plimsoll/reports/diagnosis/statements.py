"""The section that names the statements which waited for storage while a limit was reached."""

from collections.abc import Iterable, Iterator
from textwrap import wrap

from plimsoll.model.session_load import EventUse, StatementLoad, StatementUse, StorageWait, StretchKind
from plimsoll.reports.document.parts import Card, Code, Paragraph, Part, Section
from plimsoll.reports.render import words
from plimsoll.units import format_duration, format_ratio, number

# More are not read in an incident; the JSON form has all of them.
STATEMENTS_SHOWN = 5
# Wait events, users and hosts in a sentence.
_NAMED = 4
# Letters of a statement: about three lines of a terminal.
TEXT_SHOWN = 240
# A terminal of 80 columns has this much room beside the indent.
LINE_LENGTH = 70

_METHOD = (
    "Counted by Performance Insights. A session that waits for I/O is no measure of bytes: many short reads wait "
    "as long as a few long ones."
)


def statements_section(load: StatementLoad) -> Section:
    """Return who waited for storage, with the shares, and how that differs from a time without a limit."""
    return Section(title="Statements that waited for I/O", parts=tuple(_parts(load)))


def _parts(load: StatementLoad) -> Iterator[Part]:
    shown = load.statements[:STATEMENTS_SHOWN]
    yield Paragraph(text=_lead(load), weight="strong")
    yield Paragraph(text=_load(load))
    if load.unclear_sessions > 0:
        yield Paragraph(text=_unclear(load))
    for name, uses in (("user", load.users), ("host", load.hosts)):
        if uses:
            yield Paragraph(text=_people(name, uses))
    yield Paragraph(text=_METHOD, weight="quiet")
    for place, use in enumerate(shown, 1):
        yield Card(title=_title(use, load), number=str(place), parts=tuple(_statement(use)))
    left = len(load.statements) - len(shown)
    if left:
        noun = "statement" if left == 1 else "statements"
        share = sum(use.io_share for use in load.statements[STATEMENTS_SHOWN:])
        yield Paragraph(
            text=f"{left} more {noun} with {format_ratio(min(share, 1.0))} of the waiting: see the JSON report.",
            weight="quiet",
        )


def _lead(load: StatementLoad) -> str:
    where = "At the ceiling" if load.why is StretchKind.CEILING else "While requests waited"
    if load.io_sessions <= 0:
        return f"{where}, no session waited for I/O, as far as Performance Insights saw ({_when(load)})."
    share = _share(load.io_sessions, load.sessions)
    return (
        f"{where}, {_count(load.io_sessions)} of {_count(load.sessions)} active sessions waited for I/O "
        f"({share}). {_top(load.statements)} ({_when(load)})."
    )


def _when(load: StatementLoad) -> str:
    length = format_duration(load.end_s - load.start_s)
    return f"{words.span(load.start_s, load.end_s)} UTC, the longest such stretch, {length}"


def _top(statements: tuple[StatementUse, ...]) -> str:
    if not statements:
        return "No statement is named for it"
    first = statements[0]
    if len(statements) == 1 or first.io_share >= 0.5:
        return f"One statement was {format_ratio(first.io_share)} of that"
    shown = statements[:3]
    together = min(sum(use.io_share for use in shown), 1.0)
    return f"{len(shown)} statements were {format_ratio(together)} of that"


def _load(load: StatementLoad) -> str:
    """Return what the sessions did, what was no I/O, and the same at another time."""
    waited = [e for e in load.events if e.storage is StorageWait.YES]
    others = [e for e in load.events if e.storage is StorageWait.NO]
    texts = []
    if waited:
        texts.append(f"I/O: {_events(waited)}.")
    if others:
        rest = sum(e.sessions for e in others)
        texts.append(f"Not I/O ({_share(rest, load.sessions)}): {_events(others)}.")
    if load.outside_start_s is not None and load.outside_end_s is not None:
        span = words.span(load.outside_start_s, load.outside_end_s)
        texts.append(
            f"For comparison, below every ceiling, {span} UTC: {_count(load.outside_sessions or 0.0)} active "
            f"sessions, {_count(load.outside_io_sessions or 0.0)} of them waiting for I/O."
        )
    return " ".join(texts)


def _events(events: Iterable[EventUse]) -> str:
    listed = [f"{words.plain(e.name) or 'unknown'} {_count(e.sessions)}" for e in events]
    more = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _unclear(load: StatementLoad) -> str:
    names = [e for e in load.events if e.storage is StorageWait.UNCLEAR]
    return (
        f"Not counted as I/O: {_events(names)}. Such an event covers work in memory and I/O, and the source "
        "does not separate them."
    )


def _title(use: StatementUse, load: StatementLoad) -> str:
    if load.io_sessions <= 0 or use.io_sessions <= 0:
        return f"{_count(use.unclear_sessions)} sessions on average in events that may be I/O"
    sessions = f"{_count(use.io_sessions)} sessions on average"
    return f"{format_ratio(use.io_share)} of the waiting for I/O: {sessions}"


def _statement(use: StatementUse) -> Iterator[Part]:
    lines = wrap(_cut(use.text), LINE_LENGTH) or ["(no text)"]
    yield Code(lines=tuple(lines), language="sql")
    parts = [f"Waits: {_events(use.events)}."] if use.events else []
    if use.outside_io_sessions is not None:
        bound = "at most " if use.outside_is_bound else ""
        parts.append(f"Below every ceiling: {bound}{_count(use.outside_io_sessions)} waited for I/O.")
    if use.id:
        parts.append(f"Id {words.plain(use.id)}.")
    yield Paragraph(text=" ".join(parts), weight="quiet")


def _cut(text: str) -> str:
    line = words.plain(text)
    return line if len(line) <= TEXT_SHOWN else f"{line[: TEXT_SHOWN - 1]}…"


def _people(noun: str, uses: tuple[StatementUse, ...]) -> str:
    listed = [f"{words.plain(u.text) or 'unknown'} {format_ratio(u.io_share)}" for u in uses[:_NAMED]]
    more = len(uses) - _NAMED
    return f"Waiting for I/O by {noun}: {', '.join(listed)}" + (f" and {more} more." if more > 0 else ".")


def _share(part: float, whole: float) -> str:
    return format_ratio(min(part / whole, 1.0)) if whole > 0 else "0 %"


def _count(sessions: float) -> str:
    return number(sessions, 2)
