"""An experiment on real servers: its phases, what was measured in each, and what Plimsoll said about it."""

from msgspec import Struct

from plimsoll_lab.model.lab import GroundTruth, LabProgress


class ExperimentFigures(Struct, frozen=True, kw_only=True):
    """
    Measurements of a phase.

    Rates and the queue are multiplied by the scale; times are as measured.
    """

    minutes: float
    """Emulated minutes of the phase."""
    read_bytes_per_s: float | None
    """Bytes read from storage."""
    write_bytes_per_s: float | None
    """Bytes written to storage."""
    ops_per_s: float | None
    """Reads and writes."""
    read_latency_s: float | None
    """Mean time of a read."""
    write_latency_s: float | None
    """Mean time of a write."""
    queue_depth: float | None
    """Requests that waited or were in service, on average."""
    throttled_minutes: float
    """Emulated minutes in which a limit made requests wait, by the gate."""
    applied_per_s: float | None = None
    """Events that the service applied."""
    lag_start: int | None = None
    """Events that waited at the beginning; not multiplied."""
    lag_end: int | None = None
    """Events that waited at the end; not multiplied."""
    response_s_p50: float | None = None
    """Median time of the application's query."""
    response_s_p95: float | None = None
    """Time within which 95 of 100 of them were done."""
    freshness_s_p50: float | None = None
    """Median time from a change to its document in the index."""
    freshness_s_p99: float | None = None
    """The same, of 99 in 100."""
    dead_tuples_per_update: float | None = None
    """Dead tuples that an update of the large table left, TOAST included."""
    vacuum_due_minutes: float | None = None
    """Emulated minutes after which a vacuum of the TOAST relation is due again."""
    loading_minutes: float | None = None
    """Emulated minutes until the last file was loaded."""
    refresh_minutes: float | None = None
    """Emulated minutes for the views of the job that took longest."""
    jobs_minutes: float | None = None
    """Emulated minutes until the last job was done."""
    byte_balance_start: float | None = None
    """Throughput credits of the instance at the beginning, 0–1."""
    byte_balance_min: float | None = None
    """The fewest of them, 0–1."""


class PublishedPhase(Struct, frozen=True, kw_only=True):
    """A statement of the published post about a phase."""

    name: str
    """What it is about: `throughput`, `effect`."""
    text: str
    """What the post says."""


class Check(Struct, frozen=True, kw_only=True):
    """One thing that Plimsoll said about a phase, compared with the truth."""

    command: str
    """`diagnose`, `inspect`, `plan`, `compare`, `explain compare` or `pace`."""
    expected: str
    """What is true."""
    found: str
    """What Plimsoll said."""
    is_right: bool
    """Whether the two agree."""


class PhaseReport(Struct, frozen=True, kw_only=True):
    """One phase: what was done, what was measured, what was published, what Plimsoll said."""

    name: str
    """As commands and files have it: `vacuum-cancelled`."""
    title: str
    action: str
    """A sentence: what changed at its beginning."""
    instance: str
    """Class, storage and limits in force, in words."""
    window_s: tuple[int, int]
    """In the emulated time of the recorded metrics, epoch seconds."""
    figures: ExperimentFigures
    published: tuple[PublishedPhase, ...]
    headline: str
    """The first sentence of `diagnose`."""
    truth: GroundTruth
    checks: tuple[Check, ...]

    @property
    def is_right(self) -> bool:
        """Return whether everything that Plimsoll said about it is true."""
        return all(check.is_right for check in self.checks)


class MinuteRates(Struct, frozen=True, kw_only=True):
    """Rates of one emulated minute, of all parts of the load."""

    time_s: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    ceiling_bytes_per_s: float
    """The throughput that the instance allowed at that moment: its burst while it had credits."""


class ExperimentReport(Struct, frozen=True, kw_only=True):
    """A whole experiment."""

    name: str
    title: str
    source: str
    """The published post."""
    scale: float
    clock: float
    machine: str
    """Processors, memory and servers that ran it."""
    phases: tuple[PhaseReport, ...]
    minutes: tuple[MinuteRates, ...]
    is_void: bool
    """Whether this machine was slower than what it emulates in a phase, so that nothing is proved."""
    notes: tuple[str, ...]
    is_interrupted: bool = False
    """Whether it was ended before its last phase."""

    @property
    def is_right(self) -> bool:
        """Return whether all phases were played, and everything that Plimsoll said is true."""
        is_whole = not self.is_void and not self.is_interrupted
        return is_whole and all(phase.is_right for phase in self.phases)


class ExperimentProgress(Struct, frozen=True, kw_only=True):
    """The progress of an experiment within one phase."""

    title: str
    """Of the phase."""
    number: int
    count: int
    """Which phase it is, of how many; from 1."""
    scale: float
    storage: LabProgress
    """Rates against ceilings, of all parts of the load."""
    lag: float | None
    """Events that are written and not applied; of this part."""
    response_s: float | None
    """The last response of the database."""
    work: str = ""
    """What the jobs have done, in words; empty in an experiment without jobs."""
