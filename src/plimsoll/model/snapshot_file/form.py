"""The form of a snapshot file, as it is written today."""

from msgspec import field

from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import EventKind
from plimsoll.model.snapshot_file.database import ObservationRecord
from plimsoll.model.snapshot_file.instance import InstanceRecord
from plimsoll.model.snapshot_file.record import EpochTime, Record
from plimsoll.model.snapshot_file.session_load import SessionLoadRecord


class SeriesRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """
    One series: on a grid from `start_s` on, with null where nothing was measured, or with its times.

    Times are epoch seconds; a value belongs to the step that begins then.
    """

    metric: Metric
    step_s: int
    value: list[float | None]
    start_s: EpochTime | None = None
    time_s: list[int] | None = None


class GapRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Something that could not be read, and what would supply it."""

    metric: str
    reason: str
    remedy: str
    is_failed: bool = False


class AnnotationRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened at a moment."""

    time_s: EpochTime
    text: str
    kind: EventKind = EventKind.OTHER


class CreditClockRecord(Record, frozen=True, kw_only=True):
    """The relation of the series' times to real time."""

    ratio: float
    emulated_s: float
    real_s: float


class SnapshotRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The whole file."""

    schema: str
    instance: InstanceRecord
    source: str
    series: list[SeriesRecord]
    is_simulated: bool = False
    note: str = ""
    gaps: tuple[GapRecord, ...] = ()
    annotations: tuple[AnnotationRecord, ...] = ()
    fine: list[SeriesRecord] = field(default_factory=list)
    observation: ObservationRecord | None = None
    credit_clock: CreditClockRecord | None = None
    asked_s: tuple[EpochTime, EpochTime] | None = None
    session_load: SessionLoadRecord | None = None
