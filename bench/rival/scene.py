"""Describe a scene: one machine, its streams of work, its conditions; and run it."""

from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from rival import second
from rival.machines import Bound, Machine
from rival.rhythm import FloatArray

WARM_S = 1200
SAMPLE_S = 60

# Mean read and write latency of an idle volume in seconds. EBS promises single-digit milliseconds
# for gp2, gp3 and io1 and less than one for io2; these are ordinary values of well-known plots.
LATENCY_S = {"gp2": (0.95e-3, 1.15e-3), "gp3": (0.70e-3, 0.95e-3), "io1": (0.50e-3, 0.60e-3), "io2": (0.25e-3, 0.35e-3)}


@dataclass(slots=True, kw_only=True)
class Stream:
    """Describe one kind of work: items that each cost some reads, writes, CPU and network bytes."""

    load: FloatArray
    """Busy clients (closed) or items arriving per second (open), shape (bins,)."""
    is_open: bool = False
    think_s: float = 0.0
    reads: float = 0.0
    writes: float = 0.0
    read_size: float = 8192.0
    write_size: float = 8192.0
    inflight: float = 1e9
    """Open work only: items in progress at once."""
    pace: float = 1e12
    """Open work only: limit on its own items per second."""
    cpu_s: float = 0.0
    net_out: float = 0.0
    net_in: float = 0.0
    merge: float = 1.0
    """Volume operations per host operation; below one if the volume merges neighbours."""
    cached: bool = False
    """Whether the share of reads that miss the cache drifts."""
    noise: float = 0.02
    carry_s: float = 0.0
    """Open work only: seconds of arrivals that wait before clients give up; 0 for no limit."""

    @property
    def ops_per_item(self) -> float:
        """Return the reads and writes of one item."""
        return self.reads + self.writes

    @property
    def bytes_per_item(self) -> float:
        """Return the bytes moved by one item."""
        return self.reads * self.read_size + self.writes * self.write_size

    @property
    def bytes_per_op(self) -> float:
        """Return the mean I/O size."""
        return self.bytes_per_item / self.ops_per_item


@dataclass(slots=True)
class Air:
    """Set the latencies, and how steady everything is."""

    read_s: float = 0.7e-3
    write_s: float = 0.9e-3
    per_byte_s: float = 2e-9
    growth: float = 0.2
    power: float = 4.0
    latency_sd: float = 0.06
    outlier_p: float = 5e-4
    jitter: float = 0.002
    cpu_max: float = 1e9
    net_max: float = 1e15
    root_bytes: float = 6e4
    root_ops: float = 5.0
    cpu_idle: float = 0.02
    queue_gain: float = 1.0


@dataclass(slots=True)
class Scene:
    """Hold everything that is decided before the first second."""

    kind: str
    machine: Machine
    first: datetime
    """Start of the exported window."""
    bins: int
    """Number of ten-second bins, including the warm-up."""
    air: Air
    rng: np.random.Generator
    streams: list[Stream] = field(default_factory=list)
    full: list[float] = field(default_factory=lambda: [1.0] * 4)
    """Balances at the start, 0 to 1."""
    honest: list[tuple[float, float]] = field(default_factory=lambda: [(1.0, 1.0)] * 4)
    """Enforced divided by documented rate, base and peak of each bound."""
    slack_s: float = 0.2
    grant: float = 0.0
    grant_s: int = -1
    """Second of the day of the grant."""
    misses: FloatArray = field(default_factory=lambda: np.ones(0))
    slow: FloatArray = field(default_factory=lambda: np.ones((2, 0)))
    up: FloatArray = field(default_factory=lambda: np.ones(0))
    change: int = 0
    """Bin at which the described machine replaced another one; 0 if it never did."""
    bounds_before: list[Bound] = field(default_factory=list)
    """Bounds enforced until then."""
    must_export: tuple[str, ...] = ()
    """Metrics without which the question has no answer."""
    note: str = ""

    def __post_init__(self) -> None:
        """Fill missing profiles with usual values."""
        self.misses = np.ones(self.bins)
        self.slow = np.ones((2, self.bins))
        self.up = np.ones(self.bins)

    def service_s(self, stream: Stream) -> float:
        """Return the seconds one item spends in storage without other load."""
        air = self.air
        return stream.reads * (air.read_s + stream.read_size * air.per_byte_s) + stream.writes * (
            air.write_s + stream.write_size * air.per_byte_s
        )

    def clients_for(self, stream: Stream, items_per_s: float) -> float:
        """Return the closed-loop clients that produce this rate when nothing is slow."""
        return items_per_s * (stream.think_s + stream.cpu_s + self.service_s(stream))

    def items_at(self, stream: Stream, bound: int, *, at_peak: bool = False) -> float:
        """Return the items per second at which this stream alone reaches a bound as enforced."""
        limit = self.machine.bounds[bound]
        rate = (limit.peak if at_peak else limit.base) * self.honest[bound][int(at_peak)]
        per_item = stream.bytes_per_item if bound in {0, 2} else stream.ops_per_item
        return rate / (per_item * (stream.merge if bound == 3 else 1.0))

    def bounds_at(self, sample: int) -> list[Bound]:
        """Return the bounds enforced at a minute of the window."""
        earlier = sample * SAMPLE_S < self.change * second.BIN_S - WARM_S
        return self.bounds_before if earlier else self.machine.bounds

    def level_of(self, bounds: list[Bound], bound: int, *, in_peak: bool) -> float:
        """Return the enforced rate."""
        limit = bounds[bound]
        return (limit.peak if in_peak else limit.base) * self.honest[bound][int(in_peak)]


def _act(scene: Scene, bounds: list[Bound], part: slice, seed: int) -> FloatArray:
    """Run the bins of `part`; its first WARM_S leave no samples."""
    constants = np.zeros((len(scene.streams), second.STREAM_WIDTH))
    for index, s in enumerate(scene.streams):
        constants[index] = [
            float(s.is_open), s.think_s, s.reads, s.writes, s.read_size, s.write_size,
            s.inflight, s.pace, s.cpu_s, s.net_out, s.net_in, s.merge, float(s.cached),
            s.noise, s.carry_s,
        ]  # fmt: skip
    numbers = np.zeros((4, 6))
    for index, limit in enumerate(bounds):
        numbers[index] = [
            scene.level_of(bounds, index, in_peak=False),
            scene.level_of(bounds, index, in_peak=limit.bursts),
            limit.credits_max, limit.credits_max * scene.full[index], scene.slack_s,
            scene.grant if index < 2 else 0.0,
        ]  # fmt: skip
    a = scene.air
    air = np.array([
        a.read_s, a.write_s, a.per_byte_s, a.growth, a.power, a.latency_sd, a.outlier_p,
        a.jitter, a.cpu_max, a.net_max, a.root_bytes, a.root_ops,
    ])  # fmt: skip
    midnight = scene.first.hour * 3600 + scene.first.minute * 60
    clock = ((midnight - WARM_S + part.start * second.BIN_S) % 86400, scene.grant_s)
    loads = np.ascontiguousarray(np.stack([s.load[part] for s in scene.streams]))
    return second.run(
        constants, loads, numbers, air, scene.misses[part],
        np.ascontiguousarray(scene.slow[:, part]), scene.up[part], clock, (SAMPLE_S, WARM_S),
        np.random.default_rng([seed, part.start]),
    )  # fmt: skip


def play(scene: Scene, seed: int) -> FloatArray:
    """Run every second; return samples of a minute, shape (samples, second.SAMPLE_WIDTH)."""
    if not scene.change:
        return _act(scene, scene.machine.bounds, slice(0, scene.bins), seed)
    # The new machine warms up on the last minutes of the old one; waiting work is lost.
    resumed = scene.change - WARM_S // second.BIN_S
    return np.concatenate(
        [
            _act(scene, scene.bounds_before, slice(0, scene.change), seed),
            _act(scene, scene.machine.bounds, slice(resumed, scene.bins), seed),
        ]
    )
