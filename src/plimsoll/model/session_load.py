"""Active sessions of a stretch of time by wait event and statement, and what they say of I/O."""

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from plimsoll.model.ceiling import Origin
from plimsoll.model.kept import Kept
from plimsoll.model.written import Moment, Positive, Ratio

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

    engine: Literal["postgres", "mysql", "oracle", "sqlserver"]
    event: str
    """Name, or `type:name`; a `*` at the end stands for any rest."""
    storage: StorageWait
    work: str
    """`data reads`, `log writes`, `temporary files` …"""
    origin: Origin


class EventUse(Struct, frozen=True, kw_only=True):
    """A wait event with its sessions and its meaning."""

    name: str
    """As the console shows it: `IO:DataFileRead`."""
    sessions: Positive
    """Average active sessions in it."""
    storage: StorageWait
    """Whether a session in it waits for storage; `unclear`: the event covers work in memory and I/O."""
    work: str
    """The work it is for, such as `data reads` or `log`; empty for an event that does not concern storage."""


class StatementUse(Struct, frozen=True, kw_only=True):
    """One statement, user or host as a share of the waiting for I/O."""

    id: str
    """Id of the source; empty if it gave none."""
    text: str
    """The statement without its literals, cut at 500 characters, or the name."""
    sessions: Positive
    """Average active sessions, at work or waiting."""
    io_sessions: Positive
    """Of these, the sessions that waited for storage."""
    unclear_sessions: Positive
    """Of these, the sessions in events that may be I/O."""
    io_share: Ratio
    """Share of all sessions that waited for storage."""
    events: tuple[EventUse, ...]
    """Its largest wait events."""
    outside_io_sessions: Positive | None
    """Sessions that waited for storage in the stretch without a limit; null if not known."""
    outside_is_bound: bool = False
    """Whether that number is an upper bound: the statement was not among the top 25 there."""


class StatementLoad(Struct, frozen=True, kw_only=True):
    """The statements of a stretch at a limit, by what they waited for."""

    why: StretchKind
    """Why this stretch: a ceiling was reached in it, or requests waited in it and no ceiling explains that."""
    start_s: Moment
    """Begin of the stretch, the longest of its kind in the window."""
    end_s: Moment
    """End of it."""
    sessions: Positive
    """Average active sessions."""
    io_sessions: Positive
    """Of these, the sessions that waited for storage."""
    unclear_sessions: Positive
    """Of these, the sessions in events that may be I/O."""
    events: tuple[EventUse, ...]
    """All wait events, the largest first."""
    statements: tuple[StatementUse, ...]
    """Statements that waited for storage, the largest first; of the 25 with the most sessions."""
    users: tuple[StatementUse, ...]
    """The same by user of the database."""
    hosts: tuple[StatementUse, ...]
    """The same by host of the client."""
    outside_start_s: Moment | None
    """Begin of the longest stretch without a ceiling and without waiting; null if there is none."""
    outside_end_s: Moment | None
    """End of it."""
    outside_sessions: Positive | None
    """Average active sessions in it."""
    outside_io_sessions: Positive | None
    """Of these, the sessions that waited for storage."""
    listed_share: Ratio
    """Share of the waiting for storage that `statements` account for."""
