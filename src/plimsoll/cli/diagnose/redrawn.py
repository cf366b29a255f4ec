"""Redraw a brief report in place on a terminal."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from plimsoll.cli.diagnose.repeat import View
from plimsoll.reports.diagnosis.brief import diagnosis_brief
from plimsoll.reports.render.brief import WIDTH_MAX, WIDTH_MIN, brief_lines
from plimsoll.units import format_clock, format_duration

_STALE = "STALE"


class Redrawn:
    """Shows the newest view in place, with its age, until the end of its `with` block."""

    def __init__(self, width: int | None, rhythm_text: Callable[[], str], console: Console | None = None) -> None:
        """
        Begin with an empty screen.

        Args:
            width: columns; None takes the terminal's, at most 120.
            rhythm_text: returns how often the target is read.
            console: where to draw; None takes standard output.
        """
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._width, self._rhythm = width, rhythm_text
        self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._is_begun = False

    def __enter__(self) -> Self:
        """Return the screen; drawing begins with the first view."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last report on the terminal, and show the cursor again."""
        if self._is_begun:
            self._live.stop()

    def show(self, view: View) -> None:
        """Draw the result of a reading."""
        self.wait(view, view.failed_s or view.read_s)

    def wait(self, view: View, now_s: float) -> None:
        """Draw the same result with its age."""
        if not self._is_begun:
            self._live.start()
            self._is_begun = True
        asked = self._width or min(self._console.width, WIDTH_MAX)
        lines = brief_lines(diagnosis_brief(view.diagnosis), max(asked, WIDTH_MIN))
        below = status_lines(view, now_s, self._rhythm())
        for text, style in below:
            line = Text(text, style=style)
            line.truncate(max(asked, WIDTH_MIN), overflow="ellipsis")
            lines.append(line)
        self._live.update(Group(*lines), refresh=True)


def status_lines(view: View, now_s: float, rhythm_text: str) -> list[tuple[str, str]]:
    """Return the lines below the report with their styles: age, failure, and how often it is read."""
    age = format_duration(max(now_s - view.read_s, 0.0))
    read_at = f"Read at {format_clock(view.read_s)} UTC, {age} ago"
    wait = format_duration(max(view.next_s - now_s, 0.0))
    lines = [(f"{read_at}; next in {wait}; Ctrl-C ends", "dim")]
    if view.failure:
        lines = [
            (f"{_STALE}: {read_at}; next try in {wait}", "bold yellow"),
            (f"Reading failed: {view.failure}", "yellow"),
        ]
    return [*lines, (rhythm_text, "dim")]
