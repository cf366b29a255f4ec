"""
Add up the I/O of the instance while each of one's own events ran.

Rule 1: the I/O is that of the whole instance; events that overlap are not given parts of it.
Rule 2: what was not measured is not zero: a sum covers the measured seconds, and says how many they are.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from plimsoll.diagnosis.frame import Frame, frame_of
from plimsoll.diagnosis.stretches import Span, at_ceiling, merged
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.own_event import OwnEvent, OwnEventFile, OwnEventIo, OwnEventName, OwnEventsIo
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot

# Names of others that a reader takes in; their number is given too.
_NAMED = 5


def own_events_io(file: OwnEventFile, snapshot: Snapshot, diagnosis: Diagnosis) -> OwnEventsIo:
    """Return the events of the window with the I/O of their time and their time at a limit."""
    start_s, end_s = diagnosis.window_s
    inside = sorted(
        (e for e in file.events if _is_inside(e, diagnosis.window_s)),
        key=lambda e: (e.start_s, e.end_s or e.start_s, e.name),
    )
    meter = _Meter(snapshot, diagnosis)
    by_name: dict[str, list[Span]] = {}
    for event in inside:
        by_name.setdefault(event.name, []).append(_span(event, end_s))
    clipped = {name: _clipped(merged(held), diagnosis.window_s) for name, held in by_name.items()}
    names = _names(inside, clipped, meter, end_s - start_s)
    numbers = {n.name: n.number for n in names}
    together = _together(inside, end_s)
    return OwnEventsIo(
        file=file.name,
        events=tuple(
            _event(event, numbers[event.name], meter, others) for event, others in zip(inside, together, strict=True)
        ),
        names=names,
        ceiling_s=_length(meter.bound),
        ceiling_without_any_s=_length(meter.bound)
        - meter.ceiling_s(merged(span for held in clipped.values() for span in held)),
        outside_count=len(file.events) - len(inside),
        not_begun=file.not_begun,
    )


def _is_inside(event: OwnEvent, window_s: Span) -> bool:
    start_s, end_s = _span(event, window_s[1])
    if end_s == start_s:
        return window_s[0] <= start_s < window_s[1]
    return start_s < window_s[1] and end_s > window_s[0]


def _span(event: OwnEvent, window_end_s: int) -> Span:
    """Return the time of an event; one that had not ended runs to the end of the window."""
    if event.is_running:
        return event.start_s, max(window_end_s, event.start_s)
    return event.start_s, event.start_s if event.end_s is None else event.end_s


def _named(events: Sequence[OwnEvent]) -> list[OwnEvent]:
    """Return the first event of each name."""
    return list({e.name: e for e in reversed(events)}.values())


def _clipped(spans: Sequence[Span], window_s: Span) -> tuple[Span, ...]:
    cut = ((max(a, window_s[0]), min(b, window_s[1])) for a, b in spans)
    return tuple((a, b) for a, b in cut if b > a)


def _length(spans: Sequence[Span]) -> float:
    return float(sum(b - a for a, b in spans))


class _Meter:
    """Sums of what was measured, and of the time at a limit, over any stretch."""

    def __init__(self, snapshot: Snapshot, diagnosis: Diagnosis) -> None:
        self.window_s = diagnosis.window_s
        self.bound = at_ceiling(diagnosis)
        self._frame = frame_of(snapshot)
        self.all_bytes = self.bytes((diagnosis.window_s,))[0]

    def bytes(self, spans: Sequence[Span]) -> tuple[float | None, float]:
        """Return bytes read and written, None if not measured, and the measured seconds."""
        return self._sum(spans, "bytes_per_s")

    def amounts(self, span: Span) -> tuple[float | None, float | None, float | None]:
        """Return bytes read, bytes written, and operations as the metrics count them."""
        read, written = (self._sum((span,), f"{w}_bytes_per_s")[0] for w in ("read", "write"))
        parts = [self._sum((span,), f"{w}_ops_per_s")[0] for w in ("read", "write")]
        if parts[0] is None or parts[1] is None:
            return read, written, None
        return read, written, parts[0] + parts[1]

    def ceiling_s(self, spans: Sequence[Span]) -> float:
        """Return the seconds of disjoint spans at a limit."""
        return float(sum(max(min(b, d) - max(a, c), 0) for a, b in spans for c, d in self.bound))

    def is_at_ceiling(self, moment_s: int) -> bool:
        """Return whether a limit was reached at a moment."""
        return any(a <= moment_s < b for a, b in self.bound)

    def _sum(self, spans: Sequence[Span], column: str) -> tuple[float | None, float]:
        if self._frame is None:
            return None, 0.0
        rate: FloatArray = getattr(self._frame, column)
        total, measured_s = 0.0, 0.0
        for span in spans:
            part, covered_s = _covered(self._frame, span)
            known = np.isfinite(rate[part])
            total += float((rate[part][known] * covered_s[known]).sum())
            measured_s += float(covered_s[known].sum())
        return (total, measured_s) if measured_s > 0 else (None, 0.0)


def _covered(frame: Frame, span: Span) -> tuple[slice, FloatArray]:
    """Return the samples that touch a span, and the seconds of each within it."""
    ends_s = frame.time_s + frame.width_s
    part = slice(
        int(np.searchsorted(ends_s, span[0], side="right")), int(np.searchsorted(frame.time_s, span[1], side="left"))
    )
    begin = np.maximum(frame.time_s[part], span[0])
    return part, np.maximum(np.minimum(ends_s[part], span[1]) - begin, 0.0)


def _event(event: OwnEvent, number: int, meter: _Meter, others: tuple[tuple[str, ...], int]) -> OwnEventIo:
    start_s, end_s = _span(event, meter.window_s[1])
    clipped = _clipped(((start_s, end_s),), meter.window_s)
    span = clipped[0] if clipped else (start_s, start_s)
    total, measured_s = meter.bytes((span,))
    read, written, operations = meter.amounts(span)
    ceiling_s = meter.ceiling_s((span,))
    return OwnEventIo(
        number=number,
        name=event.name,
        kind=event.kind,
        start_s=event.start_s,
        end_s=event.end_s,
        is_running=event.is_running,
        seconds=float(span[1] - span[0]),
        measured_s=measured_s,
        read_bytes=read,
        written_bytes=written,
        operations=operations,
        share_of_bytes=_share(total, meter.all_bytes),
        ceiling_s=ceiling_s,
        is_at_ceiling=ceiling_s > 0 or (not clipped and meter.is_at_ceiling(start_s)),
        together=others[0],
        together_count=others[1],
    )


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else min(part / whole, 1.0)


def _names(
    events: Sequence[OwnEvent], spans: dict[str, tuple[Span, ...]], meter: _Meter, window_s: int
) -> tuple[OwnEventName, ...]:
    counts = Counter(e.name for e in events)
    found = []
    for event in _named(events):
        held = spans[event.name]
        total, _ = meter.bytes(held)
        at_s = meter.ceiling_s(held)
        found.append(
            OwnEventName(
                number=0,
                name=event.name,
                kind=event.kind,
                count=counts[event.name],
                seconds=_length(held),
                bytes=total,
                share_of_bytes=_share(total, meter.all_bytes),
                share_of_window=_length(held) / window_s if window_s else 0.0,
                ceiling_s=at_s,
                ceiling_without_s=_length(meter.bound) - at_s,
            )
        )
    ordered = sorted(found, key=lambda n: (-(n.bytes or 0.0), -n.seconds, n.name))
    return tuple(_numbered(name, n) for n, name in enumerate(ordered, 1))


def _numbered(name: OwnEventName, number: int) -> OwnEventName:
    return replace(name, number=number)


def _together(events: Sequence[OwnEvent], window_end_s: int) -> list[tuple[tuple[str, ...], int]]:
    """Return for each event the names of those that ran in the same time, and how many events those are."""
    if not events:
        return []
    spans = np.array([_span(e, window_end_s) for e in events], dtype=np.int64)
    starts, ends = spans[:, 0], spans[:, 1]
    found = []
    for index, event in enumerate(events):
        shared = np.minimum(ends, ends[index]) - np.maximum(starts, starts[index])
        shared[index] = 0
        others = np.flatnonzero(shared > 0)
        longest = others[np.argsort(-shared[others], kind="stable")]
        names = dict.fromkeys(events[n].name for n in longest.tolist() if events[n].name != event.name)
        found.append((tuple(names)[:_NAMED], int(others.size)))
    return found
