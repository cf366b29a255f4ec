"""
The events of a report: those of the window, and earlier ones that may explain it.

Rule 1: what is left out is counted; nothing that happened disappears.
Rule 2: what changes the limits is shown before what does not; what is shown stands in order of time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.reports.render import words
from plimsoll.units import format_clock

# More events than this are not read in an incident; the JSON form has all of them.
EVENTS_SHOWN = 9
# Of what happened before the window, the last few changes may still explain it.
_EARLIER_SHOWN = 2

# From what changes the limits for good to what passes by; backups are counted.
_IMPORTANCE = (
    EventKind.RESTORE,
    EventKind.CLASS_CHANGE,
    EventKind.STORAGE_CHANGE,
    EventKind.OPTIMISATION,
    EventKind.CONVERSION,
    EventKind.FAILOVER,
    EventKind.RESTART,
    EventKind.OTHER,
)
_CHANGES = frozenset(_IMPORTANCE[:5])
_MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One event that is shown."""

    time_s: int
    when: str
    """`2021-03-08 10:14`"""
    short_when: str
    """`03-08 10:14`"""
    kind: str
    """`class change`; empty for an event of no known kind."""
    text: str
    mark: str
    """Letter beside the event and on the timeline of characters; empty before the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """The texts about the events."""

    rows: tuple[EventRow, ...]
    """In order of time; those before the window first."""
    more: str
    """What was left out, counted: `4 backup events, the last 2021-03-08 03:04`; may be empty."""


def in_order(annotations: Iterable[Annotation]) -> tuple[Annotation, ...]:
    """Return the annotations in order of time."""
    return tuple(sorted(annotations, key=lambda a: (a.time_s, a.kind.value, a.text)))


def events_of(annotations: Iterable[Annotation], window_s: tuple[int, int]) -> Events:
    """
    Return the events to show.

    Args:
        annotations: in any order.
        window_s: epoch seconds, [start, end); what comes after it is left out uncounted.
    """
    start_s, end_s = window_s
    ordered = [a for a in in_order(annotations) if a.time_s < end_s]
    earlier = [a for a in ordered if a.time_s < start_s and a.kind in _CHANGES]
    inside = [a for a in ordered if a.time_s >= start_s]
    listed = [a for a in inside if a.kind is not EventKind.BACKUP]
    kept = sorted(listed, key=lambda a: (_IMPORTANCE.index(a.kind), a.time_s))[:EVENTS_SHOWN]
    has_seconds = end_s - start_s <= 3600
    rows = [_row(a, "", has_seconds=has_seconds) for a in earlier[-_EARLIER_SHOWN:]]
    rows += [_row(a, mark, has_seconds=has_seconds) for a, mark in zip(in_order(kept), _MARKS, strict=False)]
    backups = [a for a in inside if a.kind is EventKind.BACKUP]
    return Events(rows=tuple(rows), more=_more(len(listed) - len(kept), backups))


def _row(note: Annotation, mark: str, *, has_seconds: bool) -> EventRow:
    when = words.moment(note.time_s, has_seconds=has_seconds)
    return EventRow(
        time_s=note.time_s,
        when=when,
        short_when=when[5:],
        kind=words.EVENT_WORDS[note.kind],
        text=words.plain(note.text),
        mark=mark,
    )


def _more(left: int, backups: Sequence[Annotation]) -> str:
    parts = []
    if left:
        parts.append(f"{left} other event{'s' if left > 1 else ''}")
    if backups:
        noun = "backup event" if len(backups) == 1 else "backup events"
        last = "at" if len(backups) == 1 else "the last"
        parts.append(f"{len(backups)} {noun}, {last} {format_clock(backups[-1].time_s)}")
    return f"Besides: {'; '.join(parts)}." if parts else ""
