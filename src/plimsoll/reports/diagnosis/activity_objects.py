"""The objects of the JSON report about statements and about the caller's own events."""

from msgspec import Struct

from plimsoll.model.session_load import StorageWait, StretchKind
from plimsoll.reports.render.json_values import Count, Moment, Positive, Ratio


class EventUseObject(Struct, frozen=True, kw_only=True):
    """A wait event with its sessions."""

    name: str
    """As the console shows it: `IO:DataFileRead`."""
    sessions: Positive
    """Average active sessions in it."""
    storage: StorageWait
    """Whether a session in it waits for storage; `unclear`: the event covers work in memory and I/O."""
    work: str
    """The work it is for, such as `data reads` or `log`; empty for an event that does not concern storage."""


class StatementUseObject(Struct, frozen=True, kw_only=True):
    """A statement, user or host by what its sessions waited for."""

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
    events: tuple[EventUseObject, ...]
    """Its largest wait events."""
    outside_io_sessions: Positive | None
    """Sessions that waited for storage in the stretch without a limit; null if not known."""
    outside_is_bound: bool
    """Whether that number is an upper bound: the statement was not among the top 25 there."""


class StatementLoadObject(Struct, frozen=True, kw_only=True):
    """Who waited for storage while a limit was reached, as Performance Insights counted it."""

    why: StretchKind
    """Why this stretch: a ceiling was reached in it, or requests waited in it and no ceiling explains that."""
    start: Moment
    """Begin of the stretch, the longest of its kind in the window."""
    end: Moment
    """End of it."""
    sessions: Positive
    """Average active sessions."""
    io_sessions: Positive
    """Of these, the sessions that waited for storage."""
    unclear_sessions: Positive
    """Of these, the sessions in events that may be I/O."""
    events: tuple[EventUseObject, ...]
    """All wait events, the largest first."""
    statements: tuple[StatementUseObject, ...]
    """Statements that waited for storage, the largest first; of the 25 with the most sessions."""
    users: tuple[StatementUseObject, ...]
    """The same by user of the database."""
    hosts: tuple[StatementUseObject, ...]
    """The same by host of the client."""
    listed_share: Ratio
    """Share of the waiting for storage that `statements` account for."""
    outside_start: Moment | None
    """Begin of the longest stretch without a ceiling and without waiting; null if there is none."""
    outside_end: Moment | None
    """End of it."""
    outside_sessions: Positive | None
    """Average active sessions in it."""
    outside_io_sessions: Positive | None
    """Of these, the sessions that waited for storage."""


class OwnEventObject(Struct, frozen=True, kw_only=True):
    """An event of the caller with the I/O of the whole instance while it ran."""

    number: int
    """Number of its name in `names`."""
    name: str
    """Name as in the file, cut at 120 characters."""
    kind: str
    """Kind as in the file; may be empty."""
    start: Moment
    """When it began; may be before the window."""
    end: Moment | None
    """When it ended; null for a moment, and for what had not ended."""
    is_running: bool
    """Whether it had not ended when the file was written."""
    seconds: Positive
    """Seconds of it within the window; 0 for a moment."""
    measured_s: Positive
    """Of those, the seconds for which bytes were measured."""
    read_bytes: Positive | None
    """Bytes read in the measured seconds; null if none was measured."""
    written_bytes: Positive | None
    """Bytes written in them."""
    operations: Positive | None
    """Reads and writes in that time, as the metrics count them."""
    share_of_bytes: Ratio | None
    """Share of all bytes of the window. Events that overlap have the same bytes: shares add up to more than 1."""
    ceiling_s: Positive
    """Seconds of it at a ceiling."""
    is_at_ceiling: bool
    """Whether a ceiling was reached at any moment of it."""
    together: tuple[str, ...]
    """Names of other events that ran in the same time, the longest overlap first; at most five."""
    together_count: Count
    """Number of other events that ran in the same time."""


class OwnEventNameObject(Struct, frozen=True, kw_only=True):
    """All events of one name."""

    number: int
    """Rank by bytes, from 1."""
    name: str
    """Name as in the file."""
    kind: str
    """Kind of the first of them."""
    count: Count
    """Events of that name in the window."""
    seconds: Positive
    """Seconds of the window in which at least one of them ran."""
    bytes: Positive | None
    """Bytes read and written in that time; null if not measured."""
    share_of_bytes: Ratio | None
    """Share of all bytes of the window."""
    share_of_window: Ratio
    """Share of the time of the window."""
    ceiling_s: Positive
    """Seconds at a ceiling while at least one of them ran."""
    ceiling_without_s: Positive
    """Seconds at a ceiling while none of them ran."""


class OwnEventsObject(Struct, frozen=True, kw_only=True):
    """The events of the file that `--events` names."""

    file: str
    """Name of the file."""
    events: tuple[OwnEventObject, ...]
    """Events in the window, in order of time."""
    names: tuple[OwnEventNameObject, ...]
    """The same by name, the name with the most bytes first."""
    ceiling_s: Positive
    """Seconds of the window at any ceiling."""
    ceiling_without_any_s: Positive
    """Seconds at a ceiling while none of the events ran."""
    outside_count: Count
    """Events of the file that lie outside the window."""
    not_begun: Count
    """Runs of Airflow in the file that had not begun."""
