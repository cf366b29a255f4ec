"""The progress of a lab run; golden/test_lab_reports.py has what it says."""

from msgspec.structs import replace
from rich.console import Console

from plimsoll.model.ceiling import Dimension, Phase
from plimsoll_lab.model.lab import StageNow
from plimsoll_lab.reports.lab.text import live, progress_lines
from unit.reports.fixture_lab import MB, PROGRESS


def test_no_line_of_the_display_is_wider_than_a_terminal():
    """Eighty-eight columns at most; a narrower terminal cuts and does not wrap."""
    assert all(len(line) <= 88 for line in progress_lines(PROGRESS))


def test_a_narrow_terminal_cuts_the_display_and_keeps_its_lines():
    """Lines that wrapped would not be written over a second later."""
    shown = Console(width=40).render_lines(live(progress_lines(PROGRESS)))
    widths = [sum(segment.cell_length for segment in line) for line in shown]

    assert [40] * len(progress_lines(PROGRESS)) == widths


def test_limits_of_ones_own_keep_their_names():
    """A file of limits may name its stages as it likes; a name cannot write to the terminal."""
    stage = StageNow(
        name="nas\x1b[2J_uplink",
        dimension=Dimension.THROUGHPUT,
        served=1 * MB,
        ceiling=2 * MB,
        phase=Phase.FIXED,
        balance_ratio=None,
        empty_in_s=None,
        is_holding=True,
    )
    lines = progress_lines(replace(PROGRESS, stages=(stage,)))

    assert lines[1].startswith("nas\ufffd[2J uplink")
    assert "\x1b" not in "".join(lines)
