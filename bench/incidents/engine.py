"""
Simulate one storage service, step by step: demand in; served operations, latency and credits out.

Rule 1: this file knows no metric, no class and no family; it gets numbers per stage.
Rule 2: it shares no code with the product, so that truth and law cannot share a mistake.

A step offers open-loop operations (they arrive whether or not earlier ones are done), closed-loop
clients (N clients that think Z seconds between requests: X = N/(R + Z)), or both. Six ceilings are in
series; a ceiling with credits allows `burst` while they last and refills at `base`.

Below the lowest ceiling L the latency is R = r0·φ(X/L), φ one of four laws. If demand is above
L, exactly L is served and the latency is what queueing leaves: with open-loop requests x_o
that still fit, closed-loop clients must share L − x_o, so R = N/(L − x_o) − Z; when the open-loop
requests alone do not fit, at most `outstanding` of them wait in storage (connections, queue slots),
R solves R·L = outstanding + N·R/(R + Z) (Little's law for both classes), and the rest waits in the
application, of which a share comes back later.
"""

import numpy as np
from numpy.typing import NDArray

from incidents.compiled import njit

Array = NDArray[np.float64]

LAW_POWER, LAW_MM1, LAW_FLAT, LAW_SQUARE = 0, 1, 2, 3
BASELINE, BURST, FIXED = 0, 1, 2
# Requests that wait for less than this share of their service time are throttled too little for any
# measurement to show it; such steps are ambiguous, neither free nor at the ceiling.
LIGHT = 1.15
# Also ambiguous, above this share of a ceiling that is not reached: requests whose latency is already this
# multiple of the latency at half load, and clients that would reach the ceiling if its nearness did not
# slow them.
NEAR, STEEP = 0.9, 2.5
UNIT_BYTES = 256 * 1024.0  # an SSD volume counts larger requests as several (EBS user guide)


@njit(cache=True)
def phi(law: int, strength: float, load: float) -> float:
    """Return the latency at a load 0–1 of the ceiling, in units of the unloaded latency."""
    if law == LAW_POWER:
        return 1.0 + strength * load**6
    if law == LAW_MM1:
        return 1.0 / (1.0 - strength * load)
    if law == LAW_SQUARE:
        return 1.0 + strength * load * load
    return 1.0


@njit(cache=True)
def _free_rate(
    open_rate: float, clients: float, think: float, r0: float, law: int, strength: float, most: float
) -> float:
    """Find the rate x in [open_rate, most] at which x = open_rate + N/(r0·φ(x/most) + Z), by bisection."""
    if clients <= 0.0:
        return open_rate
    low, high = open_rate, most
    for _ in range(20):
        mid = 0.5 * (low + high)
        if open_rate + clients / (r0 * phi(law, strength, mid / most) + think) > mid:
            low = mid
        else:
            high = mid
    return 0.5 * (low + high)


@njit(cache=True)
def _pressed(arriving: float, most: float, clients: float, think: float, held: float, dt: float) -> tuple[float, float]:
    """Return latency and open-loop rate while exactly `most` is served; see the file's docstring."""
    rate = arriving / dt
    if clients > 0.0 and rate < most:
        latency = clients / (most - rate) - think
        if rate * latency <= held:
            return latency, rate
    b = most * think - held - clients
    latency = (-b + np.sqrt(b * b + 4.0 * most * held * think)) / (2.0 * most)
    return latency, min(rate, held / max(latency, 1e-9))


@njit(cache=True)
def _stage_rates(
    base: Array, burst: Array, balance: Array, deviation: Array, root_bytes: float,
    op_bytes: float, units: float, dt: float, out: Array,
) -> int:  # fmt: skip
    """Fill `out` with each stage's ceiling in ops/s and return the index of the lowest."""
    lowest = 0
    for k in range(6):
        allowed = burst[k] * deviation[k]
        if burst[k] > base[k]:
            allowed = min(allowed, base[k] * deviation[k] + balance[k] / dt)
        if k == 0:
            allowed = max(allowed - root_bytes, 1.0)
        if k in (0, 2, 4):
            allowed /= op_bytes
        elif k == 3:
            allowed /= units
        out[k] = allowed
        if allowed < out[lowest]:
            lowest = k
    return lowest


@njit(cache=True)
def run(
    dt: float, open_ops: Array, clients: Array, think: Array, read_share: Array,
    read_size: Array, write_size: Array, r0: Array, law: int, strength: float,
    outstanding: Array, carry: float, carry_max: float, base: Array, burst: Array,
    capacity: Array, start: Array, deviation: Array, root_bytes: float, grant: Array,
):  # fmt: skip
    """
    Serve a demand through six ceilings.

    Args:
        dt: step in seconds; all arrays over steps have shape (n,).
        outstanding: most open-loop requests that wait in storage.
        carry: share of the rest that returns later; at most `carry_max` ops.
        base, burst, capacity, start: per stage, shape (6,); capacity 0 where there are no credits.
        deviation: enforced divided by nominal, shape (n, 6).
        root_bytes: traffic of the root volume in bytes/s, which only the instance's stage counts.
        grant: credits of the instance that are granted at a step, as a share of the capacity,
            shape (n,); volumes have no grant.

    Returns:
        served ops/s, latency s, service latency s, stage (−1 free), phase, soft flag, level at the
        binding stage (bytes/s or ops/s; NaN when free), and at the end of each step (5, n): credits of
        stages 0, 1, 3, open-loop operations served per second, and operations that wait.
    """
    n = open_ops.size
    served, latency, service = np.empty(n), np.empty(n), np.empty(n)
    stage, phase = np.full(n, -1, np.int8), np.zeros(n, np.int8)
    soft, level, left = np.zeros(n, np.uint8), np.full(n, np.nan), np.zeros((5, n))
    balance, rates = start.copy(), np.empty(6)
    queued, waiting = 0.0, 0.0
    for i in range(n):
        op_bytes = read_share[i] * read_size[i] + (1 - read_share[i]) * write_size[i]
        units = read_share[i] * max(read_size[i] / UNIT_BYTES, 1.0)
        units += (1 - read_share[i]) * max(write_size[i] / UNIT_BYTES, 1.0)
        if grant[i] > 0:
            for k in range(2):
                balance[k] = min(capacity[k], balance[k] + grant[i] * capacity[k])
        k = _stage_rates(base, burst, balance, deviation[i], root_bytes, op_bytes, units, dt, rates)
        most = rates[k]
        arriving = open_ops[i] * dt + queued + waiting
        full = r0[i] * phi(law, strength, 1.0)
        closed_at_full = clients[i] / (full + think[i]) if clients[i] > 0 else 0.0
        if arriving / dt + closed_at_full < most:
            x = _free_rate(arriving / dt, clients[i], think[i], r0[i], law, strength, most)
            queued, waiting = 0.0, 0.0
            left[3, i] = arriving / dt
            service[i] = r0[i] * phi(law, strength, x / most)
            latency[i] = service[i]
            if x > NEAR * most:
                soft[i] = 1 if service[i] > STEEP * r0[i] * phi(law, strength, 0.5) else 0
                if clients[i] > 0:
                    light = r0[i] * phi(law, strength, 0.6)
                    slowed = arriving / dt + clients[i] / (light + think[i]) > most
                    soft[i] = 1 if slowed else soft[i]
        else:
            x = most
            over = arriving - most * dt
            held = outstanding[i]
            if clients[i] <= 0.0:
                # The queue grows within the step: its mean is half of its final length.
                held = min(max(0.5 * (queued + over), most * full), held)
            response, rate = _pressed(arriving, most, clients[i], think[i], held, dt)
            service[i] = full
            latency[i] = max(response, full)
            remaining = max(arriving - rate * dt, 0.0) if clients[i] > 0 else max(over, 0.0)
            queued = min(remaining, outstanding[i])
            waiting = min((remaining - queued) * carry, carry_max)
            left[3, i] = rate if clients[i] > 0 else most
            left[4, i] = queued + waiting
            stage[i] = k
            soft[i] = 1 if latency[i] < LIGHT * full else 0
            level[i] = most * op_bytes if k in (0, 2, 4) else most
            if burst[k] <= base[k]:
                phase[i] = FIXED
            elif rates[k] * (op_bytes if k in (0, 2, 4) else units if k == 3 else 1.0) > (
                1.02 * base[k] * deviation[i, k]
            ):
                phase[i] = BURST
            else:
                phase[i] = BASELINE
        served[i] = x
        spent = (x * op_bytes + root_bytes, x, 0.0, x * units, 0.0, 0.0)
        for j in range(6):
            if capacity[j] > 0:
                gained = (base[j] * deviation[i, j] - spent[j]) * dt
                balance[j] = min(max(balance[j] + gained, 0.0), capacity[j])
        left[0, i], left[1, i], left[2, i] = balance[0], balance[1], balance[3]
    return served, latency, service, stage, phase, soft, level, left
