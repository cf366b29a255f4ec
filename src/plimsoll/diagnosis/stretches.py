"""Find the stretches of a window in which a limit was reached, and the longest in which none was."""

from collections.abc import Iterable

from msgspec import Struct

from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.session_load import StretchKind

Span = tuple[int, int]
"""Epoch seconds, [start, end)."""


class Stretches(Struct, frozen=True, kw_only=True):
    """Two stretches to compare."""

    why: StretchKind
    during: Span
    """The longest stretch at a limit, or of unexplained waiting where no limit was reached."""
    outside: Span | None
    """The longest stretch with neither; None if there is none."""


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans in order of time, those that meet or overlap joined."""
    found: list[Span] = []
    for start_s, end_s in sorted(spans):
        if found and start_s <= found[-1][1]:
            found[-1] = (found[-1][0], max(end_s, found[-1][1]))
        else:
            found.append((start_s, end_s))
    return tuple(found)


def at_ceiling(diagnosis: Diagnosis) -> tuple[Span, ...]:
    """Return the stretches in which any limit was reached, joined, in order of time."""
    return merged((i.start_s, i.end_s) for i in diagnosis.intervals)


def stretches_of(diagnosis: Diagnosis) -> Stretches | None:
    """Return the stretches worth comparing; None where no limit was reached and nothing waited."""
    bound = at_ceiling(diagnosis)
    waited = merged((w.start_s, w.end_s) for w in diagnosis.waiting)
    chosen = bound or waited
    if not chosen:
        return None
    return Stretches(
        why=StretchKind.CEILING if bound else StretchKind.WAITING,
        during=_longest(chosen),
        outside=_longest_between(merged((*bound, *waited)), diagnosis.window_s),
    )


def _longest(spans: Iterable[Span]) -> Span:
    # Of equal ones the first, so that equal inputs give equal requests.
    return max(spans, key=lambda span: (span[1] - span[0], -span[0]))


def _longest_between(spans: tuple[Span, ...], window_s: Span) -> Span | None:
    edges = [window_s[0], *(edge for span in spans for edge in span), window_s[1]]
    free = [(edges[n], edges[n + 1]) for n in range(0, len(edges), 2) if edges[n + 1] > edges[n]]
    return _longest(free) if free else None
