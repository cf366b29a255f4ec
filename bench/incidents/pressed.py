"""Define families in which a ceiling throttles requests."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from incidents import machine as machines
from incidents import signals
from incidents.machine import APART_LOG, Machine, Row, draw_machine
from incidents.scenario import (
    Flow,
    Load,
    Setting,
    Target,
    can_press,
    draw_flow,
    load_of,
    size_range,
    slower_nights,
    target_ops,
)
from incidents.signals import Array, log_uniform

TPUT, IOPS = Target("inst_tput"), Target("inst_iops")
VOL_TPUT, VOL_IOPS = Target("vol_tput"), Target("vol_iops")


def _background(rng: Generator, setting: Setting, *, most: float = 0.7) -> Array:
    """Generate an ordinary day below the ceiling, shape (n,)."""
    n = setting.n
    level = rng.uniform(0.12, most)
    shape = signals.day(rng, n, setting.start_s, depth=rng.uniform(0.2, 0.9))
    noise = signals.wobble(rng, n, rng.uniform(0.03, 0.15), log_uniform(rng, 300, 7200), rng.uniform(0.01, 0.2))
    back = level * shape * noise
    extra = rng.random()
    if extra < 0.12:
        back = np.maximum(back, signals.stairs(rng, n, hold_s=(900, 4 * 3600), low=0, high=0.8))
    elif extra < 0.24:
        back = back + 0.6 * signals.spikes(rng, n, per_day=rng.uniform(3, 40), length_s=(20, 600))
    elif extra < 0.36:
        steady = signals.sessions(rng, n, count=int(rng.integers(1, 4)), length_s=(1800, 6 * 3600))
        back = np.where(steady > 0.99, rng.uniform(0.2, 0.85) * signals.wobble(rng, n, 0.003, 600, 0.003), back)
    return np.minimum(back, 0.93)


def _episodes(rng: Generator, setting: Setting, *, length_s: tuple[float, float] = (2400, 8 * 3600)) -> Array:
    """Draw when demand exceeds the ceiling: a few sessions a window, longer on later tries, shape (n,)."""
    days = setting.length_s / 86400
    count = int(rng.integers(1, 3 + round(days)))
    grown = 1.4**setting.attempt
    return signals.sessions(rng, setting.n, count=count, length_s=(length_s[0] * grown, length_s[1] * grown))


def _dips(rng: Generator, setting: Setting) -> Array:
    """Draw moments at which the clients pause, as a factor, shape (n,)."""
    if rng.random() < 0.5:
        return np.ones(setting.n)
    pauses = signals.spikes(rng, setting.n, per_day=rng.uniform(2, 20), length_s=(20, 240))
    return np.where(pauses > 0.2, rng.uniform(0.3, 0.8), 1.0)


def pressed_drive(rng: Generator, setting: Setting, when: Array) -> Array:
    """Return the background outside `when`, and above one inside it, shape (n,)."""
    over = log_uniform(rng, 1.15, 3.0)
    noise = signals.wobble(rng, setting.n, rng.uniform(0.01, 0.06), log_uniform(rng, 300, 3600), 0.03)
    back = _background(rng, setting)
    return (back * (1 - when) + over * noise * when) * np.where(when > 0, _dips(rng, setting), 1.0)


def _scarce(rng: Generator, setting: Setting, *stages: str) -> dict[str, float]:
    """Draw credits at the start: fewer with each try."""
    return {stage: float(rng.uniform(0, 1) ** 2) * 0.4**setting.attempt for stage in stages}


def _press(
    rng: Generator, setting: Setting, machine: Machine, target: Target, when: Array | None = None,
    **kind: float,
) -> Load:  # fmt: skip
    flow = draw_flow(rng, setting, machine, target)
    active = _episodes(rng, setting) if when is None else when
    drive = pressed_drive(rng, setting, active)
    load = load_of(rng, machine, flow, target_ops(machine, flow, target), drive, **kind)
    load.targets = (target,)
    if not target.burst:
        load.credit_share = _scarce(rng, setting, target.stage)
    if rng.random() < 0.2:
        flow.r0 = flow.r0 * slower_nights(rng, setting)
    return load


def _kinds(target: Target) -> tuple[str, ...]:
    # The documents disagree on the throughput of striped io1 and io2, so it is never the subject.
    return ("gp2", "gp3", "gp3") if target == VOL_TPUT else ("gp2", "gp3", "gp3", "io1", "io2")


def _bursting(stage: str):
    def accepts(m: Machine) -> bool:
        base, burst = m.nominal(stage)
        return burst > 1.3 * base and can_press(Target(stage))(m)

    return accepts


def burst_exhausted_throughput(rng: Generator, setting: Setting) -> Load:
    """Spend the instance's throughput credits; the baseline binds."""
    machine = draw_machine(rng, accepts=_bursting("inst_tput"))
    return _press(rng, setting, machine, TPUT)


def burst_exhausted_iops(rng: Generator, setting: Setting) -> Load:
    """Spend the instance's I/O credits; the IOPS baseline binds."""
    machine = draw_machine(rng, accepts=_bursting("inst_iops"))
    return _press(rng, setting, machine, IOPS)


def _full_burst(rng: Generator, setting: Setting, stage: str) -> Load:
    target = Target(stage, 1)

    def accepts(m: Machine) -> bool:
        base, burst = m.nominal(stage)
        return burst > 1.3 * base and can_press(target)(m)

    machine = draw_machine(rng, accepts=accepts)
    # The documents promise half an hour at the maximum; the baseline that follows is truth as well.
    when = _episodes(rng, setting, length_s=(1200, 5400))
    load = _press(rng, setting, machine, target, when)
    load.open_ops = load.open_ops * np.where(when > 0, 1.0, 0.4)
    load.clients = load.clients * np.where(when > 0, 1.0, 0.4)
    return load


def burst_throughput(rng: Generator, setting: Setting) -> Load:
    """Keep the instance at its maximum throughput while credits last."""
    return _full_burst(rng, setting, "inst_tput")


def burst_iops(rng: Generator, setting: Setting) -> Load:
    """Keep the instance at its maximum IOPS while credits last."""
    return _full_burst(rng, setting, "inst_iops")


def _fixed_stage(stage: str):
    def accepts(m: Machine) -> bool:
        base, burst = m.nominal(stage)
        return base == burst and can_press(Target(stage))(m)

    return accepts


def fixed_throughput(rng: Generator, setting: Setting) -> Load:
    """Keep a class without burst at its throughput."""
    machine = draw_machine(rng, accepts=_fixed_stage("inst_tput"))
    return _press(rng, setting, machine, TPUT)


def fixed_iops(rng: Generator, setting: Setting) -> Load:
    """Keep a class without burst at its IOPS."""
    machine = draw_machine(rng, accepts=_fixed_stage("inst_iops"))
    return _press(rng, setting, machine, IOPS)


def _gp2(rng: Generator, count: int, *, burst: int) -> Machine:
    def accepts(m: Machine) -> bool:
        base, top = m.nominal("vol_iops")
        right = m.disk.volume_count == count and top > 1.15 * base
        return right and can_press(Target("vol_iops", burst))(m)

    return draw_machine(rng, accepts=accepts, kinds=("gp2",))


def gp2_credits_single(rng: Generator, setting: Setting) -> Load:
    """Keep one gp2 volume without credits at three operations per second and GiB."""
    return _press(rng, setting, _gp2(rng, 1, burst=0), VOL_IOPS)


def gp2_credits_striped(rng: Generator, setting: Setting) -> Load:
    """Keep four striped gp2 volumes without credits at their baseline."""
    return _press(rng, setting, _gp2(rng, 4, burst=0), VOL_IOPS)


def gp2_burst(rng: Generator, setting: Setting) -> Load:
    """Keep gp2 volumes at 3,000 operations per second each while credits last."""
    machine = _gp2(rng, int(rng.choice([1, 1, 4])), burst=1)
    when = _episodes(rng, setting, length_s=(1200, 3 * 3600))
    return _press(rng, setting, machine, Target("vol_iops", 1), when)


def gp3_iops(rng: Generator, setting: Setting) -> Load:
    """Keep gp3 volumes at their IOPS."""
    machine = draw_machine(rng, accepts=can_press(VOL_IOPS), kinds=("gp3",))
    return _press(rng, setting, machine, VOL_IOPS)


def volume_throughput(rng: Generator, setting: Setting) -> Load:
    """Keep gp2 or gp3 volumes at their throughput."""
    machine = draw_machine(rng, accepts=can_press(VOL_TPUT), kinds=("gp3", "gp3", "gp2"))
    return _press(rng, setting, machine, VOL_TPUT)


def provisioned_iops(rng: Generator, setting: Setting) -> Load:
    """Keep io1 or io2 volumes at their provisioned IOPS."""
    machine = draw_machine(rng, accepts=can_press(VOL_IOPS), kinds=("io1", "io1", "io2"))
    return _press(rng, setting, machine, VOL_IOPS)


def legacy_limits(rng: Generator, setting: Setting) -> Load:
    """Keep an instance at the legacy limits it has from before its class was raised."""

    def alter(_: Generator, m: Machine) -> Machine | None:
        today = [r for r in machines.current_rows() if r.db_class == m.row.db_class]
        if not today or today[0].tput[0] / m.row.tput[0] < 1.05:
            return None
        m.launched = m.row.documented_to
        return m

    target = Target("inst_tput", int(rng.random() < 0.25))

    def accepts(m: Machine) -> bool:
        return can_press(target)(m)

    machine = draw_machine(rng, accepts=accepts, pool=machines.enforceable_legacy_rows(), alter=alter)
    # Launched while the legacy numbers were documented; one description in five lacks the date.
    row = machine.row
    earliest = max(row.documented_from, "2018-08-10")
    year, month = earliest[:4], int(earliest[5:7])
    machine.launched = None if rng.random() < 0.2 else f"{year}-{min(month + 1, 12):02d}-15"
    if target.burst:
        when = _episodes(rng, setting, length_s=(1200, 5400))
        return _press(rng, setting, machine, target, when)
    return _press(rng, setting, machine, target)


def _unlisted(m: Machine, stage: str, value: float) -> bool:
    """Return whether no documented number of that dimension is near the value."""
    return all(
        abs(np.log(level.value / value)) > APART_LOG
        for level in m.levels
        if machines.is_bytes(level.stage) == machines.is_bytes(stage)
    )


def _with_unknown(rng: Generator, m: Machine) -> Machine | None:
    """Put an undocumented limit below the documented ones, or raise the lowest of them to an odd number."""
    in_bytes = bool(rng.random() < 0.7)
    stage = "extra_tput" if in_bytes else "extra_iops"
    floor = min(m.nominal(s)[0] for s in machines.STAGES if machines.is_bytes(s) == in_bytes)
    if rng.random() < 0.75:
        m.extra = (stage, floor * rng.uniform(0.6, 0.93))
    else:
        m.extra = (stage, floor * rng.uniform(1.08, 1.35))
        m.replaced = frozenset(
            s for s in machines.STAGES if machines.is_bytes(s) == in_bytes and m.nominal(s)[0] < 1.5 * floor
        )
    return m if _unlisted(m, stage, m.extra[1]) else None


def unknown_limit(rng: Generator, setting: Setting) -> Load:
    """Keep a machine at a limit that no document lists for it."""

    def accepts(m: Machine) -> bool:
        return m.extra is not None and can_press(Target(m.extra[0]))(m)

    machine = draw_machine(rng, accepts=accepts, alter=_with_unknown)
    assert machine.extra is not None
    return _press(rng, setting, machine, Target(machine.extra[0]))


def unknown_class(rng: Generator, setting: Setting) -> Load:
    """Use a class that is in no catalog, or not described at all."""
    target = TPUT if rng.random() < 0.7 else IOPS
    name = None if rng.random() < 0.5 else str(rng.choice(["db.q9.large", "db.m99x.4xlarge"]))

    def alter(_: Generator, m: Machine) -> Machine | None:
        m.db_class = name
        m.levels = machines.documented_levels(None, m.disk)
        return m

    machine = draw_machine(rng, accepts=can_press(target), alter=alter)
    return _press(rng, setting, machine, target)


def stale_catalog(rng: Generator, setting: Setting) -> Load:
    """Enforce another class or volume layout than the outdated description has."""
    pool = machines.current_rows()
    layout = bool(rng.random() < 0.3)

    def alter(inner: Generator, m: Machine) -> Machine | None:
        if layout:
            if m.disk.volume_count != 4:
                return None
            alone = machines.gp2_volumes(m.disk.size_gib, 1)
            m.real_disk = alone
            return m if _unlisted(m, "vol_tput", alone.tput) else None
        other: Row = pool[int(inner.integers(len(pool)))]
        m.db_class, m.levels = other.db_class, machines.documented_levels(other.db_class, m.disk)
        return m if _unlisted(m, "inst_tput", m.row.tput[0]) else None

    target = VOL_TPUT if layout else TPUT
    kinds = ("gp2",) if layout else ("gp2", "gp3", "io1", "io2")
    machine = draw_machine(rng, accepts=can_press(target), kinds=kinds, alter=alter)
    return _press(rng, setting, machine, target)


def alternating_ceilings(rng: Generator, setting: Setting) -> Load:
    """Reach the IOPS ceiling with small requests, and the throughput ceiling with large ones, on one day."""

    def accepts(m: Machine) -> bool:
        return can_press(TPUT)(m) and can_press(IOPS)(m)

    machine = draw_machine(rng, accepts=accepts)
    large = draw_flow(rng, setting, machine, TPUT)
    small_at = float(np.median(draw_flow(rng, setting, machine, IOPS).op_bytes))
    job = signals.nightly(rng, setting.n, setting.start_s, hour=rng.uniform(0, 24), length_s=(2 * 3600, 9 * 3600))
    factor = np.where(job > 0.5, 1.0, small_at / float(np.median(large.op_bytes)))
    flow: Flow = replace(large, read_size=large.read_size * factor, write_size=large.write_size * factor)
    limit = np.minimum(target_ops(machine, flow, TPUT), target_ops(machine, flow, IOPS))
    busy = np.maximum(job * (rng.random() < 0.9), _episodes(rng, setting))
    load = load_of(rng, machine, flow, limit, pressed_drive(rng, setting, busy))
    load.credit_share = _scarce(rng, setting, "inst_tput", "inst_iops")
    load.targets = (TPUT, IOPS)
    return load


def nightly_batch(rng: Generator, setting: Setting) -> Load:
    """Leave room by day, and be at the ceiling by night."""
    target = TPUT if rng.random() < 0.6 else VOL_TPUT
    machine = draw_machine(rng, accepts=can_press(target), kinds=_kinds(target))
    when = signals.nightly(
        rng, setting.n, setting.start_s, hour=rng.uniform(0, 6),
        length_s=(2400 * 1.4**setting.attempt, 7 * 3600),
    )  # fmt: skip
    return _press(rng, setting, machine, target, when)


def closed_loop_pegged(rng: Generator, setting: Setting) -> Load:
    """Keep a ceiling busy for most of the window with clients that wait for their answers."""
    target = (TPUT, IOPS, VOL_IOPS, VOL_TPUT)[int(rng.integers(4))]
    machine = draw_machine(rng, accepts=can_press(target), kinds=_kinds(target))
    whole = rng.random() < 0.1
    calm = _episodes(rng, setting, length_s=(1800, 5 * 3600))
    when = np.ones(setting.n) if whole else 1 - calm
    return _press(rng, setting, machine, target, when, closed=1.0)


def long_vacuum(rng: Generator, setting: Setting) -> Load:
    """Add a vacuum of hours to the daily load, enough together to spend the byte credits."""
    machine = draw_machine(rng, accepts=_bursting("inst_tput"))
    flow = draw_flow(rng, setting, machine, TPUT)
    limit = target_ops(machine, flow, TPUT)
    front = _background(rng, setting, most=0.8)
    when = _episodes(rng, setting, length_s=(3 * 3600, 14 * 3600))
    noise = signals.wobble(rng, setting.n, 0.05, 1800, 0.05)
    load = load_of(rng, machine, flow, limit, front, closed=rng.uniform(0, 0.5))
    extra = load_of(rng, machine, flow, limit, when * rng.uniform(0.6, 1.6) * noise, closed=0.0)
    load.open_ops = load.open_ops + extra.open_ops
    load.carry = rng.uniform(0.0, 0.5)
    load.credit_share = _scarce(rng, setting, "inst_tput")
    load.targets = (TPUT,)
    return load


def micro_bursts(rng: Generator, setting: Setting) -> Load:
    """Reach a ceiling in pulses below a minute, which the minute's mean never shows."""
    target = TPUT if rng.random() < 0.5 else VOL_IOPS

    def accepts(m: Machine) -> bool:
        low, high = size_range(m, Target(target.stage, 1))
        return high > 1.25 * low

    machine = draw_machine(rng, accepts=accepts)
    aim = Target(target.stage, 1)
    flow = draw_flow(rng, setting, machine, aim)
    limit = target_ops(machine, flow, aim)
    every = int(rng.integers(4, 25)) * 12
    on = int(rng.integers(1, 6))
    phase = (np.arange(setting.n) + int(rng.integers(every))) % every
    pulse = (phase < on) * (_episodes(rng, setting) > 0.5)
    drive = np.where(pulse, log_uniform(rng, 1.1, 1.8), 0.25 * _background(rng, setting))
    return load_of(rng, machine, flow, limit, drive, closed=0.0, multiple=3.0)


def daily_grant(rng: Generator, setting: Setting) -> Load:
    """Stay at the ceiling day and night; once a day some credits are granted and spent within the hour."""
    stage = "inst_tput" if rng.random() < 0.7 else "inst_iops"
    machine = draw_machine(rng, accepts=_bursting(stage))
    when = np.ones(setting.n)
    if rng.random() < 0.6:
        when = 1 - _episodes(rng, setting, length_s=(1800, 4 * 3600))
    load = _press(rng, setting, machine, Target(stage), when)
    load.credit_share = {stage: 0.05 * float(rng.random())}
    per_day = 86400 // signals.STEP_S
    load.grant = np.zeros(setting.n)
    load.grant[int(rng.integers(per_day)) :: per_day] = rng.uniform(0.2, 1.0)
    return load
