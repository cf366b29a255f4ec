"""`plimsoll diagnose 'rds:*'`: many instances, one after the other, and a table of them all."""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from operator import length_hint

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.fleet import Spent, diagnose_fleet, exit_status
from plimsoll.cli.output import Output
from plimsoll.cli.waiting import progress_while
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
        target: what was asked for, as `rds:*`; it stands in the table as the source.
        stream: snapshots one by one; `operator.length_hint` of it, if any, is shown as progress.
        output: where the table goes and what it looks like.
        lists_all: whether instances that are not near a limit get rows instead of a list of names.
        window_s: what was asked for, epoch seconds; None takes what the snapshots cover.
        spent: asked once, after the last instance.
        waits: what the reading waits for at this moment, shown on a terminal.

    Returns:
        1 if any instance binds, else 2 if any could not be judged or read, else 0.

    Raises:
        PlimsollError: the stream failed before its first instance.
        UsageError: the page cannot be written.
    """
    progress = _Progress(length_hint(stream), is_told_elsewhere=waits is not None)
    with progress_while(lambda: f"{progress.said}{waits()}") if waits else nullcontext():
        try:
            overview = diagnose_fleet(
                stream,
                diagnose=diagnose_snapshot,
                source=target,
                window_s=window_s,
                spent=spent,
                told=progress.tell,
            )
        finally:
            progress.clear()
    output.write(overview, lists_all=lists_all)
    return exit_status(overview)


class _Progress:
    """`31 of 50` on standard error while it is a terminal; a pipe or a log gets nothing."""

    def __init__(self, total: int, *, is_told_elsewhere: bool = False) -> None:
        """Expect `total` instances; 0 if their number is not known."""
        self._total = total
        self._is_shown = sys.stderr.isatty() and not is_told_elsewhere
        self.said = ""
        """For a line that somebody else writes."""
        self._length = 0

    def tell(self, count: int) -> None:
        """Replace what was told before."""
        self.said = f"{count:,} read, "
        if self._is_shown:
            text = f"{count:,} of {self._total:,}" if self._total >= count else f"{count:,} read"
            sys.stderr.write(f"\r{text.ljust(self._length)}")
            sys.stderr.flush()
            self._length = len(text)

    def clear(self) -> None:
        """Leave the line empty for what follows."""
        if self._length:
            sys.stderr.write(f"\r{' ' * self._length}\r")
            sys.stderr.flush()
