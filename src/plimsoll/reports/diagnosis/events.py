"""
The events of a report: those of the window, and earlier ones that may explain it.

Rule 1: what is left out is counted; nothing that happened disappears.
Rule 2: what changes the limits is shown before what does not; what is shown stands in order of time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.reports.document.parts import Cell, Column, Paragraph, Section, Table
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
class Events:
    """The events that are shown."""

    earlier: tuple[Annotation, ...]
    """The last changes before the window, in order of time."""
    marked: tuple[tuple[str, Annotation], ...]
    """Those of the window in order of time, each after its letter on the timeline of characters."""
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
    backups = [a for a in inside if a.kind is EventKind.BACKUP]
    return Events(
        earlier=tuple(earlier[-_EARLIER_SHOWN:]),
        marked=tuple(zip(_MARKS, in_order(kept), strict=False)),
        more=_more(len(listed) - len(kept), backups),
    )


def events_section(diagnosis: Diagnosis) -> Section:
    """Return the events with the letters that mark them on the timeline of characters."""
    found = events_of(diagnosis.annotations, diagnosis.window_s)
    has_seconds = diagnosis.window_s[1] - diagnosis.window_s[0] <= 3600
    rows = [_cells("-", note, "before the window: ", has_seconds=has_seconds) for note in found.earlier]
    rows += [_cells(mark, note, "", has_seconds=has_seconds) for mark, note in found.marked]
    columns = (Column(title=""), Column(title="When (UTC)", may_break=False, names_row=True), Column(title="Event"))
    table = Table(columns=columns, rows=tuple(rows), stacks=True, gap=1, is_untitled=True)
    parts = ((table,) if rows else ()) + ((Paragraph(text=found.more),) if found.more else ())
    return Section(title="What happened", parts=parts, is_dense=True)


def _cells(mark: str, note: Annotation, lead: str, *, has_seconds: bool) -> tuple[str | Cell, ...]:
    when, kind = words.moment(note.time_s, has_seconds=has_seconds), words.EVENT_WORDS[note.kind]
    return mark, Cell(when, brief=when[5:]), f"{lead}{kind}{': ' if kind else ''}{words.plain(note.text)}"


def _more(left: int, backups: Sequence[Annotation]) -> str:
    parts = []
    if left:
        parts.append(f"{left} other event{'s' if left > 1 else ''}")
    if backups:
        noun = "backup event" if len(backups) == 1 else "backup events"
        last = "at" if len(backups) == 1 else "the last"
        parts.append(f"{len(backups)} {noun}, {last} {format_clock(backups[-1].time_s)}")
    return f"Besides: {'; '.join(parts)}." if parts else ""
