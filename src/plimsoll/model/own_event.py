"""Events of one's own, such as runs of a job or deploys, and the I/O that took place in their time."""

from msgspec import Struct


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
    """Rank of its name in the report, from 1."""
    name: str
    kind: str
    start_s: int
    end_s: int | None
    """Epoch seconds as the file has them; None for a moment, and for what had not ended."""
    is_running: bool
    seconds: float
    """Of it within the window; 0 for a moment."""
    measured_s: float
    """Of those, the seconds for which bytes were measured."""
    read_bytes: float | None
    written_bytes: float | None
    """None where not measured."""
    operations: float | None
    share_of_bytes: float | None
    """Of all bytes read and written in the window, 0–1."""
    ceiling_s: float
    """Seconds of it at a limit."""
    is_at_ceiling: bool
    """Whether a limit was reached at any moment of it."""
    together: tuple[str, ...]
    """Names of other events that ran in the same time, the longest overlap first, at most five."""
    together_count: int
    """Number of other events that ran in the same time."""


class OwnEventName(Struct, frozen=True, kw_only=True):
    """All events of one name."""

    number: int
    name: str
    kind: str
    count: int
    seconds: float
    """Seconds of the window in which at least one of them ran."""
    bytes: float | None
    """Read and written in that time."""
    share_of_bytes: float | None
    share_of_window: float
    ceiling_s: float
    """Seconds at a limit while at least one of them ran."""
    ceiling_without_s: float
    """Seconds at a limit while none of them ran."""


class OwnEventsIo(Struct, frozen=True, kw_only=True):
    """The events of a file, with the I/O of their time."""

    file: str
    events: tuple[OwnEventIo, ...]
    """Those in the window, in order of time."""
    names: tuple[OwnEventName, ...]
    """The name with the most bytes first."""
    ceiling_s: float
    """Seconds of the window at any limit."""
    ceiling_without_any_s: float
    """Seconds at a limit while none of them ran."""
    outside_count: int
    """Events that lie outside the window."""
    not_begun: int
