"""The intervals of the last minutes: what the batch sent, what its peers took, what the server counted."""

from collections import deque
from collections.abc import Callable
from math import isfinite

from plimsoll.load.pace.law.forecast import DeviceRate
from plimsoll.load.pace.law.truths import FastTruth

# Metrics are at most some minutes late, and their samples a minute long (five under basic monitoring).
KEPT_S = 1200.0
# Device bytes for each byte that the server counts. A read that the page cache answers never reaches the
# device, and a write may be merged or torn into several; beyond these bounds the two count different things.
_CALIBRATION_LOW, _CALIBRATION_HIGH = 0.2, 3.0
# A new minute counts for a third: checkpoints make single minutes differ.
_CALIBRATION_WEIGHT = 0.3


class PaceHistory:
    """Keep intervals, and average them over the window of a sample."""

    def __init__(self) -> None:
        """Start empty."""
        self._intervals: deque[FastTruth] = deque()
        self._rates: deque[DeviceRate] = deque()
        self.device_per_server_byte = 1.0
        """Learned from samples of the storage."""

    @property
    def rates(self) -> tuple[DeviceRate, ...]:
        """Return what was taken at the device, interval by interval, as far as it is known at once."""
        return tuple(self._rates)

    @property
    def last(self) -> FastTruth | None:
        """Return the newest interval."""
        return self._intervals[-1] if self._intervals else None

    def add(self, interval: FastTruth, rate: DeviceRate) -> None:
        """Keep one more interval, and what it took at the device; forget those that are too old."""
        self._intervals.append(interval)
        self._rates.append(rate)
        while interval.end_s - self._intervals[0].end_s > KEPT_S:
            self._intervals.popleft()
            self._rates.popleft()

    def all_bytes_per_s(self, window_s: tuple[float, float]) -> float:
        """Return the mean rate of the batch and its peers in a window; zero before they began."""
        return self._mean(window_s, lambda one: one.all_bytes_per_s * (one.end_s - one.start_s))

    def calibrate(self, sample: DeviceRate) -> None:
        """Compare a sample of the storage with what the server counted in the same time."""
        window = (sample.start_s, sample.end_s)
        covered = self._covered_s(window)
        # A sample that is covered in part compares different times.
        if covered < 0.9 * (sample.end_s - sample.start_s) or not isfinite(sample.bytes_per_s):
            return
        counted = self._mean(window, lambda one: one.server.bytes if one.server else 0.0)
        if counted <= 0:
            return
        found = min(max(sample.bytes_per_s / counted, _CALIBRATION_LOW), _CALIBRATION_HIGH)
        self.device_per_server_byte += _CALIBRATION_WEIGHT * (found - self.device_per_server_byte)

    def _covered_s(self, window_s: tuple[float, float]) -> float:
        return sum(_overlap_s(one, window_s) for one in self._intervals if one.server is not None)

    def _mean(self, window_s: tuple[float, float], amount: Callable[[FastTruth], float]) -> float:
        length = window_s[1] - window_s[0]
        total = 0.0
        for one in self._intervals:
            shared = _overlap_s(one, window_s)
            if shared > 0:
                total += amount(one) * shared / (one.end_s - one.start_s)
        return total / length if length > 0 else 0.0


def _overlap_s(one: FastTruth, window_s: tuple[float, float]) -> float:
    return max(min(one.end_s, window_s[1]) - max(one.start_s, window_s[0]), 0.0)
