"""Active sessions by wait event and statement, in the form of a snapshot file."""

from plimsoll.model.session_load import StretchKind
from plimsoll.model.snapshot_file.record import Record


class WaitLoadRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Sessions that waited for one event."""

    type: str
    name: str
    sessions: float


class KeyLoadRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Sessions of one statement, user or host."""

    id: str
    text: str
    sessions: float
    waits: tuple[WaitLoadRecord, ...] = ()


class SessionSpanRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The sessions of one stretch of time."""

    start_s: int
    end_s: int
    waits: tuple[WaitLoadRecord, ...] = ()
    statements: tuple[KeyLoadRecord, ...] = ()
    users: tuple[KeyLoadRecord, ...] = ()
    hosts: tuple[KeyLoadRecord, ...] = ()


class SessionLoadRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Who was active while a limit was reached, and outside of that."""

    why: StretchKind
    during: SessionSpanRecord
    outside: SessionSpanRecord | None = None
