"""Events of one's own, such as runs of a job or deploys, and the I/O that took place in their time."""

from msgspec import Struct

from plimsoll.model.written import Count, Moment, Positive, Ratio


class OwnEvent(Struct, frozen=True, kw_only=True):
    """One event from a file of the caller."""

    name: str
    start_s: int
    """Epoch seconds."""
    end_s: int | None = None
    """Epoch seconds, ≥ start_s; None for a moment, and for what had not ended."""
    kind: str = ""
    """`DAG run`, `deploy`; empty if the file has none."""
    is_running: bool = False
    """Whether it had begun and not ended when the file was written."""


class OwnEventFile(Struct, frozen=True, kw_only=True):
    """What a file of events holds."""

    name: str
    """Of the file, for people."""
    events: tuple[OwnEvent, ...]
    not_begun: int = 0
    """Runs of Airflow that had not begun, such as queued and skipped ones."""


class OwnEventIo(Struct, frozen=True, kw_only=True):
    """An event with the I/O of the whole instance while it ran."""

    number: int
    """Number of its name in `names`."""
    name: str
    """Name as in the file, cut at 120 characters."""
    kind: str
    """Kind as in the file; may be empty."""
    start_s: Moment
    """When it began; may be before the window."""
    end_s: Moment | None
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


class OwnEventName(Struct, frozen=True, kw_only=True):
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


class OwnEventsIo(Struct, frozen=True, kw_only=True):
    """The events of a file, with the I/O of their time."""

    file: str
    """Name of the file."""
    events: tuple[OwnEventIo, ...]
    """Events in the window, in order of time."""
    names: tuple[OwnEventName, ...]
    """The same by name, the name with the most bytes first."""
    ceiling_s: Positive
    """Seconds of the window at any ceiling."""
    ceiling_without_any_s: Positive
    """Seconds at a ceiling while none of the events ran."""
    outside_count: Count
    """Events of the file that lie outside the window."""
    not_begun: Count
    """Runs of Airflow in the file that had not begun."""
