"""
Simulate seconds of storage behind token buckets: arrivals, tokens, a backlog, and an M/G/1 queue.

Every second brings a Poisson number of requests, and tokens for each limit. Requests without a token wait
in one backlog, first come, first served. Waiting clients send nothing, so their number bounds the backlog.
Apart from that, requests meet a device that is an M/G/1 queue with its own capacity.
"""

import numpy as np
from numba import njit

# A device of several channels queues only part of what one channel would.
QUEUED = 0.2
LIMITS = 4
"""Instance bytes, instance ops, volume bytes, volume ops."""
BASE, PEAK, CAPACITY, START = range(4)
OPS, BYTES, BUSY_S, QUEUE, HELD, CPU = 0, 1, 2, 3, 4, 4 + 2 * LIMITS
BALANCES = CPU + 1
WIDTH = BALANCES + LIMITS


@njit(cache=True)
def run(
    ops: np.ndarray,
    size: np.ndarray,
    slow: np.ndarray,
    limits: np.ndarray,
    service_s: float,
    device_ops: float,
    spread: float,
    clients: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """
    Return one row of WIDTH per second.

    Args:
        ops: requests per second if nothing waits, shape (n,).
        size: bytes per request, shape (n,).
        slow: factor on the device's service time, shape (n,).
        limits: BASE, PEAK (per second), CAPACITY and START (bytes or ops) per limit, shape (LIMITS, 4).
        service_s: mean service time of the unloaded device.
        device_ops: its own capacity in requests per second.
        spread: squared coefficient of variation of service.
        clients: requests that can wait at once.
        rng: of this run.
    """
    out = np.zeros((ops.size, WIDTH))
    balance = limits[:, START].copy()
    backlog = 0.0
    for t in range(ops.size):
        fresh = float(rng.poisson(ops[t]))
        asked = fresh + backlog
        served, by = asked, -1
        for k in range(LIMITS):
            base, peak = limits[k, BASE], limits[k, PEAK]
            rate = peak if balance[k] > peak - base else base
            rate *= 1.0 + 0.002 * rng.standard_normal()
            unit = size[t] if k % 2 == 0 else 1.0
            if rate / unit < served:
                served, by = rate / unit, 2 * k + (1 if peak > base and rate > 1.02 * base else 0)
        for k in range(LIMITS):
            used = served * (size[t] if k % 2 == 0 else 1.0)
            balance[k] = min(max(balance[k] + limits[k, BASE] - used, 0.0), limits[k, CAPACITY])
            out[t, BALANCES + k] = balance[k]
        mean = slow[t] * (service_s + size[t] / 400e6)
        rho = min(served / device_ops * slow[t], 0.95)
        latency = mean * (1.0 + rho / (1.0 - rho) * (1.0 + spread) / 2.0 * QUEUED)
        latency *= np.exp(0.1 * rng.standard_normal())
        # Clients send the next request after the last one. So many wait that the others demand just what
        # is served; they reach that state within a second.
        left = asked - served
        if fresh > served:
            left = min(left, clients * (1.0 - served / fresh))
        wait = 0.5 * (backlog + left) / max(served, 1.0)
        backlog = left
        out[t, OPS], out[t, BYTES] = served, served * size[t]
        out[t, BUSY_S] = served * (latency + wait)
        out[t, QUEUE] = served * latency + 0.5 * (backlog + left)
        if by >= 0:
            out[t, HELD + by] = 1.0
    return out
