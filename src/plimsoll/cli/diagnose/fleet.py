"""Run `plimsoll diagnose 'rds:*'`: diagnose several instances in turn, and print one table."""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from operator import length_hint

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.fleet import Spent, diagnose_fleet, exit_status
from plimsoll.cli.output import Output
from plimsoll.cli.progress import progress_while
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Snapshot


def run(
    target: str,
    stream: Iterator[Snapshot | UnreadInstance],
    *,
    output: Output,
    lists_all: bool = False,
    window_s: tuple[int, int] | None = None,
    spent: Spent | None = None,
    waits: Callable[[], str] | None = None,
) -> int:
    """
    Diagnose every instance of a stream, print the table, and return the exit status.

    Args:
        target: requested target, for example `rds:*`; the table names it as the source.
        stream: snapshots one by one; progress shows its `operator.length_hint`, if any.
        output: where the table goes and what it looks like.
        lists_all: whether instances near no limit have rows too, instead of a list of names.
        window_s: requested window, epoch seconds; None takes what the snapshots cover.
        spent: called once, after the last instance.
        waits: returns what the reading waits for now, for a terminal.

    Returns:
        1 if any instance binds, else 2 if any could not be judged or read, else 0.

    Raises:
        PlimsollError: the stream failed before its first instance.
        UsageError: the page cannot be written.
    """
    progress = _Progress(length_hint(stream), is_shown_elsewhere=waits is not None)
    with progress_while(lambda: f"{progress.text}{waits()}") if waits else nullcontext():
        try:
            overview = diagnose_fleet(
                stream, diagnose=diagnose_snapshot, source=target, window_s=window_s, spent=spent, on_read=progress.show
            )
        finally:
            progress.clear()
    output.write(overview, lists_all=lists_all)
    return exit_status(overview)


class _Progress:
    """Shows `31 of 50` on standard error if it is a terminal; writes nothing to a pipe or a log."""

    def __init__(self, total: int, *, is_shown_elsewhere: bool = False) -> None:
        """Expect `total` instances; 0 if their number is not known."""
        self._total = total
        self._is_shown = sys.stderr.isatty() and not is_shown_elsewhere
        self.text = ""
        """Progress as text, for a line that another function writes."""
        self._length = 0

    def show(self, count: int) -> None:
        """Replace the line with the number of instances read."""
        self.text = f"{count:,} read, "
        if self._is_shown:
            text = f"{count:,} of {self._total:,}" if self._total >= count else f"{count:,} read"
            sys.stderr.write(f"\r{text.ljust(self._length)}")
            sys.stderr.flush()
            self._length = len(text)

    def clear(self) -> None:
        """Empty the line."""
        if self._length:
            sys.stderr.write(f"\r{' ' * self._length}\r")
            sys.stderr.flush()
