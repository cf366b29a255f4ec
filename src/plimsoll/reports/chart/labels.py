"""
Where names stand in a chart: beside their marks, and on nothing else.

Rule 1: a name covers no mark, no line and no other name; where there is no room beside its mark it
        stands further away, and a thin line leads to it.
Rule 2: equal marks give equal places; nothing is thrown, and nothing is asked of a font.

Places are in pixels of the plot, from its upper left corner.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import cos, hypot, pi, sin

# Widths of letters over the size of the font, of a bold sans-serif; a little more than Helvetica's, so
# that another font has room too.
_NARROW, _WIDE = frozenset("ijltfrI.,:;|!'()[]/ -"), frozenset("mwMW@%&–→")
_LETTER, _NARROW_LETTER, _WIDE_LETTER, _CAPITAL = 0.61, 0.36, 0.95, 0.76
_LINE = 1.25
"""Height of a line over the size of its font."""

# How far a name may be from its mark, and on how many sides of it a place is looked for.
_DISTANCES = (7.0, 11.0, 16.0, 22.0, 30.0, 40.0, 52.0, 66.0, 84.0, 106.0, 132.0, 162.0)
_SIDES = 16
# From here on a line leads to the name.
_LED_FROM = 14.0
# Between a name and whatever else there is.
_AIR = 3.0
# Between two names on a line.
_APART = 6.0
# A name upon something else, for a pixel of its area: any other place is better. One that is cut off is
# worse than one that covers something.
_COVERED, _OUTSIDE = 100.0, 1000.0
# A line that leads across something else is as bad as a name so many pixels further away.
_CROSSED = 14.0


Line = tuple[float, float, float, float]
"""From one point to another: x, y, x2, y2."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle that is occupied."""

    left: float
    top: float
    right: float
    bottom: float

    def covered(self, other: "Box", air: float = 0.0) -> float:
        """Return area, in square pixels, that both take, if this one is so much larger on each side."""
        width = min(self.right + air, other.right) - max(self.left - air, other.left)
        height = min(self.bottom + air, other.bottom) - max(self.top - air, other.top)
        return max(width, 0.0) * max(height, 0.0)


@dataclass(frozen=True, slots=True)
class NamedLine:
    """A mark and its name."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class LabelPlace:
    """The place of a name."""

    box: Box
    distance: float
    """From the mark to the nearest point of the name, in pixels."""
    lead: Line | None
    """The line from the mark to the name: x, y, x2, y2; None where the name is beside it."""


def text_width(text: str, size: float) -> float:
    """Return the estimated width of a bold text in pixels."""
    return size * sum(map(_letter, text))


def _letter(letter: str) -> float:
    if letter in _NARROW:
        return _NARROW_LETTER
    if letter in _WIDE:
        return _WIDE_LETTER
    return _CAPITAL if letter.isupper() else _LETTER


def line_boxes(points: Sequence[tuple[float, float]], thickness: float) -> list[Box]:
    """Return the boxes of a step line: its levels and its vertical parts."""
    half = thickness / 2
    return [
        Box(min(x, x2) - half, min(y, y2) - half, max(x, x2) + half, max(y, y2) + half)
        for (x, y), (x2, y2) in pairwise(points)
    ]


def places_of(named: Sequence[NamedLine], taken: Sequence[Box], within: Box, *, size: float) -> list[LabelPlace]:
    """
    Return a place for every name.

    Args:
        named: marks in the order of their importance; every mark is to be among `taken` too.
        taken: what no name may cover.
        within: where names may stand.
        size: of the font, in pixels.

    Returns:
        Places in the order of `named`; a name is upon something only where no place is free.
    """
    # Whoever is placed first has the choice, so everybody is once first; the best of all orders wins.
    orders = [[*range(first, len(named)), *range(first)] for first in range(len(named))]
    tried = [_placed(named, order, taken, within, size) for order in orders]
    if not tried:
        return []
    cost = [sum(one[0] for one in found.values()) for found in tried]
    best = tried[cost.index(min(cost))]
    return [best[index][1] for index in range(len(named))]


def _placed(
    named: Sequence[NamedLine], order: Sequence[int], taken: Sequence[Box], within: Box, size: float
) -> dict[int, tuple[float, LabelPlace]]:
    """Return a place for each name, one after the other, with its cost."""
    found: dict[int, tuple[float, LabelPlace]] = {}
    for index in order:
        names = [_with_air(place.box) for _, place in found.values()]
        leads = [place.lead for _, place in found.values() if place.lead]
        found[index] = _best(named[index], [*taken, *names], leads, within, size)
    return found


def _with_air(box: Box) -> Box:
    """Return the box of a name with space on both sides, so that neighbours do not look like one name."""
    return Box(box.left - _APART, box.top, box.right + _APART, box.bottom)


def _best(
    named: NamedLine, taken: Sequence[Box], leads: Sequence[Line], within: Box, size: float
) -> tuple[float, LabelPlace]:
    """Return the place with the least cost; of equal ones the first."""
    best: tuple[float, LabelPlace] | None = None
    for place in _candidates(named, size):
        # No place costs less than its distance, and what follows is further away.
        if best is not None and best[0] <= place.distance:
            break
        cost = _cost(place, taken, leads, within)
        if best is None or cost < best[0]:
            best = cost, place
    assert best is not None
    return best


def _candidates(named: NamedLine, size: float) -> Iterable[LabelPlace]:
    """Yield places around a mark, from near to far; to the right and above first."""
    width, height = text_width(named.text, size), size * _LINE
    for distance in _DISTANCES:
        for side in range(_SIDES):
            angle = 2 * pi * side / _SIDES
            across, down = cos(angle), -sin(angle)
            near = (named.x + across * distance, named.y + down * distance)
            left = near[0] - width * _share(across)
            top = near[1] - height * _share(down)
            box = Box(left, top, left + width, top + height)
            lead = (named.x, named.y, *near) if distance >= _LED_FROM else None
            yield LabelPlace(box, distance, lead)


def _share(direction: float) -> float:
    """Return the share of a name that is left of the point nearest to its mark."""
    if direction > 0.35:
        return 0.0
    return 1.0 if direction < -0.35 else 0.5


def _cost(place: LabelPlace, taken: Sequence[Box], leads: Sequence[Line], within: Box) -> float:
    box = place.box
    covered = sum(box.covered(other, _AIR) for other in taken)
    covered += sum(box.covered(_around(lead), 1.0) > 0 and _meets(lead, box) for lead in leads) * 50
    outside = (box.right - box.left) * (box.bottom - box.top) - box.covered(within)
    cost = place.distance + _COVERED * covered + _OUTSIDE * outside
    if place.lead is not None:
        # The mark itself is taken: a line begins within it.
        cost += _CROSSED * max(sum(_meets(place.lead, other) for other in taken) - 1, 0)
    return cost


def _around(line: Line) -> Box:
    x, y, x2, y2 = line
    return Box(min(x, x2) - 1, min(y, y2) - 1, max(x, x2) + 1, max(y, y2) + 1)


def _meets(line: Line, box: Box) -> bool:
    """Return whether a line crosses a box, tested at every second pixel."""
    x, y, x2, y2 = line
    count = max(int(hypot(x2 - x, y2 - y) / 2), 1)
    return any(
        box.left <= x + (x2 - x) * n / count <= box.right and box.top <= y + (y2 - y) * n / count <= box.bottom
        for n in range(count + 1)
    )
