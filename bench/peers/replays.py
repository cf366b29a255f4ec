"""
Implement the law of `replay_candidates` with other tools, for `bench/law.py`.

A candidate is four ceilings (instance bytes, instance operations, volume bytes, volume operations)
of four numbers each: baseline and burst per step, capacity, balance at the start. Every function
returns, for each candidate, the throttled steps and the operations that wait at the end.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = NDArray[np.float64]


def python_law(bytes_asked: Floats, ops_asked: Floats, limits: Floats) -> Floats:
    """Compute it in plain Python, candidate by candidate."""
    asked = list(zip(bytes_asked.tolist(), ops_asked.tolist(), strict=True))
    found = []
    for candidate in limits.tolist():
        balance = [stage[3] for stage in candidate]
        waiting = [0.0, 0.0]
        throttled = 0
        for step in asked:
            wanted = [waiting[0] + step[0], waiting[1] + step[1]]
            share = 1.0
            for k, (baseline, burst, _, _) in enumerate(candidate):
                allowed = min(burst, balance[k] + baseline)
                if allowed < wanted[k % 2] * share:
                    share = allowed / wanted[k % 2]
            throttled += share < 1.0
            for k, (baseline, _, capacity, _) in enumerate(candidate):
                after = balance[k] + baseline - share * wanted[k % 2]
                balance[k] = max(0.0, min(capacity, after))
            waiting = [wanted[0] - share * wanted[0], wanted[1] - share * wanted[1]]
        found.append((throttled, waiting[1]))
    return np.array(found)


def numpy_law(bytes_asked: Floats, ops_asked: Floats, limits: Floats) -> Floats:
    """Compute it in NumPy, all candidates at once, step by step."""
    baseline, burst, capacity, balance = (limits[:, :, i].T.copy() for i in range(4))
    waiting = np.zeros((2, len(limits)))
    throttled = np.zeros(len(limits))
    for step in np.stack([bytes_asked, ops_asked], axis=1):
        wanted = waiting + step[:, None]
        allowed = np.minimum(burst, balance + baseline)
        four = np.concatenate([wanted, wanted])
        ratio = np.divide(allowed, four, out=np.ones_like(four), where=four > 0)
        share = np.minimum(ratio.min(axis=0), 1.0)
        throttled += share < 1.0
        balance = np.clip(balance + baseline - share * four, 0.0, capacity)
        waiting = wanted - share * wanted
    return np.stack([throttled, waiting[1]], axis=1)


def numba_laws() -> "dict[str, Callable[..., Any]]":
    """Return it in numba: candidate by candidate, and with candidates in the inner loop for SIMD."""
    from numba import njit

    return {"numba": njit(_scalar), "numba, inner loop over candidates": njit(_inner)}


def _scalar(bytes_asked: Floats, ops_asked: Floats, limits: Floats) -> Floats:
    found = np.empty((len(limits), 2))
    for c in range(len(limits)):
        b0, m0, c0, x0 = limits[c, 0]
        b1, m1, c1, x1 = limits[c, 1]
        b2, m2, c2, x2 = limits[c, 2]
        b3, m3, c3, x3 = limits[c, 3]
        waiting_bytes = waiting_ops = 0.0
        throttled = 0
        for t in range(len(bytes_asked)):
            wanted_bytes = waiting_bytes + bytes_asked[t]
            wanted_ops = waiting_ops + ops_asked[t]
            bytes_allowed = min(m0, x0 + b0, m2, x2 + b2)
            ops_allowed = min(m1, x1 + b1, m3, x3 + b3)
            share = 1.0
            if bytes_allowed < wanted_bytes:
                share = bytes_allowed / wanted_bytes
            if ops_allowed < wanted_ops * share:
                share = ops_allowed / wanted_ops
            throttled += share < 1.0
            served_bytes, served_ops = wanted_bytes * share, wanted_ops * share
            x0 = max(0.0, min(c0, x0 + b0 - served_bytes))
            x1 = max(0.0, min(c1, x1 + b1 - served_ops))
            x2 = max(0.0, min(c2, x2 + b2 - served_bytes))
            x3 = max(0.0, min(c3, x3 + b3 - served_ops))
            waiting_bytes = wanted_bytes - served_bytes
            waiting_ops = wanted_ops - served_ops
        found[c, 0] = throttled
        found[c, 1] = waiting_ops
    return found


def _inner(bytes_asked: Floats, ops_asked: Floats, limits: Floats) -> Floats:
    n = len(limits)
    baseline, burst, capacity, balance = (np.empty((4, n)), np.empty((4, n)), np.empty((4, n)), np.empty((4, n)))
    for c in range(n):
        for k in range(4):
            baseline[k, c], burst[k, c] = limits[c, k, 0], limits[c, k, 1]
            capacity[k, c], balance[k, c] = limits[c, k, 2], limits[c, k, 3]
    waiting_bytes, waiting_ops, throttled = np.zeros(n), np.zeros(n), np.zeros(n)
    for t in range(len(bytes_asked)):
        for c in range(n):
            wanted_bytes = waiting_bytes[c] + bytes_asked[t]
            wanted_ops = waiting_ops[c] + ops_asked[t]
            instance = min(burst[0, c], balance[0, c] + baseline[0, c])
            volume = min(burst[2, c], balance[2, c] + baseline[2, c])
            bytes_share = min(instance, volume) / max(wanted_bytes, 1e-300)
            instance = min(burst[1, c], balance[1, c] + baseline[1, c])
            volume = min(burst[3, c], balance[3, c] + baseline[3, c])
            ops_share = min(instance, volume) / max(wanted_ops, 1e-300)
            share = min(1.0, bytes_share, ops_share)
            throttled[c] += 1.0 if share < 1.0 else 0.0
            served_bytes, served_ops = wanted_bytes * share, wanted_ops * share
            balance[0, c] = max(0.0, min(capacity[0, c], balance[0, c] + baseline[0, c] - served_bytes))
            balance[1, c] = max(0.0, min(capacity[1, c], balance[1, c] + baseline[1, c] - served_ops))
            balance[2, c] = max(0.0, min(capacity[2, c], balance[2, c] + baseline[2, c] - served_bytes))
            balance[3, c] = max(0.0, min(capacity[3, c], balance[3, c] + baseline[3, c] - served_ops))
            waiting_bytes[c] = wanted_bytes - served_bytes
            waiting_ops[c] = wanted_ops - served_ops
    found = np.empty((n, 2))
    found[:, 0], found[:, 1] = throttled, waiting_ops
    return found
