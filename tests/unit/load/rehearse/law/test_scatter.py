"""How scattered rows are, from the pages that windows of them touch."""

import numpy as np
import pytest

from plimsoll.load.rehearse.law.scatter import scatter_ratio

ROWS, PER_PAGE = 40_000, 100
PAGES = ROWS // PER_PAGE
WINDOW = PAGES // 4


def found(keys: np.ndarray, *, switches: float = 0.0) -> float:
    """What the query of the server computes, and the ratio of it."""
    place = np.empty(ROWS)
    place[np.argsort(keys, kind="stable")] = np.arange(ROWS)
    pages = (place // PER_PAGE).reshape(-1, WINDOW)
    touched = float(np.mean([np.unique(window).size for window in pages]))
    return scatter_ratio(touched=touched, rows=WINDOW, pages=PAGES, per_page=PER_PAGE, switches=switches)


def test_scatter_is_the_share_of_rows_that_touch_a_page_anew():
    """Rows in order touch none, random rows one each, and half random is half."""
    dice = np.random.default_rng(2)
    half = np.where(dice.random(ROWS) < 0.5, np.arange(ROWS), dice.integers(0, ROWS, ROWS))

    assert found(np.arange(ROWS)) == 0.0
    assert found(np.random.default_rng(1).permutation(ROWS)) == pytest.approx(1.0, abs=0.05)
    assert 0.4 < found(half) < 0.6


def test_several_ordered_streams_stay_on_their_pages():
    """Ten sources, each in order, written in turn: ten pages are in use, and not one for each row."""
    streams = np.arange(ROWS) % 10 * ROWS + np.arange(ROWS) // 10

    assert found(streams) < 0.15


def test_workers_in_order_touch_nothing_anew_when_they_take_turns():
    """Eight workers, each in order, with forty rows on each page of the table."""
    page = np.arange(ROWS) // 40
    workers = page % 8 * ROWS + page // 8 * 40 + np.arange(ROWS) % 40

    assert found(workers) > 0.01
    assert found(workers, switches=WINDOW / 40) == 0.0
