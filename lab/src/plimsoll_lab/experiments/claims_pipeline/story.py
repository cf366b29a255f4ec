"""
The phases of the claims pipeline's incident, with the figures that were published.

Source: "How we doubled RDS throughput for under $1 a day" (Pearl Health, 2023). What the post does not say was chosen:
the rates of the worker's disk, the rows, the views, and the credits at the beginning of a phase.
"""

from enum import StrEnum

from msgspec.structs import replace

from plimsoll.model.instance import Instance, Storage
from plimsoll_lab.experiments.phases import ExperimentPhase, published

NAME = "claims-pipeline"
TITLE = "Claims pipeline: three jobs that were fast alone"
SOURCE = "How we doubled RDS throughput for under $1 a day (Pearl Health, 2023)"

SCALE = 20.0
"""A 20th of the load: what two processors carry, with room for the larger class at its burst."""
SCALE_LEAST, SCALE_MOST = 5.0, 40.0
"""Above, what the kernel keeps in memory before it writes would be most of a file."""

ORGANISATIONS = 3
"""Jobs at once, one for each organisation, as in the post."""

BEFORE = Instance(
    identifier="claims-pipeline",
    db_class="db.t3.xlarge",
    engine="postgres",
    region="us-east-1",
    multi_az=False,
    launched_s=1_652_788_800,
    storage=Storage(kind="gp2", size_gib=1000),
)
LARGER = replace(BEFORE, db_class="db.m6g.xlarge")

WORKER_BYTES_PER_S = 40e6
"""
How fast the worker writes its disk, and reads it again for the pipe, of the whole load: a judgement. The post says of
the old path only that a file took three hours.
"""
QUICK_FILE_BYTES = 19.2e9
FILE_BYTES = 4 * QUICK_FILE_BYTES
"""
Size of one file in emulated time: what runs here is divided by the scale and by the credit clock. The post tested with
files of about 100 GB.
"""


class LoadPath(StrEnum):
    """How a file comes into the database."""

    NONE = "none"
    """Nothing is loaded."""
    WORKER = "worker"
    """A worker copies it to its own disk, and then pipes it into COPY."""
    SERVER = "server"
    """The server reads it by itself, as `aws_s3.table_import_from_s3` does."""
    PACED = "paced"
    """A client streams it into COPY at the pace of the allowance."""


class ClaimsPhase(ExperimentPhase, frozen=True, kw_only=True):
    """One phase: which jobs run in it, and with how many credits it begins."""

    path: LoadPath
    organisations: int = 1
    """How many files are loaded, each by a job of its own, ≥ 0."""
    are_views_refreshed: bool = False
    """Whether each job then refreshes the views of its organisation."""
    credits: float = 1.0
    """Share of the throughput credits at its beginning, 0–1."""
    least_minutes: int = 14
    """Emulated minutes that it takes even if the jobs are done before: enough for a judgement."""
    most_minutes: int = 90
    """Emulated minutes after which jobs that still run are an error."""


_JOBS = ClaimsPhase(
    name="three-jobs",
    title="Three jobs",
    action="Three jobs load their files by the new path at the same time, and then refresh their views.",
    instance=BEFORE,
    path=LoadPath.SERVER,
    organisations=ORGANISATIONS,
    are_views_refreshed=True,
    credits=0.4,
    most_minutes=240,
    binds="baseline",
    published=published(
        throughput="86 MB/s, with short bursts to about 300 MB/s",
        write_latency="100 ms; normal are 5–10 ms",
        lowest_byte_balance="0 % whenever the throughput was at its limit",
        loading="over 3 h",
        refresh="over 8 h",
    ),
)
PHASES = (
    ClaimsPhase(
        name="quiet",
        title="Nothing loads",
        action="Only the queries of the application run.",
        instance=BEFORE,
        path=LoadPath.NONE,
        organisations=0,
        binds="none",
        published=published(write_latency="5–10 ms"),
    ),
    ClaimsPhase(
        name="worker-path",
        title="One file, old path",
        action="One file goes to the disk of a worker, and from there through a pipe into COPY.",
        instance=BEFORE,
        path=LoadPath.WORKER,
        binds="not the baseline",
        published=published(loading="3 h for a file of 10 GB"),
    ),
    ClaimsPhase(
        name="server-path",
        title="One file, new path",
        action="The server reads the same file by itself.",
        instance=BEFORE,
        path=LoadPath.SERVER,
        binds="not the baseline",
        published=published(loading="30 min for a file of 10 GB"),
    ),
    _JOBS,
    replace(
        _JOBS,
        name="larger-class",
        title="db.m6g.xlarge",
        action="The class is changed to db.m6g.xlarge; the same jobs run again.",
        instance=LARGER,
        binds="as recorded",
        published=published(
            throughput="baseline 150 MB/s, burst 600 MB/s",
            write_latency="at most about 50 ms",
            loading="83 % less time",
            refresh="about 90 % less time: under 1 h",
            price="$0.67 a day more",
        ),
    ),
    replace(
        _JOBS,
        name="paced",
        title="Paced, old class",
        action="The class is db.t3.xlarge again. The same jobs run at the pace of Plimsoll's allowance.",
        instance=BEFORE,
        path=LoadPath.PACED,
        binds="not the baseline",
        published=(),
    ),
)
"""The phases of `--quick`."""


def phases_of(*, is_quick: bool) -> tuple[ClaimsPhase, ...]:
    """Return the phases; those of the whole experiment begin with full credits, and their files are larger."""
    if is_quick:
        return PHASES
    return tuple(replace(one, credits=1.0, most_minutes=4 * one.most_minutes) for one in PHASES)
