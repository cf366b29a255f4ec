"""
The phases of the search service's incident, with the figures that were published.

Source: "Discovering RDS throughput limits" (Salsify, 2021). What the post does not say was chosen: the rates of
events, the sizes of the data, and how fast autovacuum may go.
"""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.model.instance import Instance, Storage
from plimsoll_lab.experiments.phases import ExperimentPhase, published

NAME = "search-service"
TITLE = "Search service: a limit of the instance that no chart showed"
SOURCE = "Discovering RDS throughput limits (Salsify, 2021)"

SCALE = 20.0
"""A 20th of the load: what two processors carry with Kafka, OpenSearch and PostgreSQL beside each other."""
SCALE_LEAST, SCALE_MOST = 5.0, 100.0
"""Above, one page of 8 KiB would be a noticeable part of a second; below, no two processors keep up."""

LAUNCHED_S = 1_559_347_200
"""2019-06-01 UTC: before AWS raised the limits of the class on 2019-12-03."""
BEFORE = Instance(
    identifier="search-service",
    db_class="db.r5.2xlarge",
    engine="postgres",
    region="us-east-1",
    multi_az=False,
    launched_s=LAUNCHED_S,
    storage=Storage(kind="io1", size_gib=3000, provisioned_ops_per_s=20_000),
)
MORE_IOPS = replace(BEFORE, storage=replace(BEFORE.storage, provisioned_ops_per_s=30_000))
LARGER = replace(MORE_IOPS, db_class="db.r5.4xlarge")

VACUUM_BYTES_PER_S = 700e6
"""
Most that autovacuum could read, of the whole load, if it changed no page and never waited for the disk. It does both, so
it reads about half of that; with the indexers this is what the post measured after the remedy.
"""


class Vacuum(StrEnum):
    """What autovacuum of the large table's TOAST relation does in a phase."""

    OFF = "off"
    """It does not run: nothing is due, or somebody has cancelled it."""
    ON = "on"
    """It runs whenever one percent of the rows are dead, as the service had it configured."""


class Segment(Struct, frozen=True, kw_only=True):
    """A part of a phase in which the load stays as it is."""

    minutes: int
    """Emulated minutes."""
    share_of_rate: float
    """Share of the full rate of events, 0–1."""
    vacuum: Vacuum
    credits: float | None = None
    """Share of throughput credits that is left at its beginning, and when its vacuum begins; None leaves what is there."""


class StoryPhase(ExperimentPhase, frozen=True, kw_only=True):
    """One phase: what changes at its beginning, and what is true of it."""

    segments: tuple[Segment, ...]
    is_dirty_tracking: bool = False
    is_vacuum_due: bool = False
    """Whether a vacuum is due when autovacuum may run: the hours in which dead rows gather are skipped."""

    @property
    def minutes(self) -> int:
        """Return its length in emulated minutes."""
        return sum(segment.minutes for segment in self.segments)


def _day(busy_minutes: int) -> tuple[Segment, ...]:
    """Return a quiet time and a busy one, which begins without credits: the jobs of the night have spent them."""
    return (
        Segment(minutes=4, share_of_rate=_QUIET, vacuum=Vacuum.OFF),
        Segment(minutes=busy_minutes, share_of_rate=1.0, vacuum=Vacuum.ON, credits=0.0),
    )


# With the vacuum off, so little is far below every limit; a judgement.
_QUIET = 0.4
_HEALTHY = StoryPhase(
    name="healthy",
    title="Healthy",
    action="Few events arrive; nothing is due for autovacuum.",
    instance=BEFORE,
    segments=(Segment(minutes=14, share_of_rate=_QUIET, vacuum=Vacuum.OFF, credits=0.0),),
    binds="none",
)
_WHOLE = StoryPhase(
    name="whole-documents",
    title="Load grows",
    action="More events arrive. The service sends whole documents, and autovacuum cleans the TOAST relation.",
    instance=BEFORE,
    segments=_day(18),
    binds="legacy baseline",
    published=published(
        throughput="213 MB/s",
        IOPS="about 15,000",
        queue_depth="50–100",
        read_latency="5 ms",
        write_latency="100 ms",
        response="10–100 times as long, same plans",
        dead_tuples_per_update="6 with a document of 10 kB",
    ),
)
_MORE_IOPS = StoryPhase(
    name="more-iops",
    title="30,000 IOPS",
    action="Provisioned IOPS are raised from 20,000 to 30,000.",
    instance=MORE_IOPS,
    segments=_day(17),
    binds="legacy baseline",
    published=published(effect="none", IOPS="never above 19,000"),
)
_CANCELLED = StoryPhase(
    name="vacuum-cancelled",
    title="Vacuum cancelled",
    action="The vacuum is cancelled in the middle, and autovacuum is off for a while; then it begins again.",
    instance=MORE_IOPS,
    segments=(
        Segment(minutes=7, share_of_rate=1.0, vacuum=Vacuum.ON, credits=0.0),
        Segment(minutes=8, share_of_rate=1.0, vacuum=Vacuum.OFF),
        Segment(minutes=10, share_of_rate=1.0, vacuum=Vacuum.ON, credits=0.0),
    ),
    binds="legacy baseline",
    published=published(effect="helped at once; slow again later"),
)
_DIRTY = StoryPhase(
    name="dirty-tracking",
    title="Dirty tracking",
    action="The service sends only columns that changed. Hours later the next vacuum is due.",
    instance=MORE_IOPS,
    segments=_day(18),
    is_dirty_tracking=True,
    is_vacuum_due=True,
    binds="legacy baseline",
    published=published(effect="slow periods rarer, not gone"),
)
_RESTARTED = StoryPhase(
    name="restarted",
    title="Stop and start",
    action="The instance is stopped and started, which gives it the present limits. The next vacuum is due.",
    instance=MORE_IOPS,
    segments=_day(18),
    is_dirty_tracking=True,
    is_restart=True,
    is_vacuum_due=True,
    binds="baseline",
    published=published(limit="2,300 Mbit/s (287.5 MB/s) documented; the post does not try it"),
)
_LARGER = StoryPhase(
    name="larger-class",
    title="db.r5.4xlarge",
    action="The class is changed to db.r5.4xlarge. The next vacuum is due.",
    instance=LARGER,
    segments=tuple(replace(segment, credits=None) for segment in _day(16)),
    is_dirty_tracking=True,
    is_vacuum_due=True,
    binds="none",
    published=published(throughput="325 MB/s", read_latency="1 ms", write_latency="15 ms", effect="no slow periods"),
)
PHASES = (_HEALTHY, _WHOLE, _MORE_IOPS, _CANCELLED, _DIRTY, _RESTARTED, _LARGER)
"""The phases of `--quick`."""


def phases_of(*, is_quick: bool) -> tuple[StoryPhase, ...]:
    """Return the phases; the whole experiment has the same ones, each `LONGER` times as long."""
    if is_quick:
        return PHASES
    return tuple(
        replace(phase, segments=tuple(replace(s, minutes=LONGER * s.minutes) for s in phase.segments))
        for phase in PHASES
    )


LONGER = 4
"""Long enough that credits fill and empty within a phase by themselves."""
