"""
Run `plimsoll diagnose TARGET --watch 1m`: read a live target again and again, and show the newest verdict.

`plimsoll watch` is another command: a service with rules, a memory and receivers of messages. This one
is for somebody who looks at one instance until Ctrl-C.

Rule 1: a reading that fails never removes the last verdict; the verdict is marked stale, with its age.
Rule 2: without a terminal a report is printed only when the verdict changes.
"""

import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Protocol, Self, TextIO

from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.moments import seconds_of
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.progress import Progress
from plimsoll.app.read import read_target
from plimsoll.app.targets import LIVE, Rds, Target
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.output import Output
from plimsoll.cli.progress import progress_while
from plimsoll.errors import PlimsollError, UsageError
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.now import open_at
from plimsoll.reports.diagnosis.brief import diagnosis_brief, verdict_title
from plimsoll.reports.render.brief import WIDTH_MAX, WIDTH_MIN, brief_lines, brief_text
from plimsoll.units import format_clock, format_duration

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.model.overview import Usage

CLOUDWATCH_S = 60
"""
RDS sends its metrics to CloudWatch once a minute, so more frequent readings find nothing new.

Source: RDS User Guide, "Amazon CloudWatch metrics for Amazon RDS", edition of 2026-04-13.
"""
_TICK_S = 1.0
_DAY_S = 86400
_DUMB = ("", "dumb", "unknown")
_STALE = "STALE"


class View(Struct, frozen=True, kw_only=True):
    """What is known after a reading."""

    diagnosis: Diagnosis
    """Of the last reading that succeeded."""
    read_s: float
    """When that was, epoch seconds."""
    failure: str = ""
    """Why the newest reading failed; empty if it succeeded."""
    failed_s: float = 0.0
    """When it failed, epoch seconds."""
    next_s: float
    """When the next reading begins, epoch seconds."""


class Screen(Protocol):
    """Where views are shown."""

    def show(self, view: View) -> None:
        """Show the result of a reading."""

    def wait(self, view: View, now_s: float) -> None:
        """Take note that time passed since `view` was shown."""


class RepeatClock(Struct, frozen=True, kw_only=True):
    """The time, and a way to wait for it."""

    now_s: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


def check_interval(target: Target, interval: str, *, other_options: bool, until: str | None) -> int:
    """
    Return the seconds between readings; nothing is read.

    Args:
        target: target of the command line.
        interval: text of --watch.
        other_options: whether an option was given that needs a single reading of one instance.
        until: text of --to; None if it was not given.

    Raises:
        UsageError: not a live target, not a time of at least a second, or an option that does not fit.
    """
    if not isinstance(target, LIVE):
        raise UsageError(
            f"--watch needs a live target, and '{target}' is none",
            "Give rds:NAME or prom:URL; leave out --watch to read a file once.",
        )
    seconds = seconds_of(interval, "--watch")
    if other_options:
        raise UsageError(
            "--watch prints brief reports of a single instance; it does not go with --format, -o, "
            "--html, --png, --card, --events, --plan, --dsn, --for or --all",
            "Leave them out. To watch several instances, use 'plimsoll watch'.",
        )
    if until is not None:
        raise UsageError("--watch reads up to now, but --to ends the window", "Leave out --to.")
    return max(seconds, CLOUDWATCH_S) if isinstance(target, Rds) else seconds


def run_repeated(
    target: Target, flags: InstanceOptions, read_options: ReadOptions, output: Output, *, asked: str, period_s: int
) -> NoReturn:
    """
    Show the verdict on a live target until Ctrl-C.

    Args:
        target: a live one.
        flags: instance options; likewise `read_options`.
        output: width and colour.
        asked: text of --watch.
        period_s: seconds between readings, as `check_interval` returned.

    Raises:
        PlimsollError: the first reading failed.
        KeyboardInterrupt: Ctrl-C.
    """
    spending = ReadingCost()

    def read() -> Diagnosis:
        return diagnose_snapshot(read_target(target, flags, read_options, spending))

    is_redrawn = sys.stdout.isatty() and os.environ.get("TERM", "") not in _DUMB
    with ended_like_ctrl_c():
        if is_redrawn:
            with Redrawn(output.width, lambda: rhythm(asked, period_s, spending)) as redrawn:
                repeat(read, redrawn, period_s=period_s, clock=RepeatClock())
        printed = Printed(output, lambda: rhythm(asked, period_s, spending))
        repeat(read, printed, period_s=period_s, clock=RepeatClock())


def repeat(read: Callable[[], Diagnosis], screen: Screen, *, period_s: float, clock: RepeatClock) -> NoReturn:
    """
    Read and show, again and again.

    Args:
        read: returns a diagnosis of now.
        screen: where it is shown.
        period_s: from the start of a reading to the start of the next one; > 0.
        clock: the time.

    Raises:
        PlimsollError: the first reading failed: a mistake in the command is seen at once.
    """
    begun_s = clock.now_s()
    view = View(diagnosis=read(), read_s=clock.now_s(), next_s=begun_s + period_s)
    while True:
        screen.show(view)
        while (left_s := view.next_s - clock.now_s()) > 0:
            clock.sleep(min(left_s, _TICK_S))
            screen.wait(view, clock.now_s())
        begun_s = clock.now_s()
        next_s = begun_s + period_s
        try:
            view = View(diagnosis=read(), read_s=clock.now_s(), next_s=next_s)
        except PlimsollError as error:
            failure = " ".join(error.message.split())
            view = replace(view, failure=failure, failed_s=clock.now_s(), next_s=next_s)


class ReadingCost(Progress):
    """Keeps the requests of the newest reading, and shows what the first one waits for."""

    usage: "Usage | None" = None
    usd: Decimal | None = None
    """Cost of the newest reading; None if it is not known."""

    def waiting(self, text: Callable[[], str]) -> AbstractContextManager[None]:
        """Show what the first reading waits for; later ones have a report on the screen."""
        return progress_while(text) if self.usage is None else nullcontext()

    def spent(self, usage: "Usage", usd: Decimal | None) -> None:
        """Keep the requests of a reading."""
        self.usage, self.usd = usage, usd


def rhythm(asked: str, period_s: int, spending: ReadingCost) -> str:
    """Return how often the target is read, and what that costs a day."""
    text = f"Reads every {format_duration(period_s)}"
    usage = spending.usage
    if usage is None:
        return text
    if seconds_of(asked, "--watch") < period_s:
        text += " (CloudWatch has one sample a minute)"
    a_day = _DAY_S / period_s
    text += f": about {usage.call_count * a_day:,.0f} requests to AWS a day"
    if not usage.metrics_requested:
        return text
    text += f" for {usage.metrics_requested * a_day:,.0f} metrics"
    return text if spending.usd is None else f"{text}, ${float(spending.usd) * a_day:.2f} a day"


def state_of(diagnosis: Diagnosis) -> tuple[object, ...]:
    """Return a key that differs when the verdict does: the words, and which limits bound and bind."""
    limits = [(at.family, at.phase, at.dimension) if at else None for at in (diagnosis.binding, open_at(diagnosis))]
    return (verdict_title(diagnosis), *limits)


class Printed:
    """Prints a brief report with its time when the verdict changes: for pipes and logs."""

    def __init__(self, output: Output, rhythm_text: Callable[[], str], remarks: TextIO | None = None) -> None:
        """
        Begin without a verdict.

        Args:
            output: width, and where reports go.
            rhythm_text: returns how often the target is read.
            remarks: stream for remarks; None takes standard error.
        """
        self._output, self._rhythm = output, rhythm_text
        self._remarks = remarks or sys.stderr
        self._state: tuple[object, ...] | None = None
        self._failure = ""

    def show(self, view: View) -> None:
        """Print what changed."""
        if self._state is None:
            self._remark("standard output is not a terminal: a report is printed when the verdict changes")
            self._remark(self._rhythm())
        if view.failure != self._failure:
            self._remark_failure(view)
            self._failure = view.failure
        state = state_of(view.diagnosis)
        if state != self._state:
            gap = "" if self._state is None else "\n"
            text = brief_text(diagnosis_brief(view.diagnosis), width=self._output.width, color=False)
            self._output.emit(f"{gap}{format_clock(view.read_s)} UTC\n{text}")
            self._state = state

    def wait(self, view: View, now_s: float) -> None:
        """Print nothing: nothing changed."""

    def _remark_failure(self, view: View) -> None:
        if not view.failure:
            self._remark(f"{format_clock(view.read_s)} UTC: reading succeeded again")
            return
        age = format_duration(view.failed_s - view.read_s)
        self._remark(
            f"{format_clock(view.failed_s)} UTC: reading failed, the last verdict is {age} old: {view.failure}"
        )

    def _remark(self, text: str) -> None:
        self._remarks.write(f"{text}\n")
        self._remarks.flush()


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
