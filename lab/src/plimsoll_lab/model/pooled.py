"""An experiment with a pooled cluster: its phases, what was measured in each, and what Plimsoll said about it."""

from msgspec import Struct

from plimsoll_lab.model.experiment import Check, PublishedPhase


class PooledSample(Struct, frozen=True, kw_only=True):
    """One second of the experiment."""

    time_s: float
    """Since the experiment began."""
    active: int
    """Sessions that ran a statement or waited for a lock."""
    idle: int
    """Idle sessions."""
    in_transaction: int
    """Sessions that were idle in a transaction."""
    aborted: int
    """Sessions that were idle in a failed transaction."""
    arrivals_per_s: float
    """Business transactions that clients wanted."""
    done_per_s: float
    """Business transactions that were done while their client waited."""
    queries_per_s: float
    """Statements."""
    load_average: float
    """Load average of the machine over a minute."""

    @property
    def connections(self) -> int:
        """Return all connections of the services' role, those without a client too."""
        return self.active + self.idle + self.in_transaction + self.aborted


class PooledFigures(Struct, frozen=True, kw_only=True):
    """Measurements of a phase; connections are those at the server that takes writes."""

    seconds: float
    """Length of the phase."""
    connections_max: int
    """Most connections of the services, those that the pooler keeps without a client among them."""
    connections_end: int
    """Connections at the end."""
    active_max: int
    """Most sessions that ran a statement or waited for a lock."""
    idle_max: int
    """Most idle sessions."""
    in_transaction_max: int
    """Most sessions that were idle in a transaction."""
    aborted_max: int
    """Most sessions that were idle in a failed transaction."""
    arrivals_per_s: float
    """Business transactions that clients wanted."""
    done_per_s: float
    """Business transactions that were done while their client waited."""
    queries_per_s: float
    """Statements, those for clients that had left among them."""
    useful_per_s: float
    """Of them, those of business transactions that were done while their client waited."""
    latency_s_p50: float | None
    """Median time from the arrival of a business transaction to its end."""
    latency_s_p95: float | None
    """Time within which 95 of 100 were done."""
    opened: int
    """Connections that the services opened."""
    closed: int
    """Connections that the services closed."""
    refused: int
    """Connections that were refused: too many clients."""
    held_s: float | None
    """Mean time that a connection stays open, by Little's law; null where it is longer than the phase."""
    given_up: dict[str, int]
    """Business transactions that were given up, by reason."""
    retries: int
    """Attempts after the first."""
    load_average_max: float
    """Highest load average of the machine over a minute."""
    processors: dict[str, float]
    """Share of all processors that each program took, 0–1."""


class PooledPhaseReport(Struct, frozen=True, kw_only=True):
    """One phase: what was done, what was measured, what was published, what Plimsoll said."""

    name: str
    title: str
    action: str
    began_s: float
    """When it began, in seconds of the experiment; the time between two phases belongs to none."""
    pooler: str
    """Build and life time of the pooler, and the pools, in words."""
    figures: PooledFigures
    published: tuple[PublishedPhase, ...]
    named: tuple[str, ...]
    """Titles of what `inspect` found, warnings and worse, the most severe first."""
    checks: tuple[Check, ...]

    @property
    def is_right(self) -> bool:
        """Return whether everything that Plimsoll said about it is true."""
        return all(check.is_right for check in self.checks)


class PooledOutcome(Struct, frozen=True, kw_only=True):
    """The end of the experiment compared with the storm, and with what was published."""

    target_per_s: float
    """Business transactions that arrived per second at the end."""
    carried_per_s: float | None
    """Most that this machine carries, by the processor time that one took at the end; None if none was done."""
    storm_useful_per_s: float
    """Useful queries per second during the storm, from its beginning to its full height."""
    end_queries_per_s: float
    """Queries per second with the pools that were computed."""
    end_useful_per_s: float
    other_useful_per_s: float | None
    """The same through the other pooler; None if it was not played."""
    queries_wanted_per_s: float
    ratio_wanted: float
    processors: dict[str, float]
    """Share of all processors that each program took at the end, 0–1."""
    processor_count: int

    @property
    def ratio(self) -> float | None:
        """Return the useful queries per second at the end, compared with the storm; None if it had none."""
        return self.end_useful_per_s / self.storm_useful_per_s if self.storm_useful_per_s else None

    @property
    def is_reached(self) -> bool:
        """Return whether both published figures were reached."""
        ratio = self.ratio
        is_better = ratio is None or ratio >= self.ratio_wanted
        return is_better and self.end_queries_per_s >= self.queries_wanted_per_s


class PooledReport(Struct, frozen=True, kw_only=True):
    """A whole experiment with the pooled cluster."""

    name: str
    title: str
    source: str
    """The published post."""
    scale: float
    """Connections are divided by this number; rates and times are not."""
    machine: str
    phases: tuple[PooledPhaseReport, ...]
    samples: tuple[PooledSample, ...]
    notes: tuple[str, ...]
    phase_count: int
    """Of the whole story."""
    outcome: PooledOutcome | None = None
    """None if the storm or the end was not played."""
    is_void: bool = False
    """Whether this machine was too slow for the calm phase, or busy with other programs, so that nothing is proved."""

    @property
    def is_interrupted(self) -> bool:
        """Return whether it was interrupted before its last phase; a void phase is the last one by itself."""
        return len(self.phases) < self.phase_count and not self.is_void

    @property
    def is_right(self) -> bool:
        """Return whether all phases were played, and everything that Plimsoll said is true."""
        is_whole = not self.is_interrupted and not self.is_void
        return is_whole and all(phase.is_right for phase in self.phases)


class PooledProgress(Struct, frozen=True, kw_only=True):
    """The progress within one phase."""

    title: str
    number: int
    count: int
    scale: float
    elapsed_s: float
    duration_s: float
    sample: PooledSample
    waiting: int
    """Requests that wait for a connection of a pool."""
    pooled: int
    """Connections in the pools of the services."""
    refused: int
    """Connections that were refused in this phase."""
    given_up: int
    """Business transactions that were given up in this phase."""
    latency_s_p95: float | None
    held_s: float | None
