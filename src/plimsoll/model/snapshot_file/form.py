"""The form of a snapshot file, as it is written today: the model's own values, and series as lists of numbers."""

from msgspec import UNSET, Struct, field

from plimsoll.model.database import Observation
from plimsoll.model.instance import Instance
from plimsoll.model.kept import EpochTime
from plimsoll.model.metric import Metric
from plimsoll.model.session_load import SessionLoad
from plimsoll.model.snapshot import Annotation, CreditClock, Gap


class SeriesRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """
    One series: on a grid from `start_s` on, with null where nothing was measured, or with its times.

    Times are epoch seconds; a value belongs to the step that begins then.
    """

    metric: Metric
    step_s: int
    value: list[float | None]
    start_s: EpochTime | None = None
    time_s: list[int] | None = None


class SnapshotRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The whole file."""

    schema: str
    instance: Instance
    source: str
    series: list[SeriesRecord]
    is_simulated: bool = False
    note: str = ""
    gaps: tuple[Gap, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    fine: list[SeriesRecord] = field(default_factory=list)
    observation: Observation | None = None
    credit_clock: CreditClock | None = None
    asked_s: tuple[EpochTime, EpochTime] | None = None
    session_load: SessionLoad | None = None

    def __post_init__(self) -> None:
        """Refuse tags, which a file does not have: people share snapshots, and tags name teams and products."""
        if self.instance.tags is not UNSET:
            raise ValueError("Object contains unknown field `tags` - at `$.instance`")
