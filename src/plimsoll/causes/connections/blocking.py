"""
Sessions that wait for a lock that another one holds: who holds it, who waits behind whom, what to do.

Rule 1: short waits for rows are how a database works; what counts is how long somebody has waited, and how
        many do.
Rule 2: the one at the root is named, not those in between, who only wait themselves.
Rule 3: ending somebody's session is that person's decision: the command is a suggestion, the last one.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget
from plimsoll.causes.connections import sessions as seen
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Glance, Observation, Session
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.severity import Severity
from plimsoll.units import format_duration, number

# Judgements. Nobody notices a row that is locked for less than a second; after five seconds somebody has
# pressed the button again, after a minute clients give up.
_NOTABLE_S, _LONG_S, _GRAVE_S = 1.0, 5.0, 60.0
# Shares of all usable connections that wait: as of those idle in transaction.
_SHARES = (0.1, 0.25)
# Fewer short waits than this at once, on average, are not worth a line.
_CONTENDING_LEAST = 4.0
_LINES_MOST = 8
_NAMED_MOST = 6
# How `pg_blocking_pids` names a prepared transaction, which has no process.
PREPARED_PID = 0


class Tree(Struct, frozen=True, kw_only=True):
    """Who waits for whom at one glance."""

    root: int
    """Process that the most wait for and that does not wait itself; 0 for a prepared transaction."""
    children: dict[int, tuple[int, ...]]
    """By process those that wait for it first of all, the longest first."""
    behind: int
    """How many wait for the root, directly or not."""


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return the worst pile-up that was seen; else that many short waits for locks were."""
    del budget  # Who waits moves no bytes.
    worst = max(observation.glances, key=_weight, default=None)
    if worst is None or not worst.lock_waits:
        return ()
    longest_s = _longest_s(worst)
    if longest_s < _NOTABLE_S:
        return _contention(observation)
    tree = tree_of(worst)
    return (_pile_up(observation, worst, tree, longest_s),)


def tree_of(glance: Glance) -> Tree:
    """Return each that waits stands below the one nearest to a root that it waits for."""
    waits = {wait.pid: wait.blocked_by for wait in glance.lock_waits}
    roots = {pid for by in waits.values() for pid in by if pid not in waits}
    # Processes that wait for each other in a ring have no root until the server breaks it.
    level = dict.fromkeys(roots or set(list(waits)[:1]), 0)
    children: dict[int, list[int]] = {}
    todo = list(level)
    while todo:
        parent = todo.pop(0)
        for pid, by in waits.items():
            if pid not in level and parent in by:
                level[pid] = level[parent] + 1
                children.setdefault(parent, []).append(pid)
                todo.append(pid)
    counted = {root: _below(root, children) for root in level if level[root] == 0}
    root = max(counted, key=lambda pid: (counted[pid], -pid))
    return Tree(
        root=root,
        children={pid: tuple(below) for pid, below in children.items()},
        behind=counted[root],
    )


def _below(pid: int, children: Mapping[int, Sequence[int]]) -> int:
    return sum(1 + _below(child, children) for child in children.get(pid, ()))


def _weight(glance: Glance) -> tuple[int, float]:
    return len(glance.lock_waits), _longest_s(glance)


def _longest_s(glance: Glance) -> float:
    pids = {wait.pid for wait in glance.lock_waits}
    return seen.oldest_s([s for s in glance.sessions if s.pid in pids]) or 0.0


def _pile_up(observation: Observation, glance: Glance, tree: Tree, longest_s: float) -> Cause:
    count = len([s for s in glance.sessions if s.wait_event_type == "Lock"])
    most = max(observation.server.connection_max - observation.server.reserved_connections, 1)
    by_pid = {session.pid: session for session in glance.sessions}
    root = by_pid.get(tree.root)
    waiting = f"{count} session waits" if count == 1 else f"{count} sessions wait"
    others = "" if tree.behind >= count else f" ({tree.behind} of them behind it)"
    return Cause(
        kind=CauseKind.LOCKS,
        code="BlockedSessions",
        severity=_severity(count / most, longest_s),
        subject=_who(tree.root, root),
        title=f"{waiting} for a lock that {_who(tree.root, root)} holds, for up to "
        f"{format_duration(longest_s)}{others}.",
        text="They use no CPU and no storage, so a larger pool or machine does not help. Each "
        "keeps its connection and its locks while it waits.",
        evidence=(
            *_of_root(tree.root, root),
            *(Evidence(kind="tree", text=line) for line in _lines(tree, by_pid)),
        ),
        remedies=_remedies(tree.root, root),
        refuted_by="In the next sample other sessions hold the lock, each for less than a second.",
    )


def _severity(share: float, longest_s: float) -> Severity:
    if longest_s >= _GRAVE_S or share >= _SHARES[1]:
        return "critical"
    return "warning" if longest_s >= _LONG_S or share >= _SHARES[0] else "note"


def _who(pid: int, session: Session | None) -> str:
    if pid == PREPARED_PID:
        return "a prepared transaction"
    return f"process {pid}" + (f" of {seen.holder_of(session)}" if session is not None else "")


def _of_root(pid: int, session: Session | None) -> tuple[Evidence, ...]:
    if pid == PREPARED_PID:
        told = "a prepared transaction has no session; pg_prepared_xacts lists it with its name"
        return (Evidence(kind="blocker", text=told),)
    if session is None:
        return (Evidence(kind="blocker", text=f"process {pid} is not visible to this role"),)
    state = session.state or "in a state that is hidden"
    told = f"process {pid}, {seen.holder_of(session)}: {state}"
    if session.state_s is not None:
        told += f" for {format_duration(session.state_s)}"
    if session.transaction_s is not None:
        told += f", its transaction is open for {format_duration(session.transaction_s)}"
    found = [Evidence(kind="blocker", text=told, value=session.transaction_s)]
    if session.statement:
        which = "Its statement" if session.state == seen.ACTIVE else "Its last statement"
        found.append(Evidence(kind="statement", text=f"{which}: {session.statement}"))
    return tuple(found)


def _lines(tree: Tree, by_pid: Mapping[int, Session]) -> list[str]:
    """Return the tree, a line for each that others wait for, from the root down."""
    lines: list[str] = []
    todo = [tree.root]
    while todo and len(lines) < _LINES_MOST:
        parent = todo.pop(0)
        below = tree.children.get(parent, ())
        if not below:
            continue
        named = ", ".join(_named(pid, by_pid.get(pid)) for pid in below[:_NAMED_MOST])
        more = f" and {len(below) - _NAMED_MOST} more" if len(below) > _NAMED_MOST else ""
        name = "the prepared transaction" if parent == PREPARED_PID else f"process {parent}"
        lines.append(f"{name} holds back {named}{more}")
        todo += below
    return lines


def _named(pid: int, session: Session | None) -> str:
    if session is None or session.state_s is None:
        return str(pid)
    return f"{pid} ({format_duration(session.state_s)})"


def _remedies(pid: int, session: Session | None) -> tuple[Remedy, ...]:
    if pid == PREPARED_PID:
        return (
            Remedy(
                text="Ask the transaction manager that prepared it to end it; if there is none any "
                "more, end it by its name.",
                commands=(
                    "SELECT gid, prepared, owner, database FROM pg_prepared_xacts;",
                    "ROLLBACK PREPARED '<gid>';",
                ),
            ),
        )
    is_idle = session is not None and session.state in (seen.IN_TRANSACTION, seen.ABORTED)
    first = (
        Remedy(text="Have its program commit or roll back: it holds the lock and does nothing.")
        if is_idle
        else Remedy(
            text="If it may be done again later, cancel its statement; its transaction then fails.",
            commands=(f"SELECT pg_cancel_backend({pid});",),
        )
    )
    return (
        first,
        Remedy(
            text="If nobody can end it, end its session. What it did since it began is undone. This is "
            "a suggestion: look at what it does first.",
            commands=(f"SELECT pg_terminate_backend({pid});",),
            expected="Those that wait go on within a moment.",
        ),
        Remedy(
            text="Bound such waits: a change of a table gives up soon instead of queueing everybody, and "
            "a transaction that does nothing is ended.",
            commands=(
                "SET lock_timeout = '2s';",
                "ALTER SYSTEM SET idle_in_transaction_session_timeout = '60s';",
                "SELECT pg_reload_conf();",
            ),
        ),
    )


def _contention(observation: Observation) -> tuple[Cause, ...]:
    """Return many that wait at every glance, none of them long: rows that everybody changes."""
    counts = [
        sum(s.wait_event_type == "Lock" for s in seen.in_state(glance, seen.ACTIVE))
        for glance in observation.glances
    ]
    mean = sum(counts) / len(counts)
    if mean < _CONTENDING_LEAST:
        return ()
    return (
        Cause(
            kind=CauseKind.LOCKS,
            code="LockContention",
            severity="note",
            subject="",
            title=f"{number(mean, 3)} sessions wait for locks of each other on average, each for less "
            f"than {format_duration(_NOTABLE_S)}.",
            text="Many transactions change the same rows: they are done one after the other, and more "
            "sessions only wait in a longer queue.",
            remedies=(
                Remedy(
                    text="Change such rows last in the transaction, so that each lock is held for a "
                    "shorter time; or collect the changes and apply them together."
                ),
            ),
            refuted_by="The waits are for different rows, held by one statement after another.",
        ),
    )
