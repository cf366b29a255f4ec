"""
The progress of the pooled cluster for a terminal or a log.

Rule: the scale is shown with the number of connections.
"""

from plimsoll_lab.model.pooled import PooledProgress
from plimsoll_lab.reports.pooled.words import seconds

# Column of the names, as in text.py.
_NAME = 17


def pooled_lines(progress: PooledProgress) -> list[str]:
    """Return the live display: the phase, connections by state, arrivals, holds, what became of them, and the work."""
    one = progress.sample
    now = (
        f"{one.connections:,} connections: {one.active:,} active, {one.idle:,} idle, "
        f"{one.in_transaction:,} idle in transaction, {one.aborted:,} aborted"
    )
    pools = (
        f"{progress.pooled:,} connections, held {_held(progress)}; {progress.waiting:,} requests wait; "
        f"{progress.refused:,} connections refused"
    )
    work = (
        f"{one.arrivals_per_s:,.0f}/s arrive, {one.done_per_s:,.0f}/s done, {progress.given_up:,} given up; "
        f"95 % within {seconds(progress.latency_s_p95)}"
    )
    where = f"phase {progress.number} of {progress.count}: {progress.title}"
    when = f"{progress.elapsed_s:.0f} of {progress.duration_s:.0f} s"
    return [
        f"{where}, {when} (connections 1:{progress.scale:g})",
        f"{'server':<{_NAME}}{now}",
        f"{'pools':<{_NAME}}{pools}",
        f"{'transactions':<{_NAME}}{work}",
        f"{'queries':<{_NAME}}{one.queries_per_s:,.0f}/s; load average {one.load_average:.1f}",
    ]


def pooled_line(progress: PooledProgress) -> str:
    """Return the same in one line, for a log."""
    one = progress.sample
    return (
        f"{progress.elapsed_s:.0f} s (1:{progress.scale:g}): {one.connections:,} connections, {one.active:,} active; "
        f"{one.queries_per_s:,.0f} queries/s, {one.done_per_s:,.0f} of {one.arrivals_per_s:,.0f} transactions/s; "
        f"{progress.refused:,} refused, load {one.load_average:.1f}"
    )


def _held(progress: PooledProgress) -> str:
    return "longer than this phase" if progress.held_s is None else seconds(progress.held_s)
