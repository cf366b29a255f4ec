"""The lines of a brief report."""

from plimsoll.reports.render.brief import lines_kept


def test_the_longest_text_loses_lines_first():
    """Every text keeps a line, and all that fits is kept."""
    assert [1, 2, 1] == lines_kept([1, 2, 1], 12)
    assert [2, 3, 3] == lines_kept([2, 9, 4], 8)
    assert [1, 1, 1] == lines_kept([5, 5, 5], 3)
