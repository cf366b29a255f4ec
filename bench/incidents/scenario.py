"""
Describe a workload on a machine: the families compose it and the engine serves it.

Drive is demand as a share of the ceiling that a family is about (its *target*): below one there is room,
from one on the target throttles requests. The pressure is given as latency, since engineers see that: at
the ceiling requests take `multiple` times as long as just before.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from incidents import engine, signals
from incidents.machine import STAGES, Machine, is_bytes
from incidents.signals import Array, log_uniform

KIB = 1024
# Another ceiling this much above the target does not bind first, whatever the deviations are.
ROOM = 1.15


@dataclass(frozen=True, slots=True)
class Setting:
    """Set the window of an incident, and the number of this try at building it."""

    n: int
    start_s: int
    attempt: int = 0

    @property
    def length_s(self) -> int:
        """Return the length of the window in seconds."""
        return self.n * signals.STEP_S


@dataclass(frozen=True, slots=True)
class Target:
    """Name the ceiling a family is about: stage, and 0 for baseline or fixed, 1 for burst."""

    stage: str
    burst: int = 0


@dataclass(slots=True)
class Flow:
    """Describe the I/O: sizes, mix and the storage's own latency; arrays over steps."""

    read_share: Array
    read_size: Array
    write_size: Array
    r0: Array
    law: int
    strength: float

    @property
    def op_bytes(self) -> Array:
        """Return the mean bytes of an operation, shape (n,)."""
        return self.read_share * self.read_size + (1 - self.read_share) * self.write_size

    def latency_at(self, load: float) -> Array:
        """Return the latency at a load 0–1 of the ceiling, s, shape (n,)."""
        return self.r0 * engine.phi(self.law, self.strength, load)


@dataclass(slots=True)
class Load:
    """Hold all inputs of the engine, and what the other metrics should show."""

    machine: Machine
    flow: Flow
    open_ops: Array
    clients: Array
    think_s: Array
    outstanding: Array
    carry: float = 0.0
    carry_max_s: float = 600.0
    """Most work that waits in the application, in seconds at the ceiling."""
    credit_share: dict[str, float] = field(default_factory=dict)
    """Credits at the start, as a share of the capacity; full by default."""
    grant: Array | None = None
    side: dict[str, Array] = field(default_factory=dict)
    """Other metrics that this family shapes itself, by name."""
    targets: tuple[Target, ...] = ()
    """Ceilings that must each have bound for ten minutes, as the family requires."""


def rival(machine: Machine, target: Target, *, in_bytes: bool) -> float:
    """Return the lowest baseline of the other ceilings in one dimension, bytes/s or ops/s."""
    return min(
        (machine.nominal(stage)[0] for stage in STAGES if is_bytes(stage) == in_bytes and stage != target.stage),
        default=np.inf,
    )


def size_range(machine: Machine, target: Target) -> tuple[float, float]:
    """Return mean operation sizes in bytes at which the target binds first; empty if low > high."""
    level = machine.nominal(target.stage)[target.burst]
    other_bytes = rival(machine, target, in_bytes=True)
    other_ops = rival(machine, target, in_bytes=False)
    if is_bytes(target.stage):
        if other_bytes < ROOM * level:
            return (1.0, 0.0)
        return (max(6 * KIB, ROOM * level / other_ops), 200 * KIB)
    if other_ops < ROOM * level:
        return (1.0, 0.0)
    return (5 * KIB, min(128 * KIB, other_bytes / (ROOM * level)))


def can_press(target: Target, *, at_least: float = 1.0):
    """Return a condition for `draw_machine`: the target exists and can bind first at an ordinary size."""

    def accepts(machine: Machine) -> bool:
        base, burst = machine.nominal(target.stage)
        if not np.isfinite(base) or (target.burst and burst <= base):
            return False
        low, high = size_range(machine, target)
        return high > 1.25 * low and base >= at_least

    return accepts


def draw_flow(
    rng: Generator, setting: Setting, machine: Machine, target: Target | None, *, steady: bool = False
) -> Flow:
    """
    Draw sizes, mix and latency of a workload.

    Args:
        target: sizes are drawn so that it binds first; any size if None.
        steady: a latency law that rises little below the ceiling.
    """
    n = setting.n
    low, high = size_range(machine, target) if target else (8 * KIB, 96 * KIB)
    size = log_uniform(rng, low, min(high, 6 * low))
    share = rng.uniform(0.03, 0.97)
    ratio = log_uniform(rng, 0.4, 2.5)
    spread = log_uniform(rng, 0.003, 0.06)
    tau = log_uniform(rng, 120, 7200)
    mix = signals.slow(rng, n, rng.uniform(0.02, 0.3), tau)
    read_share = 1 / (1 + np.exp(-(np.log(share / (1 - share)) + mix)))
    bend = np.exp(np.clip(signals.slow(rng, n, spread, tau), -0.12, 0.12))
    read_size = ratio * bend * np.exp(signals.white(rng, n, spread))
    write_size = bend * np.exp(signals.white(rng, n, spread))
    mean = read_share * read_size + (1 - read_share) * write_size
    # Reads and writes differ in size, but their mixture stays in the target's range.
    scale = size / float(np.median(mean))
    flat = np.exp(np.log(mean / np.median(mean)) * rng.uniform(0.2, 1.0))
    read_size, write_size = (
        read_size * scale * flat / (mean / np.median(mean)),
        (write_size * scale * flat / (mean / np.median(mean))),
    )
    law = int(rng.choice([engine.LAW_POWER, engine.LAW_MM1, engine.LAW_FLAT, engine.LAW_SQUARE]))
    strength = rng.uniform(0.2, 1.2)
    if law == engine.LAW_MM1:
        strength = rng.uniform(0.3, 0.6) if steady else float(rng.choice([0.5, 0.7, 0.8, 0.9]))
    r0 = log_uniform(rng, 0.3e-3, 2e-3) * signals.wobble(
        rng, n, rng.uniform(0.01, 0.1), log_uniform(rng, 1800, 4 * 3600), rng.uniform(0.01, 0.15)
    )
    return Flow(read_share, read_size, write_size, r0, law, strength)


def target_ops(machine: Machine, flow: Flow, target: Target) -> Array:
    """Return the target's level in ops/s at the sizes of every step, shape (n,)."""
    level = machine.nominal(target.stage)[target.burst]
    return level / flow.op_bytes if is_bytes(target.stage) else np.full(flow.r0.size, level)


def floor_ops(machine: Machine, flow: Flow) -> Array:
    """Return the lowest ceiling of all in ops/s, baselines if there are credits, shape (n,)."""
    in_bytes = min(machine.nominal(stage)[0] for stage in STAGES if is_bytes(stage))
    in_ops = min(machine.nominal(stage)[0] for stage in STAGES if not is_bytes(stage))
    return np.minimum(in_bytes / flow.op_bytes, in_ops)


def load_of(
    rng: Generator, machine: Machine, flow: Flow, limit_ops: Array, drive: Array, *,
    closed: float | None = None, multiple: float | None = None,
) -> Load:  # fmt: skip
    """
    Return open-loop, closed-loop or mixed demand with the given drive.

    Args:
        limit_ops: the ceiling that drive 1 means, ops/s, shape (n,).
        closed: share of the demand that comes from clients waiting for answers; drawn if None.
        multiple: latency at the ceiling over latency just before; drawn (1.3 to 20) if None.
    """
    if closed is None:
        closed = float(rng.choice([0.0, 0.0, 1.0, 1.0, rng.uniform(0.2, 0.8)]))
    if multiple is None:
        multiple = log_uniform(rng, 1.3, 20)
    n = drive.size
    think = float(rng.choice([0.0, log_uniform(rng, 0.2e-3, 0.05)]))
    hold = multiple * signals.wobble(rng, n, rng.uniform(0.02, 0.25), log_uniform(rng, 300, 7200), 0.02)
    hold = np.maximum(hold, 1.05)
    full = flow.latency_at(1.0)
    loads = np.clip(drive, 0, 1)
    rise = np.array([engine.phi(flow.law, flow.strength, x) for x in np.linspace(0, 1, 101)])
    now = flow.r0 * np.interp(loads, np.linspace(0, 1, 101), rise)
    busy = np.where(drive < 1, drive * (now + think), hold * full + think)
    return Load(
        machine=machine,
        flow=flow,
        open_ops=(1 - closed) * drive * limit_ops,
        clients=closed * busy * limit_ops,
        think_s=np.full(n, think),
        outstanding=np.maximum(hold * full * limit_ops, 1.0),
        carry=float(rng.choice([0.0, 0.0, rng.uniform(0.3, 1.0)])),
        carry_max_s=log_uniform(rng, 60, 1800),
    )


def slower_nights(rng: Generator, setting: Setting) -> Array:
    """Return a factor on latency: a nightly snapshot makes every request slower, shape (n,)."""
    when = signals.nightly(rng, setting.n, setting.start_s, hour=rng.uniform(0, 24), length_s=(900, 2 * 3600))
    return 1 + when * rng.uniform(0.5, 3.0)
