"""A snapshot: the result of one reading. `snapshot_file` writes and reads its file."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

import msgspec
import numpy as np
from msgspec import Struct

from plimsoll.model.database import Observation
from plimsoll.model.instance import Instance
from plimsoll.model.kept import EpochTime, Kept
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.session_load import SessionLoad


class Gap(Kept, frozen=True, kw_only=True, omit_defaults=True):
    """Something that could not be read, and what would supply it."""

    metric: str
    """Its name in CloudWatch."""
    reason: str
    """Why it is missing."""
    remedy: str
    """What would supply it; may be empty."""
    is_failed: bool = False
    """Whether a request for it was refused or answered in part; false where nothing could be requested."""


class EventKind(StrEnum):
    """The effect of an event on the metrics."""

    RESTORE = "restore"
    """Made from a snapshot or a point in time: the first read of each block is slow."""
    CLASS_CHANGE = "class_change"
    """Another instance class from here on, so other limits of the instance."""
    STORAGE_CHANGE = "storage_change"
    """Other storage from here on, so other limits of the volumes."""
    OPTIMISATION = "optimisation"
    """A storage modification in progress; the volumes serve rates between the old and the new limits."""
    CONVERSION = "conversion"
    """Became Multi-AZ: the standby's storage is loaded from a snapshot."""
    BACKUP = "backup"
    FAILOVER = "failover"
    RESTART = "restart"
    OTHER = "other"


class Annotation(Kept, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened at a moment, to be shown on the timeline."""

    time_s: EpochTime
    """When."""
    text: str
    """The text of the source."""
    kind: EventKind = EventKind.OTHER
    """Its effect on the metrics; `optimisation`: a storage modification in progress, `conversion`: became Multi-AZ."""


class CreditClock(Kept, frozen=True, kw_only=True):
    """The relation of a snapshot's times to real time, where a gate ran with a faster credit clock."""

    ratio: float
    """Emulated seconds in a real one, ≥ 1; rates are real all the same."""
    emulated_s: float
    """Of the series at one moment, epoch seconds."""
    real_s: float
    """That moment by every other clock, epoch seconds."""

    def real_of(self, emulated_s: float) -> float:
        """Return the real moment of one in the series, epoch seconds."""
        return self.real_s + (emulated_s - self.emulated_s) / self.ratio


class Snapshot(Struct, frozen=True, kw_only=True, eq=False):
    """One reading: the instance, its series, what was missing, and where it came from."""

    instance: Instance
    series: Mapping[Metric, Series]
    source: str
    """Where it came from, for people: `export folder ./metrics`, `host db1, device nvme1n1`."""
    is_simulated: bool = False
    """True where the numbers come from a simulator; every report says so."""
    note: str = ""
    """One sentence about the origin, printed in reports."""
    gaps: tuple[Gap, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    fine: Mapping[Metric, Series] = {}
    """The same quantities at a finer step, for a part of the window: what an average hides."""
    observation: Observation | None = None
    """What the database reported in the same time, or later; None where it was not asked. Its times are
    real, also where those of the series are emulated."""
    credit_clock: CreditClock | None = None
    """Of a gate; None where times are real."""
    asked_s: tuple[int, int] | None = None
    """The window that was asked for, epoch seconds [start, end); None where all there is was read."""
    session_load: SessionLoad | None = None
    """Who was active while a limit was reached; None where that was not asked, or none was reached."""

    @property
    def window_s(self) -> tuple[int, int] | None:
        """Return the first start and the last end over all series, epoch seconds; None without samples."""
        filled = [s for s in self.series.values() if s.time_s.size]
        if not filled:
            return None
        start = min(int(s.time_s[0]) for s in filled)
        end = max(int(s.time_s[-1]) + s.step_s for s in filled)
        return start, end

    def __eq__(self, other: object) -> bool:
        """Return whether all fields are equal."""
        if not isinstance(other, Snapshot):
            return NotImplemented
        return all(getattr(self, f) == getattr(other, f) for f in self.__struct_fields__)


def cut(snapshot: Snapshot, window_s: tuple[int, int]) -> Snapshot:
    """
    Return the part of a snapshot within a window.

    Args:
        snapshot: any.
        window_s: epoch seconds, [start, end); a sample belongs to the window in which it starts.

    Returns:
        The snapshot with the samples of the window. Series without any are left out. Annotations
        before the window stay, because an earlier event may explain it. `asked_s` is removed: it is
        another window. So is `session_load`, unless its stretch lies within the window.
    """
    load = snapshot.session_load
    is_inside = load is not None and window_s[0] <= load.during.start_s and load.during.end_s <= window_s[1]
    return msgspec.structs.replace(
        snapshot,
        series=_cut(snapshot.series, window_s),
        fine=_cut(snapshot.fine, window_s),
        annotations=tuple(a for a in snapshot.annotations if a.time_s < window_s[1]),
        asked_s=None,
        session_load=load if is_inside else None,
    )


def _cut(series: Mapping[Metric, Series], window_s: tuple[int, int]) -> dict[Metric, Series]:
    found = {}
    for metric, whole in series.items():
        first, last = np.searchsorted(whole.time_s, window_s, side="left")
        if first == 0 and last == whole.time_s.size:
            if last:
                found[metric] = whole
        elif first < last:
            found[metric] = replace(whole, time_s=whole.time_s[first:last], value=whole.value[first:last])
    return found
