"""Generate random shapes over time: noise with memory, days and weeks, sessions, staircases."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from incidents.compiled import njit

Array = NDArray[np.float64]
STEP_S = 5
GRID_S = 60
PER_GRID = GRID_S // STEP_S


@njit(cache=True)
def _ar1(noise: Array, keep: float, start: float) -> Array:
    out = np.empty_like(noise)
    scale = np.sqrt(1.0 - keep * keep)
    last = start
    for i in range(noise.size):
        last = keep * last + scale * noise[i]
        out[i] = last
    return out


def slow(rng: Generator, n: int, sd: float, tau_s: float) -> Array:
    """Return stationary Gaussian noise with correlation time `tau_s` (≥ a minute), shape (n,)."""
    grid = n // PER_GRID + 2
    keep = float(np.exp(-GRID_S / tau_s))
    coarse = _ar1(rng.standard_normal(grid), keep, float(rng.standard_normal()))
    return sd * np.interp(np.arange(n) / PER_GRID, np.arange(grid), coarse)


def white(rng: Generator, n: int, sd: float) -> Array:
    """Return independent Gaussian noise per step, shape (n,)."""
    return sd * rng.standard_normal(n)


def wobble(rng: Generator, n: int, sd: float, tau_s: float, fast_sd: float) -> Array:
    """Return a positive factor around one: slow and independent noise, log-normal, shape (n,)."""
    return np.exp(slow(rng, n, sd, tau_s) + white(rng, n, fast_sd))


def log_uniform(rng: Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform between the two."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def hours(n: int, start_s: int) -> Array:
    """Return the hour of the day (UTC) of every step, shape (n,)."""
    return ((start_s + STEP_S * np.arange(n)) % 86400) / 3600.0


def day(rng: Generator, n: int, start_s: int, *, depth: float) -> Array:
    """Return a diurnal factor between 1 − depth and 1, quieter on weekends, shape (n,)."""
    peak = rng.uniform(0, 24)
    sharp = rng.uniform(0.7, 3.0)
    wave = (0.5 + 0.5 * np.cos((hours(n, start_s) - peak) * np.pi / 12)) ** sharp
    weekday = ((start_s + STEP_S * np.arange(n)) // 86400 + 3) % 7
    rest = np.where(weekday >= 5, rng.uniform(0.6, 1.0), 1.0)
    # People do not all go home at midnight: the weekend starts and ends over three hours.
    width = 3 * 3600 // STEP_S
    total = np.cumsum(np.concatenate((np.full(width, rest[0]), rest)))
    rest = (total[width:] - total[:-width]) / width
    return (1 - depth + depth * wave) * rest


def window(n: int, begin_s: float, length_s: float, ramp_s: float = 30.0) -> Array:
    """Return a trapezium: 0 outside, 1 inside, linear edges, shape (n,)."""
    t = STEP_S * np.arange(n)
    edge = max(ramp_s, 1.0)
    rise = np.clip((t - begin_s) / edge + 1, 0, 1)
    return np.minimum(rise, np.clip((begin_s + length_s - t) / edge, 0, 1))


def sessions(rng: Generator, n: int, *, count: int, length_s: tuple[float, float], ramp_s: float = 60.0) -> Array:
    """Return `count` windows of log-uniform length at random places, joined by maximum, shape (n,)."""
    out = np.zeros(n)
    total = n * STEP_S
    for _ in range(count):
        length = min(log_uniform(rng, *length_s), 0.8 * total)
        begin = rng.uniform(0.02 * total, max(total - length, 0.03 * total))
        out = np.maximum(out, window(n, begin, length, log_uniform(rng, 5, 2 * ramp_s)))
    return out


def nightly(rng: Generator, n: int, start_s: int, *, hour: float, length_s: tuple[float, float]) -> Array:
    """Return one window a day at about the same hour, shape (n,)."""
    out = np.zeros(n)
    first = (hour * 3600 - start_s) % 86400 - 86400
    begin = first
    while begin < n * STEP_S:
        length = log_uniform(rng, *length_s)
        out = np.maximum(out, window(n, begin + rng.normal(0, 240), length, rng.uniform(5, 120)))
        begin += 86400
    return out


def stairs(rng: Generator, n: int, *, hold_s: tuple[float, float], low: float, high: float) -> Array:
    """Return constant pieces of log-uniform length and uniform height, shape (n,)."""
    out = np.empty(n)
    at = 0
    while at < n:
        steps = max(int(log_uniform(rng, *hold_s) / STEP_S), 1)
        out[at : at + steps] = rng.uniform(low, high)
        at += steps
    return out


def spikes(rng: Generator, n: int, *, per_day: float, length_s: tuple[float, float]) -> Array:
    """Return short pulses of random height 0–1, shape (n,)."""
    out = np.zeros(n)
    count = max(int(rng.poisson(per_day * n * STEP_S / 86400)), 1)
    for _ in range(count):
        steps = max(int(log_uniform(rng, *length_s) / STEP_S), 1)
        at = int(rng.integers(0, n))
        height = rng.uniform(0.3, 1.0)
        decay = np.exp(-np.arange(2 * steps) / steps * rng.uniform(0.2, 2.0))
        piece = out[at : at + 2 * steps]
        np.maximum(piece, height * decay[: piece.size], out=piece)
    return out


@njit(cache=True)
def deferred(requested: Array, most: Array, backlog_max: float) -> Array:
    """Return what passes a rate limiter that queues: at most `most`, the rest later, shape (n,)."""
    out = np.empty_like(requested)
    waiting = 0.0
    for i in range(requested.size):
        ask = requested[i] + waiting
        out[i] = min(ask, most[i])
        waiting = min(ask - out[i], backlog_max)
    return out
