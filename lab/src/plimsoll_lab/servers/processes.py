"""
End all processes below one of ours at once, as a machine that loses its power ends them.

Rule: no process gets time for a last word. What is listed is stopped first, so that nothing is started meanwhile.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def kill_below(pid: int) -> None:
    """
    Kill every process below a process of ours, which itself lives on.

    PostgreSQL's processes would otherwise outlive their postmaster until each of them looks for it, and could
    acknowledge a commit in between.

    Args:
        pid: a process that adopts the orphans below it (PR_SET_CHILD_SUBREAPER), so that none gets away.
    """
    stopped: set[int] = set()
    # A process may have started another one before it was stopped.
    while new := below(pid) - stopped:
        _send(signal.SIGSTOP, new)
        stopped |= new
    _send(signal.SIGKILL, stopped)


def below(pid: int) -> set[int]:
    """Return the processes below a process, whatever their depth; none if it is gone."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        children = _children(waiting.pop()) - found
        found |= children
        waiting.extend(children)
    return found


def _children(pid: int) -> set[int]:
    children: set[int] = set()
    # It may end while it is read.
    with suppress(OSError):
        # The kernel lists a child with the thread that started it.
        for thread in (_PROC / str(pid) / "task").iterdir():
            with suppress(OSError):
                children.update(map(int, (thread / "children").read_text().split()))
    return children


def _send(sign: signal.Signals, processes: set[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, sign)
