"""The output of a lab: the progress of a run, and the ceilings that really bound in it."""

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Phase


class StageNow(Struct, frozen=True, kw_only=True):
    """One stage of the chain at a moment."""

    name: str
    """The family's value, or the name in a file of limits."""
    dimension: Dimension
    served: float
    """bytes/s or ops/s, all stripes together."""
    ceiling: float
    """The most it serves at this moment, in the same unit."""
    phase: Phase
    """Whether that is its burst, its baseline or its only number."""
    balance_ratio: float | None
    """Credits left, 0–1; None without any."""
    empty_in_s: float | None
    """Real seconds until they are gone at the rate of the last seconds; None where they are not falling."""
    is_holding: bool
    """Whether it made requests wait in the last second."""


class LabProgress(Struct, frozen=True, kw_only=True):
    """The progress of a run."""

    elapsed_s: float
    duration_s: float
    """Real seconds since the workload began, and for how long it goes on."""
    clock: float
    """Credit clock: one emulated minute is 60/clock seconds."""
    bytes_per_s: float
    ops_per_s: float
    queue_depth: float
    """Reads and writes together, over the last second."""
    late_ratio: float
    """Share 0–1 of operations so far that completed late."""
    stages: tuple[StageNow, ...]
    transactions_per_s: float | None
    """None before the clients have reported."""

    @property
    def emulated_s(self) -> float:
        """Return the elapsed seconds on the credit clock."""
        return self.elapsed_s * self.clock


class ThrottledCeiling(Struct, frozen=True, kw_only=True):
    """One number of one stage: how long it really throttled requests, and whether the diagnosis found it."""

    name: str
    """The family's value, or the name in a file of limits."""
    phase: Phase
    dimension: Dimension
    limit: float
    """bytes/s or ops/s, all stripes together."""
    held_s: float
    """Real seconds in which it made requests wait."""
    delivered: float | None
    """Mean rate of the steps it held throughout; None where there was no such step."""
    found_level: float | None
    """Level at which the diagnosis found it; None where it did not."""
    found_s: float | None
    """Emulated seconds for which the diagnosis found it."""
    is_long_enough: bool
    """Whether it was held for as many samples as the diagnosis asks for."""

    @property
    def is_found(self) -> bool:
        """Return whether the diagnosis named it."""
        return self.found_level is not None

    @property
    def level_error_ratio(self) -> float | None:
        """Return (found level − limit) / limit; None where it was not found."""
        return None if self.found_level is None else (self.found_level - self.limit) / self.limit


class WrongClaim(Struct, frozen=True, kw_only=True):
    """A ceiling that the diagnosis named although the gate did not throttle requests at it."""

    name: str
    phase: Phase
    dimension: Dimension
    level: float
    seconds: float
    """Emulated seconds."""


class GroundTruth(Struct, frozen=True, kw_only=True):
    """The diagnosis compared with what the gate really did."""

    clock: float
    recorded_s: float
    """Real seconds."""
    held: tuple[ThrottledCeiling, ...]
    """The longest first."""
    wrong: tuple[WrongClaim, ...]
    is_void: bool
    """Whether this machine was slower than the storage it emulates, so that the run proves nothing."""
    kept_up: str
    """A sentence that describes it."""

    @property
    def is_right(self) -> bool:
        """Return whether every ceiling that throttled for long enough was named, and no other."""
        return not self.wrong and all(h.is_found for h in self.held if h.is_long_enough)


class LabServer(Struct, frozen=True, kw_only=True):
    """A real server that the lab starts: where its files are, or where they come from."""

    name: str
    """As commands take it, for example `kafka`."""
    title: str
    version: str
    """The version that runs, or would; empty if it is whichever the system installs."""
    client: str
    """The registry client that brings it: pip, apt-get or mvn."""
    place: str
    """Where its files are; empty if they are not here."""
    download_bytes: int | None
    """What getting it brings over the network; None if only its client knows."""
    command: str
    """The command that brings it."""
