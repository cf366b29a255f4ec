"""
Compute the rate of WAL, its share of full-page images, and the interval of checkpoints.

After a checkpoint the first change of a page puts the whole page into WAL. WAL itself brings the next
checkpoint on: once max_wal_size / (1 + checkpoint_completion_target) has been written, the server does
not wait for checkpoint_timeout (PostgreSQL, xlog.c, CalculateCheckpointSegments; documentation, "WAL
Configuration"). Too small a max_wal_size therefore makes the WAL that makes the checkpoints.
"""

from math import ceil

from msgspec import Struct

from plimsoll.causes.growth import checkpoints_between, per_s, setting_of
from plimsoll.model.database import Observation
from plimsoll.model.postgres import CHECKPOINT_COMPLETION_TARGET
from plimsoll.units import GIB, MIB

# One request may be somebody's CHECKPOINT or a backup; what WAL brings on comes again. A habit takes
# more: a young server has been filled and backed up, and little else.
_REQUESTS_LEAST = 2
_REQUESTS_EVER_LEAST = 20
# WAL falls as checkpoints get rarer, and rates vary: a tenth more than today's mean, a judgement.
_MARGIN = 1.1


class WalPace(Struct, frozen=True, kw_only=True):
    """WAL and checkpoints of one observation."""

    wal_bytes_per_s: float
    full_page_bytes_per_s: float
    """At most: a page is logged without its unused middle, and may be compressed."""
    timed: int
    requested: int
    """Checkpoints begun between the readings."""
    timed_ever: int
    requested_ever: int
    """Since the counters were reset."""
    timeout_s: float | None
    completion_ratio: float | None
    max_wal_bytes: float | None

    @property
    def trigger_bytes(self) -> float | None:
        """WAL after which a checkpoint begins before checkpoint_timeout."""
        if self.max_wal_bytes is None or self.completion_ratio is None:
            return None
        return self.max_wal_bytes / (1 + self.completion_ratio)

    @property
    def interval_s(self) -> float | None:
        """Between checkpoints at this rate of WAL; never more than the timeout."""
        if self.trigger_bytes is None or self.timeout_s is None:
            return None
        if self.wal_bytes_per_s <= 0:
            return self.timeout_s
        return min(self.trigger_bytes / self.wal_bytes_per_s, self.timeout_s)

    @property
    def is_by_wal(self) -> bool:
        """Whether WAL triggers checkpoints before the timeout, by calculation and by counters."""
        if self.interval_s is None or self.timeout_s is None or self.interval_s >= self.timeout_s:
            return False
        is_seen = self.requested >= _REQUESTS_LEAST and self.requested > self.timed
        is_usual = self.requested_ever >= _REQUESTS_EVER_LEAST and self.requested_ever > self.timed_ever
        return is_seen or is_usual

    @property
    def saved_ratio(self) -> float:
        """Share of whole pages and of checkpoints' writes that the timeout alone would save, at most."""
        if self.interval_s is None or not self.timeout_s:
            return 0.0
        return 1 - self.interval_s / self.timeout_s

    def max_wal_bytes_for(self, timeout_s: float) -> float:
        """Return what max_wal_size must be for checkpoints to wait for a timeout, in whole GiB."""
        ratio = self.completion_ratio if self.completion_ratio is not None else CHECKPOINT_COMPLETION_TARGET
        needed = self.wal_bytes_per_s * timeout_s * (1 + ratio) * _MARGIN
        return max(ceil(needed / GIB), 1) * GIB


def pace_of(observation: Observation) -> WalPace | None:
    """Return what WAL and checkpoints did; None where WAL is not counted or only replayed."""
    wal = per_s(observation, "wal_bytes")
    if wal is None or observation.server.is_standby:
        return None
    pages = per_s(observation, "wal_full_pages") or 0.0
    timed, requested = checkpoints_between(observation)
    ever = observation.last.counters
    max_wal_mib = setting_of(observation, "max_wal_size")
    return WalPace(
        wal_bytes_per_s=wal,
        full_page_bytes_per_s=min(pages * observation.server.block_bytes, wal),
        timed=timed,
        requested=requested,
        timed_ever=ever.checkpoints_timed or 0,
        requested_ever=ever.checkpoints_requested or 0,
        timeout_s=setting_of(observation, "checkpoint_timeout"),
        completion_ratio=setting_of(observation, "checkpoint_completion_target"),
        max_wal_bytes=None if max_wal_mib is None else max_wal_mib * MIB,
    )
