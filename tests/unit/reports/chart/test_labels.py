"""Where names stand in a chart."""

import numpy as np
import pytest

from plimsoll.reports.chart.labels import Box, NamedLine, line_boxes, places_of, text_width

PLOT = Box(0, 0, 720, 300)
MARK = 7.0


def mark(x, y):
    """What a mark takes."""
    return Box(x - MARK, y - MARK, x + MARK, y + MARK)


def crowd(seed):
    """Eight marks, some of them upon one bar, and a line of steps through them."""
    rng = np.random.default_rng(seed)
    across = rng.uniform(20, 700, 8)
    across[1:3] = across[0] + rng.uniform(0, 12, 2)
    down = rng.uniform(20, 280, 8)
    longest = ["now: db.t3.xlarge, $349.70", "2: db.m6g.xlarge, gp3 1,200 GiB, $370.14"]
    texts = [*longest, *"134567"]
    named = [NamedLine(float(x), float(y), text) for x, y, text in zip(across, down, texts, strict=True)]
    steps = [(0.0, 250.0)]
    for x, y in sorted(rng.uniform((20, 30), (700, 240), (8, 2)).tolist()):
        steps += [(x, steps[-1][1]), (x, y)]
    return named, [*line_boxes(steps, 3.0), *(mark(one.x, one.y) for one in named)]


@pytest.mark.parametrize("seed", range(40))
def test_no_name_covers_anything(seed):
    """Not a mark, not the line, not another name, and none leaves the plot."""
    named, taken = crowd(seed)
    places = places_of(named, taken, PLOT, size=11)
    boxes = [place.box for place in places]

    assert all(0 == box.covered(other) for box in boxes for other in taken)
    assert all(0 == a.covered(b) for n, a in enumerate(boxes) for b in boxes[:n])
    assert all(box.covered(PLOT) == pytest.approx((box.right - box.left) * (box.bottom - box.top)) for box in boxes)


def test_a_name_is_next_to_its_mark_where_there_is_room():
    """To the right of it, without a line that leads to it."""
    (place,) = places_of([NamedLine(100, 100, "1")], [mark(100, 100)], PLOT, size=11)

    assert place.lead is None
    assert 107 <= place.box.left <= 120
    assert 100 == pytest.approx((place.box.top + place.box.bottom) / 2)


def test_a_line_leads_to_a_name_that_stands_apart():
    """From the mark to the nearest point of the name."""
    wall = [mark(100, 100), Box(80, 80, 220, 120)]
    (place,) = places_of([NamedLine(100, 100, "now: db.t3.xlarge")], wall, PLOT, size=11)

    x, y, x2, y2 = place.lead
    assert (100, 100) == (x, y)
    assert place.distance > 14
    assert place.box.left - 1e-9 <= x2 <= place.box.right + 1e-9
    assert place.box.top - 1e-9 <= y2 <= place.box.bottom + 1e-9


def test_where_everything_is_taken_names_still_stand():
    """On something, since there is no other place."""
    (place,) = places_of([NamedLine(50, 50, "1")], [Box(-99, -99, 999, 999)], PLOT, size=11)

    assert place.box.covered(PLOT) > 0
    assert [] == places_of([], [], PLOT, size=11)


def test_wide_letters_take_more_room():
    """A width is a guess on the safe side: no font is asked."""
    assert text_width("iiii", 11) < text_width("aaaa", 11) < text_width("MMMM", 11)
    assert text_width("now: db.t3.xlarge, $349.70", 11) > 26 * 11 * 0.5
