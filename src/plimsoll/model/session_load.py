"""Active sessions of a stretch of time by wait event and statement, and what they say of I/O."""

from enum import StrEnum

from msgspec import Struct

from plimsoll.model.ceiling import Origin
from plimsoll.model.kept import Kept

MOST_KEYS = 25
"""Statements, users or hosts in an answer of Performance Insights: its largest Limit (API Reference, 2026-11)."""


class WaitLoad(Kept, frozen=True, kw_only=True, omit_defaults=True):
    """Sessions that waited for one event."""

    type: str
    """As the source names it: `IO`, `CPU`, `User I/O`; empty where it gives none."""
    name: str
    """`DataFileRead`, `io/file/innodb/innodb_data_file`, `PAGEIOLATCH_SH`"""
    sessions: float
    """Average active sessions over the stretch."""


class KeyLoad(Kept, frozen=True, kw_only=True, omit_defaults=True):
    """Sessions of one statement, user or host."""

    id: str
    """Of the source; empty where it gives none."""
    text: str
    """Statement without its literals, cut and without control characters; or a name."""
    sessions: float
    """Average active sessions over the stretch, at work or waiting."""
    waits: tuple[WaitLoad, ...] = ()
    """The part of them in each wait event."""


class SessionSpan(Kept, frozen=True, kw_only=True, omit_defaults=True):
    """The sessions of one stretch of time."""

    start_s: int
    end_s: int
    """Epoch seconds, [start, end), as the source aligned them."""
    waits: tuple[WaitLoad, ...] = ()
    """All sessions by wait event; together they are the load."""
    statements: tuple[KeyLoad, ...] = ()
    """The statements with the most active sessions, at most 25."""
    users: tuple[KeyLoad, ...] = ()
    hosts: tuple[KeyLoad, ...] = ()


class StretchKind(StrEnum):
    """Why a stretch was asked about."""

    CEILING = "ceiling"
    """A limit was reached in it."""
    WAITING = "waiting"
    """Requests waited in it, and no limit explains it."""


class SessionLoad(Kept, frozen=True, kw_only=True, omit_defaults=True):
    """Who was active while a limit was reached, and in a stretch in which none was."""

    why: StretchKind
    during: SessionSpan
    outside: SessionSpan | None = None
    """The longest stretch of the window without a limit and without waiting; None if there is none."""


class StorageWait(StrEnum):
    """Whether a session in a wait event waits for storage."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"
    """The event covers work in memory and I/O."""


class WaitRule(Struct, frozen=True, kw_only=True):
    """The meaning of wait events of one engine family."""

    engine: str
    """`postgres`, `mysql`, `oracle` or `sqlserver`"""
    event: str
    """Name, or `type:name`; a `*` at the end stands for any rest."""
    storage: StorageWait
    work: str
    """`data reads`, `log writes`, `temporary files` …"""
    origin: Origin


class EventUse(Struct, frozen=True, kw_only=True):
    """A wait event with its sessions and its meaning."""

    name: str
    sessions: float
    storage: StorageWait
    work: str
    """Empty for an event that does not concern storage."""


class StatementUse(Struct, frozen=True, kw_only=True):
    """One statement, user or host as a share of the waiting for I/O."""

    id: str
    text: str
    sessions: float
    io_sessions: float
    """Average sessions that waited for storage."""
    unclear_sessions: float
    """Average sessions in events that may be I/O."""
    io_share: float
    """Of all sessions that waited for storage, 0–1."""
    events: tuple[EventUse, ...]
    """Its largest wait events."""
    outside_io_sessions: float | None
    """The same outside the stretch; None if that is not known."""
    outside_is_bound: bool = False
    """Whether that is an upper bound: it was not among the top statements there."""


class StatementLoad(Struct, frozen=True, kw_only=True):
    """The statements of a stretch at a limit, by what they waited for."""

    why: StretchKind
    start_s: int
    end_s: int
    sessions: float
    """Average active sessions, at work or waiting."""
    io_sessions: float
    unclear_sessions: float
    events: tuple[EventUse, ...]
    """All wait events of the stretch, the largest first."""
    statements: tuple[StatementUse, ...]
    """Those that waited for storage, the largest share first."""
    users: tuple[StatementUse, ...]
    hosts: tuple[StatementUse, ...]
    outside_start_s: int | None
    outside_end_s: int | None
    outside_sessions: float | None
    outside_io_sessions: float | None
    listed_share: float
    """Share of the waiting for storage that `statements` account for, 0–1."""
