"""
Name the statements that waited for storage while a limit was reached.

A session that waits is counted where the source saw it: waiting for storage is no measure of bytes.
A statement with many short reads waits as long as one with few long ones.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from plimsoll.model.session_load import (
    MOST_KEYS,
    EventUse,
    KeyLoad,
    SessionLoad,
    SessionSpan,
    StatementLoad,
    StatementUse,
    StorageWait,
    WaitLoad,
    WaitRule,
)

# Below this many average sessions a statement is noise: half a session-second in a minute.
LEAST_SESSIONS = 0.01

# Wait events of one statement that are named; the rest adds little to its sum.
_EVENTS_NAMED = 4


def statement_load(load: SessionLoad, rules: Sequence[WaitRule]) -> StatementLoad | None:
    """
    Return who waited for storage in a stretch, and how that compares with a stretch without a limit.

    Args:
        load: what the source counted.
        rules: the wait events of the engine.

    Returns:
        None without rules: whether an event is I/O is then not known.
    """
    if not rules:
        return None
    during, outside = load.during, load.outside
    events = _events(during.waits, rules)
    io_sessions = _in(events, StorageWait.YES)
    statements = _uses(during.statements, rules, io_sessions)
    outside_events = None if outside is None else _events(outside.waits, rules)
    return StatementLoad(
        why=load.why,
        start_s=during.start_s,
        end_s=during.end_s,
        sessions=sum(e.sessions for e in events),
        io_sessions=io_sessions,
        unclear_sessions=_in(events, StorageWait.UNCLEAR),
        events=events,
        statements=tuple(_compared(use, outside, rules) for use in statements),
        users=_uses(during.users, rules, io_sessions),
        hosts=_uses(during.hosts, rules, io_sessions),
        outside_start_s=None if outside is None else outside.start_s,
        outside_end_s=None if outside is None else outside.end_s,
        outside_sessions=None if outside_events is None else sum(e.sessions for e in outside_events),
        outside_io_sessions=None if outside_events is None else _in(outside_events, StorageWait.YES),
        listed_share=min(sum(use.io_share for use in statements), 1.0),
    )


def meaning_of(wait: WaitLoad, rules: Sequence[WaitRule]) -> tuple[StorageWait, str]:
    """Return whether a wait event is for storage, and for which work; the most specific rule counts."""
    names = {name.lower() for name in _names(wait)}
    fitting = [rule for rule in rules if any(_fits(rule.event.lower(), name) for name in names)]
    if not fitting:
        return StorageWait.NO, ""
    best = max(fitting, key=lambda rule: (not rule.event.endswith("*"), len(rule.event)))
    return best.storage, best.work


def _names(wait: WaitLoad) -> tuple[str, ...]:
    """Return the forms of a name: sources write `IO:DataFileRead` or leave the type to its own field."""
    bare = wait.name.removeprefix("wait/").removeprefix(f"{wait.type}:")
    return (bare, f"{wait.type}:{bare}") if wait.type else (bare,)


def _fits(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _shown_name(wait: WaitLoad) -> str:
    """Return the name as the console shows it: with its type where the name does not imply it."""
    bare, *typed = _names(wait)
    if not typed or "/" in bare or bare.lower() == wait.type.lower() or bare.isupper():
        return bare
    return typed[0]


def _events(waits: Iterable[WaitLoad], rules: Sequence[WaitRule]) -> tuple[EventUse, ...]:
    found = []
    for wait in waits:
        storage, work = meaning_of(wait, rules)
        found.append(EventUse(name=_shown_name(wait), sessions=wait.sessions, storage=storage, work=work))
    return tuple(sorted(found, key=lambda e: (-e.sessions, e.name)))


def _in(events: Iterable[EventUse], storage: StorageWait) -> float:
    return float(sum(e.sessions for e in events if e.storage is storage))


def _uses(keys: Iterable[KeyLoad], rules: Sequence[WaitRule], io_sessions: float) -> tuple[StatementUse, ...]:
    """Return the keys that waited for storage, the largest first."""
    found = [_use(key, rules, io_sessions) for key in keys]
    found = [u for u in found if max(u.io_sessions, u.unclear_sessions) >= LEAST_SESSIONS]
    return tuple(sorted(found, key=lambda u: (-u.io_sessions, -u.sessions, u.id, u.text)))


def _use(key: KeyLoad, rules: Sequence[WaitRule], io_sessions: float) -> StatementUse:
    events = _events(key.waits, rules)
    mine = _in(events, StorageWait.YES)
    return StatementUse(
        id=key.id,
        text=key.text,
        sessions=key.sessions,
        io_sessions=mine,
        unclear_sessions=_in(events, StorageWait.UNCLEAR),
        # The whole and its parts are rounded by the source, so that a part can exceed the whole.
        io_share=min(mine / io_sessions, 1.0) if io_sessions > 0 else 0.0,
        events=events[:_EVENTS_NAMED],
        outside_io_sessions=None,
    )


def _compared(use: StatementUse, outside: SessionSpan | None, rules: Sequence[WaitRule]) -> StatementUse:
    """Return a statement with its waiting for storage outside the stretch."""
    if outside is None:
        return use
    mine = (use.id, "" if use.id else use.text)
    same = next((k for k in outside.statements if (k.id, "" if k.id else k.text) == mine), None)
    if same is not None:
        there = _in(_events(same.waits, rules), StorageWait.YES)
        return replace(use, outside_io_sessions=there)
    # A list that is not full has every statement; a full one ends with the largest that may be missing.
    is_full = len(outside.statements) >= MOST_KEYS
    least = min((k.sessions for k in outside.statements), default=0.0)
    return replace(use, outside_io_sessions=least if is_full else 0.0, outside_is_bound=is_full)
