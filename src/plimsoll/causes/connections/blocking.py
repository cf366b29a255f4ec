"""
Find sessions that wait for a lock, and the session that holds it.

Rule 1: short waits for row locks are normal. The severity depends on the longest wait and on their number.
Rule 2: the root blocker is named, not the sessions in between, which also wait.
Rule 3: terminating a session is the reader's decision, so that command is the last suggestion.
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

# Judgements. Users do not notice a lock of less than a second; after five seconds they try again, after a
# minute clients time out.
_NOTABLE_S, _LONG_S, _GRAVE_S = 1.0, 5.0, 60.0
# A judgement: fewer short waits at once, on average, are normal.
_CONTENDING_LEAST = 4.0
_LINES_MOST = 8
_NAMED_MOST = 6
# `pg_blocking_pids` returns 0 for a prepared transaction, which has no process (manual, "System Information
# Functions").
PREPARED_PID = 0


class Tree(Struct, frozen=True, kw_only=True):
    """Which sessions wait for which, at one glance."""

    root: int
    """Process that most sessions wait for and that does not wait; 0 for a prepared transaction."""
    children: dict[int, tuple[int, ...]]
    """By process, the processes that wait for it directly."""
    behind: int
    """How many wait for the root, directly or indirectly."""


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return the glance with the most lock waits; else many short lock waits, if any."""
    del budget  # Lock waits move no bytes.
    worst = max(observation.glances, key=_weight, default=None)
    if worst is None or not worst.lock_waits:
        return ()
    longest_s = _longest_s(worst)
    if longest_s < _NOTABLE_S:
        return _contention(observation)
    tree = tree_of(worst)
    return (_blocked(observation, worst, tree, longest_s),)


def tree_of(glance: Glance) -> Tree:
    """Return the tree of waits, in which each waiter is below its blocker nearest to a root."""
    waits = {wait.pid: wait.blocked_by for wait in glance.lock_waits}
    roots = {pid for by in waits.values() for pid in by if pid not in waits}
    # Processes that wait for each other (a deadlock) have no root until the server cancels one.
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
    return Tree(root=root, children={pid: tuple(below) for pid, below in children.items()}, behind=counted[root])


def _below(pid: int, children: Mapping[int, Sequence[int]]) -> int:
    return sum(1 + _below(child, children) for child in children.get(pid, ()))


def _weight(glance: Glance) -> tuple[int, float]:
    return len(glance.lock_waits), _longest_s(glance)


def _longest_s(glance: Glance) -> float:
    pids = {wait.pid for wait in glance.lock_waits}
    return seen.oldest_s([s for s in glance.sessions if s.pid in pids]) or 0.0


def _blocked(observation: Observation, glance: Glance, tree: Tree, longest_s: float) -> Cause:
    count = len([s for s in glance.sessions if s.wait_event_type == "Lock"])
    most = seen.usable_connections(observation)
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
            *_root_evidence(tree.root, root),
            *(Evidence(kind="tree", text=line) for line in _lines(tree, by_pid)),
        ),
        remedies=_remedies(tree.root, root),
        refuted_by="In the next sample other sessions hold the lock, each for less than a second.",
    )


def _severity(share: float, longest_s: float) -> Severity:
    if longest_s >= _GRAVE_S or share >= seen.BLOCKED_SHARES[1]:
        return "critical"
    return "warning" if longest_s >= _LONG_S or share >= seen.BLOCKED_SHARES[0] else "note"


def _who(pid: int, session: Session | None) -> str:
    if pid == PREPARED_PID:
        return "a prepared transaction"
    return f"process {pid}" + (f" of {seen.holder_of(session)}" if session is not None else "")


def _root_evidence(pid: int, session: Session | None) -> tuple[Evidence, ...]:
    if pid == PREPARED_PID:
        text = "a prepared transaction has no session; pg_prepared_xacts lists it with its name"
        return (Evidence(kind="blocker", text=text),)
    if session is None:
        return (Evidence(kind="blocker", text=f"process {pid} is not visible to this role"),)
    state = session.state or "state hidden"
    text = f"process {pid}, {seen.holder_of(session)}: {state}"
    if session.state_s is not None:
        text += f" for {format_duration(session.state_s)}"
    if session.transaction_s is not None:
        text += f", its transaction is open for {format_duration(session.transaction_s)}"
    found = [Evidence(kind="blocker", text=text, value=session.transaction_s)]
    if session.statement:
        which = "Its statement" if session.state == seen.ACTIVE else "Its last statement"
        found.append(Evidence(kind="statement", text=f"{which}: {session.statement}"))
    return tuple(found)


def _lines(tree: Tree, by_pid: Mapping[int, Session]) -> list[str]:
    """Return the tree as lines, one for each blocker, from the root down."""
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
        lines.append(f"{name} blocks {named}{more}")
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
                text="Let the transaction manager that prepared it end it. If that no longer exists, end it "
                "by its name.",
                commands=(
                    "SELECT gid, prepared, owner, database FROM pg_prepared_xacts;",
                    "ROLLBACK PREPARED '<gid>';",
                ),
            ),
        )
    is_idle = session is not None and session.state in (seen.IN_TRANSACTION, seen.ABORTED)
    first = (
        Remedy(text="Make its application commit or roll back: it holds the lock and is idle.")
        if is_idle
        else Remedy(
            text="If it can be repeated later, cancel its statement; its transaction then fails.",
            commands=(f"SELECT pg_cancel_backend({pid});",),
        )
    )
    return (
        first,
        Remedy(
            text="If that is not possible, terminate its session. Its transaction is rolled back. Check "
            "what it does first.",
            commands=(f"SELECT pg_terminate_backend({pid});",),
            expected="The waiting sessions continue at once.",
        ),
        Remedy(
            text="Limit such waits: DDL with a lock_timeout fails early instead of blocking others, and the "
            "server ends idle transactions.",
            commands=("SET lock_timeout = '2s';",),
            settings=(("idle_in_transaction_session_timeout", "60s"),),
        ),
    )


def _contention(observation: Observation) -> tuple[Cause, ...]:
    """Return a note about many short lock waits: many sessions change the same rows."""
    counts = [
        sum(s.wait_event_type == "Lock" for s in seen.in_state(glance, seen.ACTIVE)) for glance in observation.glances
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
            title=f"On average {number(mean, 3)} sessions wait for each other's locks, each for less "
            f"than {format_duration(_NOTABLE_S)}.",
            text="Many transactions change the same rows, so they run one after another. More sessions "
            "only make the queue longer.",
            remedies=(
                Remedy(
                    text="Change such rows last in the transaction, so that locks are short. Or collect the "
                    "changes and apply them together."
                ),
            ),
            refuted_by="The waits are for different rows, held by one statement after another.",
        ),
    )
