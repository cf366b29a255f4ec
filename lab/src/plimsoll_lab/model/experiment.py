"""An experiment on real servers: its phases, what was measured in each, and what Plimsoll said about it."""

from msgspec import Struct

from plimsoll_lab.model.lab import GroundTruth, LabProgress


class PhaseFigures(Struct, frozen=True, kw_only=True):
    """
    The measurements of one phase; None where there was nothing to measure.

    Rates, counts of requests and the queue are those of all parts of the load (multiplied by the scale). Times are as
    measured.
    """

    minutes: float
    """Emulated minutes of the phase."""
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    ops_per_s: float | None
    read_latency_s: float | None
    write_latency_s: float | None
    queue_depth: float | None
    throttled_minutes: float
    """Emulated minutes in which a limit of the instance or of the storage made requests wait, by the gate."""
    response_s_p50: float | None = None
    response_s_p95: float | None = None
    """Of a statement of the application, which looks up rows by their key."""
    applied_per_s: float | None = None
    """Events that the service applied; of all parts."""
    lag_start: int | None = None
    lag_end: int | None = None
    """Events that were written and not applied, at both ends of the phase; of this part."""
    freshness_s_p50: float | None = None
    freshness_s_p99: float | None = None
    """From the moment at which a product changed to the moment at which its document was indexed."""
    dead_tuples_per_update: float | None = None
    """Dead tuples that an UPDATE of the large table leaves, its TOAST relation included."""
    vacuum_due_minutes: float | None = None
    """Emulated minutes after which, at this rate, a vacuum of the TOAST relation is due again."""
    loading_minutes: float | None = None
    """Emulated minutes until the last file was loaded."""
    refresh_minutes: float | None = None
    """Emulated minutes for which views were refreshed, of the job that took longest."""
    jobs_minutes: float | None = None
    """Emulated minutes until the last job was done: its file loaded, its views refreshed."""
    byte_balance_start: float | None = None
    byte_balance_min: float | None = None
    """Throughput credits of the instance at the beginning, and the fewest, 0–1."""


class PublishedFigure(Struct, frozen=True, kw_only=True):
    """A statement of the published post about a phase."""

    name: str
    text: str


class ExperimentCheck(Struct, frozen=True, kw_only=True):
    """One thing that Plimsoll said about a phase, compared with what is known of it."""

    command: str
    """The command that said it: `diagnose`, `inspect`, `plan`, `compare`, `explain compare`, `pace`."""
    expected: str
    """What is true."""
    found: str
    """What it said."""
    is_right: bool


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
    figures: PhaseFigures
    published: tuple[PublishedFigure, ...]
    headline: str
    """The first sentence of `diagnose`."""
    truth: GroundTruth
    checks: tuple[ExperimentCheck, ...]

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
