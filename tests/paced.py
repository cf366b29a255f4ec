"""Chains and truths for tests of a pace, and a storage that serves what a paced batch and others ask."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from plimsoll.kernel import Stage, replay
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.forecast import DeviceRate
from plimsoll.load.pace.law.truths import Balance, FastTruth, ServerCounts, SlowTruth

MB = 1e6
SIZE_BYTES = 32_768.0
"""Mean size of an operation of the simulated server."""

THROUGHPUT = "instance_ebs_throughput"
IOPS = "instance_ebs_iops"
VOLUME = "volume_throughput"

T3 = (
    Stage(name=THROUGHPUT, baseline=87 * MB, burst=348 * MB, capacity=469_800 * MB, counts="bytes"),
    Stage(name=IOPS, baseline=4_000, burst=15_700, capacity=21_060_000, counts="ops"),
    Stage(name=VOLUME, baseline=262 * MB, burst=262 * MB, counts="bytes", stripes=4),
)
"""db.t3.xlarge with four gp2 volumes."""


def slow_truth(
    *,
    end_s: float = 0.0,
    bytes_per_s: float = 20 * MB,
    ops_per_s: float = 640.0,
    balance: float | Mapping[str, float] = 1.0,
) -> SlowTruth:
    """One minute of metrics that ends so."""
    ratios = balance if isinstance(balance, Mapping) else {THROUGHPUT: balance, IOPS: 1.0}
    return SlowTruth(
        rates=(DeviceRate(start_s=end_s - 60, end_s=end_s, bytes_per_s=bytes_per_s, ops_per_s=ops_per_s),),
        balances={n: Balance(time_s=end_s - 30, ratio=r) for n, r in ratios.items()},
    )


def counted(moved_bytes: float, *, wal_bytes: float = 0, full_page_images: float = 0) -> ServerCounts:
    """What a server without a cache counted: all that it changed is written."""
    return ServerCounts(
        read_bytes=0,
        write_bytes=moved_bytes - wal_bytes,
        extend_bytes=0,
        ops=moved_bytes / SIZE_BYTES,
        wal_bytes=wal_bytes,
        full_page_images=full_page_images,
        cache_bytes=0,
    )


COUNTED = FastTruth(
    start_s=0,
    end_s=1,
    batch_bytes=1e6,
    server=replace(counted(24 * MB, wal_bytes=2e6, full_page_images=50), extend_bytes=40 * MB, cache_bytes=1e9),
)
"""A second of a batch, by a server's counters."""


class SimulatedStorage:
    """A bucket in front of a batch and of others, with metrics that are minutes late."""

    def __init__(
        self,
        stage: Stage,
        *,
        ratio: float,
        others: Callable[[float], float],
        balance: float,
        lag_s: float = 120.0,
        has_counters: bool = True,
    ) -> None:
        self.stage, self.ratio, self.others = stage, ratio, others
        self.balance, self.lag_s, self.has_counters = balance, lag_s, has_counters
        self.lowest = balance
        self.sent_bytes = 0.0
        self._minutes: list[tuple[DeviceRate, Balance]] = []
        self._minute: list[tuple[float, float]] = []

    def run(self, controller: PaceController, seconds: int, start_s: int = 0) -> None:
        """Let the batch take all that it is allowed, second by second."""
        for t in range(start_s, start_s + seconds):
            if t % 60 == 0:
                self._report(controller, t)
            rate = controller.allowance(t).bytes_per_s
            taken = self.others(t) + self.ratio * rate
            begun = Stage(
                name=self.stage.name,
                baseline=self.stage.baseline,
                burst=self.stage.burst,
                capacity=self.stage.capacity,
                counts="bytes",
                start_balance=self.balance * self.stage.capacity,
            )
            found = replay([taken], 1.0, step_s=1.0, chain=[begun], carry=False)
            self.balance = float(found.balance[0, -1]) / self.stage.capacity
            self.lowest = min(self.lowest, self.balance)
            self.sent_bytes += rate
            self._minute.append((taken, self.balance))
            controller.observe_fast(
                FastTruth(
                    start_s=t,
                    end_s=t + 1,
                    batch_bytes=rate,
                    server=counted(taken, wal_bytes=min(rate, taken)) if self.has_counters else None,
                )
            )

    def _report(self, controller: PaceController, now_s: float) -> None:
        if self._minute:
            mean = sum(rate for rate, _ in self._minute) / len(self._minute)
            balance = sum(left for _, left in self._minute) / len(self._minute)
            rate = DeviceRate(start_s=now_s - 60, end_s=now_s, bytes_per_s=mean, ops_per_s=mean / SIZE_BYTES)
            self._minutes.append((rate, Balance(time_s=now_s - 30, ratio=balance)))
            self._minute = []
        ready = [m for m in self._minutes if m[0].end_s + self.lag_s <= now_s]
        if ready:
            slow = SlowTruth(rates=tuple(rate for rate, _ in ready), balances={self.stage.name: ready[-1][1]})
        else:
            # Before the batch began, others were measured.
            slow = slow_truth(
                end_s=-self.lag_s,
                bytes_per_s=self.others(0),
                ops_per_s=self.others(0) / SIZE_BYTES,
                balance={self.stage.name: self.balance},
            )
        controller.observe_slow(slow)
