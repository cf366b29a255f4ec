"""
Define families without any ceiling, many of which look as if there were one.

Drive here is a share of the lowest ceiling at the moment's I/O size (the baseline if there are credits),
so below one nothing is throttled. The builder checks the served result; a load that was throttled after
all is drawn again, smaller.
"""

import numpy as np
from numpy.random import Generator

from incidents import signals
from incidents.machine import Machine, draw_machine
from incidents.scenario import Flow, Load, Setting, draw_flow, floor_ops, load_of, slower_nights
from incidents.signals import Array, log_uniform


def _any(_: Machine) -> bool:
    return True


def _noise(rng: Generator, n: int, *, slow: tuple[float, float] = (0.02, 0.15)) -> Array:
    return signals.wobble(rng, n, rng.uniform(*slow), log_uniform(rng, 300, 7200), rng.uniform(0.01, 0.2))


def _site(rng: Generator, setting: Setting, *, steady: bool = False) -> tuple[Machine, Flow, Array]:
    machine = draw_machine(rng, accepts=_any)
    flow = draw_flow(rng, setting, machine, None, steady=steady)
    return machine, flow, floor_ops(machine, flow)


def _calmer(setting: Setting) -> float:
    return 0.85**setting.attempt


def _daily(rng: Generator, setting: Setting, most: float) -> Array:
    shape = signals.day(rng, setting.n, setting.start_s, depth=rng.uniform(0.2, 0.9))
    return most * _calmer(setting) * shape


def quiet_diurnal(rng: Generator, setting: Setting) -> Load:
    """Generate ordinary days."""
    machine, flow, limit = _site(rng, setting)
    drive = np.minimum(_daily(rng, setting, rng.uniform(0.05, 0.7)) * _noise(rng, setting.n), 0.95)
    return load_of(rng, machine, flow, limit, drive)


def flat_demand(rng: Generator, setting: Setting) -> Load:
    """Generate a steady producer: the same rate for hours, as flat as a ceiling, at ordinary latency."""
    machine, flow, limit = _site(rng, setting)
    n = setting.n
    level = rng.uniform(0.1, 0.88) * _calmer(setting)
    sd = log_uniform(rng, 0.0005, 0.03)
    flat = level * signals.wobble(rng, n, sd, log_uniform(rng, 120, 3600), sd)
    if rng.random() < 0.5:
        day = np.minimum(_daily(rng, setting, rng.uniform(0.1, 0.7)) * _noise(rng, n), 0.95)
        when = signals.sessions(rng, n, count=int(rng.integers(1, 6)), length_s=(1800, 10 * 3600))
        flat = np.where(when > 0.99, flat, day)
    rate = flat * float(np.median(limit))
    # A producer is steady in bytes or in operations, rarely in both.
    if rng.random() < 0.5:
        rate = rate * float(np.median(flow.op_bytes)) / flow.op_bytes
    drive = rate / limit
    return load_of(rng, machine, flow, limit, drive, closed=0.0)


def coincident_level(rng: Generator, setting: Setting) -> Load:
    """Generate flat demand that equals a documented number that does not bind."""

    def accepts(m: Machine) -> bool:
        return m.row.iops[1] > 1.3 * m.row.iops[0] or bool([level for level in m.levels if level.phase == "legacy"])

    machine = draw_machine(rng, accepts=accepts)
    flow = draw_flow(rng, setting, machine, None)
    limit = floor_ops(machine, flow)
    top = float(np.quantile(limit * flow.op_bytes, 0.02)), float(np.quantile(limit, 0.02))
    fits = [
        level for level in machine.levels if 0.05 < level.value / top[0 if level.stage.endswith("tput") else 1] < 0.93
    ]
    if not fits:
        return flat_demand(rng, setting)
    pick = fits[int(rng.integers(len(fits)))]
    sd = log_uniform(rng, 0.001, 0.01)
    value = pick.value * signals.wobble(rng, setting.n, sd, 900, sd) * rng.uniform(0.99, 1.005)
    rate = value / flow.op_bytes if pick.stage.endswith("tput") else value
    rate = rate * (1 if setting.attempt < 2 else _calmer(setting))
    when = signals.sessions(rng, setting.n, count=3, length_s=(3600, 8 * 3600))
    quiet = 0.3 * rate * _noise(rng, setting.n)
    return load_of(rng, machine, flow, limit, np.where(when > 0.99, rate, quiet) / limit, closed=0.0)


def rate_limiter(rng: Generator, setting: Setting) -> Load:
    """Generate a rate limiter in the application; the rest waits outside the database."""
    machine, flow, limit = _site(rng, setting)
    most = rng.uniform(0.25, 0.88) * _calmer(setting)
    sd = log_uniform(rng, 0.0005, 0.01)
    cap = most * float(np.median(limit)) * signals.wobble(rng, setting.n, sd, 1200, sd)
    asked = _daily(rng, setting, rng.uniform(1.0, 3.0)) * most * _noise(rng, setting.n)
    rate = signals.deferred(asked * float(np.median(limit)), cap, float(cap[0]) * rng.uniform(0, 900))
    return load_of(rng, machine, flow, limit, rate / limit, closed=0.0)


def worker_pool(rng: Generator, setting: Setting) -> Load:
    """Generate a fixed number of workers that wait for answers: flat because they are so few."""
    machine, flow, limit = _site(rng, setting)
    n = setting.n
    drive = rng.uniform(0.1, 0.85) * _calmer(setting)
    level = drive * float(np.median(limit))
    base = float(np.median(flow.latency_at(drive)))
    least = int(np.ceil(level * base)) + 1
    workers = int(rng.integers(least, 4 * least + 8))
    think = workers / level - base
    when = np.ones(n)
    if rng.random() < 0.7:
        when = signals.sessions(rng, n, count=int(rng.integers(1, 6)), length_s=(1800, 12 * 3600))
    idle = rng.uniform(0.0, 0.4)
    active = np.round(workers * np.maximum(when, idle))
    load = load_of(rng, machine, flow, limit, np.full(n, 0.02), closed=0.0)
    load.clients, load.think_s = active, np.full(n, think)
    return load


def cpu_bound(rng: Generator, setting: Setting) -> Load:
    """Generate requests limited by busy processors."""
    machine, flow, limit = _site(rng, setting)
    n = setting.n
    most = rng.uniform(0.15, 0.85) * _calmer(setting)
    sd = log_uniform(rng, 0.002, 0.02)
    cap = most * float(np.median(limit)) * signals.wobble(rng, n, sd, 900, sd)
    asked = _daily(rng, setting, rng.uniform(1.0, 2.5)) * most * _noise(rng, n)
    rate = signals.deferred(asked * float(np.median(limit)), cap, float(cap[0]) * 600)
    load = load_of(rng, machine, flow, limit, rate / limit, closed=0.0)
    full = rng.uniform(0.965, 1.0)
    load.side["cpu_ratio"] = np.minimum(full * rate / cap + signals.white(rng, n, 0.004), 1.0)
    return load


def batch_plateaus(rng: Generator, setting: Setting) -> Load:
    """Generate jobs of constant rate, one after another."""
    machine, flow, limit = _site(rng, setting)
    steps = signals.stairs(rng, setting.n, hold_s=(900, 6 * 3600), low=0.05, high=rng.uniform(0.5, 0.9))
    sd = log_uniform(rng, 0.001, 0.03)
    drive = steps * _calmer(setting) * signals.wobble(rng, setting.n, sd, 600, sd)
    if rng.random() < 0.4:
        drive = drive * float(np.median(flow.op_bytes)) / flow.op_bytes
    return load_of(rng, machine, flow, limit, drive, closed=float(rng.choice([0.0, 0.3])))


def spikes(rng: Generator, setting: Setting) -> Load:
    """Generate short peaks that stay below every ceiling."""
    machine, flow, limit = _site(rng, setting)
    base = _daily(rng, setting, rng.uniform(0.05, 0.4)) * _noise(rng, setting.n)
    peaks = signals.spikes(rng, setting.n, per_day=rng.uniform(4, 80), length_s=(20, 900))
    drive = np.minimum(base + rng.uniform(0.3, 0.9) * peaks, 0.96) * _calmer(setting)
    return load_of(rng, machine, flow, limit, drive, closed=0.0)


def near_limit(rng: Generator, setting: Setting) -> Load:
    """Generate demand between 80 and 97 % of the ceiling, never above it."""
    machine, flow, limit = _site(rng, setting, steady=True)
    n = setting.n
    noise = signals.wobble(rng, n, rng.uniform(0.003, 0.03), log_uniform(rng, 300, 7200), 0.005)
    shape = _daily(rng, setting, 1.0) / _calmer(setting) * noise
    if rng.random() < 0.4:
        shape = signals.sessions(rng, n, count=3, length_s=(3600, 10 * 3600)) * noise
    drive = shape / float(shape.max()) * rng.uniform(0.82, 0.97) * 0.985**setting.attempt
    return load_of(rng, machine, flow, limit, drive, closed=0.0)


def _fault(rng: Generator, setting: Setting, worst: float) -> Array:
    """Return a factor on latency: 1, and up to `worst` in sessions, erratic or nearly constant there."""
    when = signals.sessions(rng, setting.n, count=int(rng.integers(1, 4)), length_s=(900, 5 * 3600), ramp_s=120)
    bad = log_uniform(rng, 3, worst) * signals.wobble(
        rng, setting.n, log_uniform(rng, 0.008, 0.35), log_uniform(rng, 120, 3600), rng.uniform(0.01, 0.2)
    )
    return np.where(when > 0, 1 + (np.maximum(bad, 1.0) - 1) * when, 1.0)


def latency_fault_open(rng: Generator, setting: Setting) -> Load:
    """Generate slow storage for a while; requests keep coming."""
    machine, flow, limit = _site(rng, setting, steady=True)
    flow.r0 = flow.r0 * _fault(rng, setting, 30)
    drive = np.minimum(_daily(rng, setting, rng.uniform(0.1, 0.6)) * _noise(rng, setting.n), 0.9)
    return load_of(rng, machine, flow, limit, drive, closed=0.0)


def latency_fault_closed(rng: Generator, setting: Setting) -> Load:
    """Generate slow storage whose clients wait: the rate falls, sometimes to a flat level."""
    machine, flow, limit = _site(rng, setting, steady=True)
    healthy = flow.r0
    drive = np.minimum(_daily(rng, setting, rng.uniform(0.15, 0.7)) * _noise(rng, setting.n), 0.9)
    load = load_of(rng, machine, flow, limit, drive, closed=rng.uniform(0.6, 1.0))
    flow.r0 = healthy * _fault(rng, setting, 30)
    return load


def network_bound(rng: Generator, setting: Setting) -> Load:
    """Generate a stream limited by the network."""
    machine, flow, limit = _site(rng, setting)
    n = setting.n
    most = rng.uniform(0.2, 0.85) * _calmer(setting)
    top_bytes = most * float(np.quantile(limit * flow.op_bytes, 0.05))
    sd = log_uniform(rng, 0.0005, 0.015)
    stream = top_bytes * signals.wobble(rng, n, sd, 600, sd)
    when = signals.sessions(rng, n, count=int(rng.integers(1, 4)), length_s=(3600, 16 * 3600))
    base = 0.2 * _daily(rng, setting, 0.5) * _noise(rng, n) * limit
    rate = np.where(when > 0.99, stream / flow.op_bytes, base)
    load = load_of(rng, machine, flow, limit, rate / limit, closed=0.0)
    load.side["network_receive"] = rate * flow.op_bytes * rng.uniform(0.6, 1.1)
    return load


def lock_contention(rng: Generator, setting: Setting) -> Load:
    """Generate sessions that wait for each other; the storage has little work and answers at once."""
    machine, flow, limit = _site(rng, setting)
    n = setting.n
    when = signals.sessions(rng, n, count=int(rng.integers(1, 6)), length_s=(300, 3 * 3600))
    drive = np.minimum(_daily(rng, setting, rng.uniform(0.2, 0.8)) * _noise(rng, n), 0.95)
    stuck = rng.uniform(0.05, 0.35)
    drive = drive * (1 - when) + stuck * when * signals.wobble(rng, n, 0.02, 600, 0.02) * 0.5
    load = load_of(rng, machine, flow, limit, drive)
    load.side["connections"] = rng.uniform(30, 200) * (1 + rng.uniform(2, 10) * when)
    return load


def checkpoint_sawtooth(rng: Generator, setting: Setting) -> Load:
    """Generate writes in waves, with waves in the latency of writes."""
    machine, flow, limit = _site(rng, setting)
    n = setting.n
    every = int(rng.choice([300, 600, 900, 1800])) // signals.STEP_S
    part = rng.uniform(0.3, 0.9)
    at = (np.arange(n) % every) / every
    wave = np.where(at < part, (at / part) ** rng.uniform(0.2, 2.0), 0.0)
    base = _daily(rng, setting, rng.uniform(0.1, 0.5))
    drive = np.minimum(base * (0.5 + wave * rng.uniform(0.5, 1.5)) * _noise(rng, n), 0.95)
    flow.r0 = flow.r0 * (1 + wave * rng.uniform(0, 1.0))
    return load_of(rng, machine, flow, limit, drive * _calmer(setting), closed=0.0)


def backup_latency(rng: Generator, setting: Setting) -> Load:
    """Generate a nightly snapshot that slows every request but does not limit the rate."""
    machine, flow, limit = _site(rng, setting, steady=True)
    flow.r0 = flow.r0 * slower_nights(rng, setting)
    drive = np.minimum(_daily(rng, setting, rng.uniform(0.1, 0.6)) * _noise(rng, setting.n), 0.9)
    return load_of(rng, machine, flow, limit, drive, closed=0.0)


def connection_storm(rng: Generator, setting: Setting) -> Load:
    """Generate many new connections; processors get busy, storage hardly changes."""
    machine, flow, limit = _site(rng, setting)
    n = setting.n
    when = signals.sessions(rng, n, count=int(rng.integers(1, 5)), length_s=(600, 2 * 3600), ramp_s=20)
    drive = _daily(rng, setting, rng.uniform(0.1, 0.5)) * _noise(rng, n) * (1 + 0.4 * when)
    load = load_of(rng, machine, flow, limit, np.minimum(drive, 0.95))
    load.side["connections"] = rng.uniform(50, 300) * (1 + rng.uniform(3, 12) * when)
    load.side["cpu_ratio"] = np.clip(0.3 + 0.65 * when + signals.white(rng, n, 0.02), 0, 1)
    return load


def memory_pressure(rng: Generator, setting: Setting) -> Load:
    """Generate a shrinking cache: reads grow, the machine swaps; the storage keeps up."""
    machine, flow, limit = _site(rng, setting)
    n = setting.n
    grown = np.clip(np.cumsum(np.full(n, 1.0 / n)) * rng.uniform(0.8, 1.4), 0, 1)
    drive = _daily(rng, setting, rng.uniform(0.15, 0.6)) * _noise(rng, n) * (0.5 + 0.5 * grown)
    load = load_of(rng, machine, flow, limit, np.minimum(drive, 0.95), closed=0.0)
    memory = machine.row.memory_gib * 1024**3
    load.side["memory"] = memory * (0.3 - 0.28 * grown)
    load.side["swap"] = 2e9 * np.clip(grown - 0.6, 0, 1)
    return load


def burst_with_credits_left(rng: Generator, setting: Setting) -> Load:
    """Generate peaks above the baseline that the credits pay for."""

    def accepts(m: Machine) -> bool:
        return m.row.tput[1] > 1.5 * m.row.tput[0] and m.real_disk.tput > 1.5 * m.row.tput[0]

    machine = draw_machine(rng, accepts=accepts)
    flow = draw_flow(rng, setting, machine, None)
    limit = floor_ops(machine, flow)
    when = signals.sessions(rng, setting.n, count=int(rng.integers(1, 5)), length_s=(600, 2400))
    peak = rng.uniform(1.05, 1.5) * 0.93**setting.attempt
    base = _daily(rng, setting, rng.uniform(0.1, 0.6)) * _noise(rng, setting.n)
    steady = signals.wobble(rng, setting.n, 0.01, 600, 0.02)
    drive = np.minimum(base * (1 - when) + peak * steady * when, 1.6)
    load = load_of(rng, machine, flow, limit, np.minimum(drive, 0.99), closed=0.0)
    load.open_ops = drive * limit
    return load


def lazy_loading(rng: Generator, setting: Setting) -> Load:
    """Generate a restored instance that loads its blocks on first access: slow reads, fewer over time."""
    machine, flow, limit = _site(rng, setting, steady=True)
    n = setting.n
    drive = np.minimum(_daily(rng, setting, rng.uniform(0.1, 0.5)) * _noise(rng, n), 0.9)
    load = load_of(rng, machine, flow, limit, drive, closed=rng.uniform(0.3, 1.0))
    hours = signals.STEP_S * np.arange(n) / 3600
    cold = rng.uniform(0.2, 1.0) * np.exp(-hours / log_uniform(rng, 2, 24))
    flow.r0 = flow.r0 * (1 + log_uniform(rng, 4, 30) * cold * _noise(rng, n, slow=(0.05, 0.3)))
    return load
