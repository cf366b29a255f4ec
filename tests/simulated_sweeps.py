"""
Simulated sweeps: what a known chain of limits would deliver at each I/O size, with noise.

Everything here is simulated. Each request is charged by itself: a scattered one in whole units, a
sequential one by its share of the unit. A client keeps `depth` requests in flight.
"""

from collections.abc import Sequence
from math import ceil

import numpy as np

from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Phase
from plimsoll.units import kib
from plimsoll_lab.model.sweep import Pattern, Sweep, SweepPoint

SIZES_KIB = (4, 8, 16, 32, 64, 128, 256, 384, 512, 1024)
IDLE_S = 0.0007
UNIT_BYTES = kib(256)


def stage(name: str, counts: str, baseline: float, burst: float | None = None, **more) -> Stage:
    """A ceiling; with credits for ever if it bursts."""
    most = baseline if burst is None else burst
    capacity = 1e15 if most > baseline else 0.0
    return Stage(name=name, counts=counts, baseline=baseline, burst=most, capacity=capacity, **more)


def delivered_ops_per_s(chain: Sequence[Stage], size: float, *, phase: Phase, pattern: Pattern) -> float:
    """Requests of just this size per second that the chain lets through."""

    def charged(one: Stage) -> float:
        if one.counts == "bytes":
            return size
        if one.unit_bytes is None:
            return 1.0
        units = size / one.unit_bytes
        return units if pattern == Pattern.SEQUENTIAL else float(ceil(units))

    return min((one.burst if phase == Phase.BURST else one.baseline) * one.stripes / charged(one) for one in chain)


def point(
    chain: Sequence[Stage],
    size: float,
    *,
    phase: Phase = Phase.BASELINE,
    pattern: Pattern = Pattern.SCATTERED,
    depth: float = 64,
    idle_s: float = IDLE_S,
    factor: float = 1.0,
    **more,
) -> SweepPoint:
    """One size: what the limits leave, or what the client asks for; `factor` is the noise."""
    limit = delivered_ops_per_s(chain, size, phase=phase, pattern=pattern)
    ops = min(limit, depth / idle_s) * factor
    return SweepPoint(
        io_size_bytes=size,
        pattern=pattern,
        phase=phase,
        ops_per_s=ops,
        bytes_per_s=ops * size,
        length_s=4.0,
        depth=depth,
        **more,
    )


def sweep(
    chain: Sequence[Stage],
    *,
    phases: Sequence[Phase] = (Phase.BASELINE,),
    patterns: Sequence[Pattern] = (Pattern.SCATTERED,),
    sizes_kib: Sequence[float] = SIZES_KIB,
    noise: Sequence[float] | None = None,
    depth: float = 64,
    idle_s: float = IDLE_S,
) -> Sweep:
    """A whole experiment; `noise` are the factors of its points in order, all 1 without."""
    wanted = [(f, p, s) for f in phases for p in patterns for s in sizes_kib]
    factors = np.ones(len(wanted)) if noise is None else np.asarray(noise)[: len(wanted)]
    points = [
        point(chain, kib(s), phase=f, pattern=p, depth=depth, idle_s=idle_s, factor=float(factor))
        for (f, p, s), factor in zip(wanted, factors, strict=True)
    ]
    alone = [point(chain, kib(s), phase=phases[0], depth=1, idle_s=idle_s) for s in (sizes_kib[0], sizes_kib[-1])]
    return Sweep(subject="a simulated chain", method="simulated", points=tuple(points), alone=tuple(alone))
