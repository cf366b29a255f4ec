"""The intervals of the last minutes: what the batch sent, what its peers took, what the server counted."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

from plimsoll.load.pace.law.forecast import DeviceRate
from plimsoll.load.pace.law.truths import FastTruth, ServerCounts

# Metrics are at most some minutes late, and their samples a minute long (five under basic monitoring).
KEPT_S = 1200.0
# Device bytes for each byte that the server counts. A read that the page cache answers never reaches the
# device, and a write may be merged or torn into several; beyond these bounds the two count different things.
_CALIBRATION_LOW, _CALIBRATION_HIGH = 0.2, 3.0
# EBS counts up to 256 KiB of neighbouring pages as one operation, the server counts 32.
_MERGED_LOW = 1 / 32
# The cost of a byte changes within a checkpoint: first full-page images, then pages that are written back. After two
# seconds a queue is still short. Sessions report their writes late, but WAL, which changes most, is exact at once.
_RECENT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSample:
    """A sample of the storage, and what the server counted in the same time; all in bytes and operations."""

    end_s: float
    device_read_bytes: float
    device_write_bytes: float
    """All bytes, if reads are not known apart."""
    device_ops: float
    server_read_bytes: float
    server_write_bytes: float
    server_ops: float


class PaceHistory:
    """Keep intervals, and average them over the window of a sample."""

    def __init__(self) -> None:
        """Start empty."""
        self._intervals: deque[FastTruth] = deque()
        self._rates: deque[DeviceRate] = deque()
        self._compared: deque[ComparedSample] = deque()
        self._read_factor = self._write_factor = 1.0
        self.device_per_server_op = 1.0
        """The device merges writes of neighbouring pages."""

    @property
    def rates(self) -> tuple[DeviceRate, ...]:
        """Return what was taken at the device, interval by interval, as far as it is known at once."""
        return tuple(self._rates)

    @property
    def last(self) -> FastTruth | None:
        """Return the newest interval."""
        return self._intervals[-1] if self._intervals else None

    def device_of(self, counted: ServerCounts) -> tuple[float, float]:
        """Return the bytes and operations at the device for what a server has counted."""
        reads = self._read_factor * counted.read_bytes
        found = reads + self._write_factor * (counted.write_bytes + counted.wal_bytes)
        return found, self.device_per_server_op * counted.ops

    def add(self, interval: FastTruth, rate: DeviceRate) -> None:
        """Keep one more interval, and what it took at the device; forget those that are too old."""
        self._intervals.append(interval)
        self._rates.append(rate)
        while interval.end_s - self._intervals[0].end_s > KEPT_S:
            self._intervals.popleft()
            self._rates.popleft()

    def recent_rates(self) -> tuple[float, float, float]:
        """
        Return what everybody took in the last seconds, by the server's counters, and what batches sent.

        Returns:
            Bytes/s and ops/s at the device, and bytes/s of the batches; zeros if the server was not asked.
        """
        if self.last is None:
            return 0.0, 0.0, 0.0
        begin_s = self.last.end_s - _RECENT_S
        length_s = taken = ops = sent = 0.0
        for one, rate in zip(reversed(self._intervals), reversed(self._rates), strict=True):
            if one.server is None or one.start_s < begin_s:
                break
            seconds = one.end_s - one.start_s
            length_s += seconds
            taken += seconds * rate.bytes_per_s
            ops += seconds * rate.ops_per_s
            sent += seconds * one.all_bytes_per_s
        return (taken / length_s, ops / length_s, sent / length_s) if length_s else (0.0, 0.0, 0.0)

    def all_bytes_per_s(self, window_s: tuple[float, float]) -> float:
        """Return the mean rate of the batch and its peers in a window; zero before they began."""
        return self._mean(window_s, lambda one: one.all_bytes_per_s * (one.end_s - one.start_s))

    def calibrate(self, sample: DeviceRate) -> None:
        """Compare a sample of the storage with what the server counted in the same time."""
        window = (sample.start_s, sample.end_s)
        length_s = sample.end_s - sample.start_s
        covered = self._covered_s(window)
        # A sample that is covered in part compares different times.
        if covered < 0.9 * length_s or not isfinite(sample.bytes_per_s):
            return
        are_reads_known = isfinite(sample.read_bytes_per_s)
        read = sample.read_bytes_per_s if are_reads_known else 0.0
        counted_read = self._counted(window, lambda one: one.read_bytes)
        counted_write = self._counted(window, lambda one: one.write_bytes + one.wal_bytes)
        self._compared.append(
            ComparedSample(
                end_s=sample.end_s,
                device_read_bytes=length_s * read,
                device_write_bytes=length_s * max(sample.bytes_per_s - read, 0.0),
                device_ops=length_s * sample.ops_per_s,
                server_read_bytes=counted_read if are_reads_known else 0.0,
                server_ops=self._counted(window, lambda one: one.ops),
                server_write_bytes=counted_write if are_reads_known else counted_read + counted_write,
            )
        )
        while sample.end_s - self._compared[0].end_s > KEPT_S:
            self._compared.popleft()
        self._learn(are_reads_known)

    def _learn(self, are_reads_known: bool) -> None:
        """Divide sums, not single samples: sessions and checkpoints report much at once, and late."""
        all_of = list(self._compared)
        self._write_factor = _factor(
            [one.device_write_bytes for one in all_of], [one.server_write_bytes for one in all_of]
        )
        self._read_factor = (
            _factor([one.device_read_bytes for one in all_of], [one.server_read_bytes for one in all_of])
            if are_reads_known
            else self._write_factor
        )
        known = [one for one in all_of if isfinite(one.device_ops)]
        if known:
            self.device_per_server_op = _factor(
                [one.device_ops for one in known], [one.server_ops for one in known], low=_MERGED_LOW
            )

    def _covered_s(self, window_s: tuple[float, float]) -> float:
        return sum(_overlap_s(one, window_s) for one in self._intervals if one.server is not None)

    def _counted(self, window_s: tuple[float, float], amount: Callable[[ServerCounts], float]) -> float:
        length = window_s[1] - window_s[0]
        return length * self._mean(window_s, lambda one: amount(one.server) if one.server else 0.0)

    def _mean(self, window_s: tuple[float, float], amount: Callable[[FastTruth], float]) -> float:
        length = window_s[1] - window_s[0]
        total = 0.0
        for one in self._intervals:
            shared = _overlap_s(one, window_s)
            if shared > 0:
                total += amount(one) * shared / (one.end_s - one.start_s)
        return total / length if length > 0 else 0.0


def _factor(device: Sequence[float], server: Sequence[float], *, low: float = _CALIBRATION_LOW) -> float:
    """Return what the device counts for each byte or operation of the server; first it is taken as 1."""
    # That assumption counts as much as one sample.
    assumed = sum(server) / len(server)
    if assumed <= 0:
        return 1.0
    found = (sum(device) + assumed) / (sum(server) + assumed)
    return min(max(found, low), _CALIBRATION_HIGH)


def _overlap_s(one: FastTruth, window_s: tuple[float, float]) -> float:
    return max(min(one.end_s, window_s[1]) - max(one.start_s, window_s[0]), 0.0)
