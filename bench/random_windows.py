"""
Windows that nobody would draw by hand: 1 to 90 days, every class, storage and engine, and every kind of damage.

A window is a pure function of its seed. Everything in it is invented. The aim is not a likely database, but one
that the code has to take: `incidents` has the likely ones.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from plimsoll.catalog.load import catalog
from plimsoll.limits import ceilings_of
from plimsoll.model.ceiling import Ceiling, Dimension
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Annotation, EventKind, Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot

Values = NDArray[np.float64]
Rng = np.random.Generator

ROOT = Path(__file__).resolve().parents[1]
START_S = 1_615_161_600  # 2021-03-08T00:00:00Z, a multiple of every period
DAY_S = 86_400
# A window of more samples says nothing new, and takes its time from other windows.
SAMPLES_MAX = 90 * 1_440
STEPS_S = (1, 10, 60, 60, 60, 300, 300, 300)

ENGINES = (
    *("postgres", "mysql", "mariadb", "oracle-ee", "oracle-se2", "sqlserver-ee", "sqlserver-web"),
    *("db2-se", "aurora-postgresql", "aurora-mysql", "aurora", "custom-oracle-ee", "nonsense", None),
)
KINDS = ("gp2", "gp2", "gp3", "gp3", "io1", "io2", "standard", "aurora", "floppy", None)
SMALL_CLASSES = ("db.t2.micro", "db.t3.micro", "db.t3.medium", "db.t4g.large", "db.serverless")
UNKNOWN_CLASSES = ("db.z9.huge", "db.r99g.large", None, None)
RATES = (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
BALANCES = (Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO, Metric.VOLUME_BALANCE_RATIO)


def random_window(seed: int) -> Snapshot:
    """Return the window of a seed; equal seeds give equal windows."""
    rng = np.random.default_rng(seed)
    instance = _instance(rng)
    time_s, step_s = _times(rng)
    values = _values(rng, instance, time_s.size)
    damaged = _damaged(rng, values)
    series = {}
    for metric, value in damaged.items():
        kept = _kept(rng, time_s.size)
        if kept.any():
            series[metric] = Series(metric=metric, step_s=step_s, time_s=time_s[kept], value=value[kept])
    series = _coarser(rng, series)
    window_s = (int(time_s[0]), int(time_s[-1]) + step_s)
    return Snapshot(
        instance=instance,
        series=series,
        fine=_fine(rng, series),
        source="random window",
        is_simulated=True,
        note=f"Invented from seed {seed}.",
        annotations=_events(rng, window_s),
        asked_s=_asked(rng, window_s),
    )


def _chance(rng: Rng, share: float) -> bool:
    return bool(rng.random() < share)


def _instance(rng: Rng) -> Instance:
    classes = catalog().classes()
    draw = rng.random()
    if draw < 0.2:
        db_class = SMALL_CLASSES[rng.integers(len(SMALL_CLASSES))]
    elif draw < 0.3:
        db_class = UNKNOWN_CLASSES[rng.integers(len(UNKNOWN_CLASSES))]
    else:
        db_class = classes[rng.integers(len(classes))]
    engine = ENGINES[rng.integers(len(ENGINES))] if _chance(rng, 0.5) else "postgres"
    return Instance(
        identifier="random",
        db_class=db_class,
        engine=engine,
        engine_version=str(rng.choice(["9.6", "13.4", "16.1", "18.0", "8.0.32", "odd"])),
        region=None if _chance(rng, 0.1) else "us-east-1",
        multi_az=[None, False, True][rng.integers(3)],
        storage=_storage(rng, engine),
        launched_s=None if _chance(rng, 0.5) else int(rng.integers(1_300_000_000, 1_800_000_000)),
        connection_max=None if _chance(rng, 0.7) else int(rng.integers(1, 5000)),
        capacity_acu_max=float(rng.choice([0.5, 2, 128])) if db_class == "db.serverless" else None,
    )


def _storage(rng: Rng, engine: str | None) -> Storage:
    kind = KINDS[rng.integers(len(KINDS))]
    if engine is not None and engine.startswith("aurora") and _chance(rng, 0.8):
        kind = "aurora-iopt1" if _chance(rng, 0.3) else "aurora"
    size = float(np.round(np.exp(rng.uniform(np.log(5), np.log(65_536)))))
    is_bought = kind in ("gp3", "io1", "io2") and _chance(rng, 0.7)
    return Storage(
        kind=kind,
        size_gib=None if _chance(rng, 0.1) else size,
        provisioned_ops_per_s=float(rng.integers(100, 256_000)) if is_bought else None,
        provisioned_bytes_per_s=float(rng.integers(125, 4_000)) * 2**20 if is_bought and kind == "gp3" else None,
        volume_count=int(rng.integers(1, 5)) if _chance(rng, 0.1) else None,
    )


def _times(rng: Rng) -> tuple[NDArray[np.int64], int]:
    """Return starts of samples and the usual step; some windows have an older, coarser part."""
    seconds = float(np.exp(rng.uniform(np.log(DAY_S), np.log(90 * DAY_S))))
    fitting = [step for step in STEPS_S if seconds / step <= SAMPLES_MAX]
    step_s = int(rng.choice(fitting))
    count = int(seconds / step_s)
    time_s = START_S + step_s * np.arange(count, dtype=np.int64)
    if _chance(rng, 0.1) and step_s in (1, 10, 60):
        # As CloudWatch keeps it: an older part at five times the step or more.
        coarse = {1: 60, 10: 300, 60: 300}[step_s]
        cut = int(rng.integers(count))
        older = time_s[:cut]
        time_s = np.concatenate((older[older % coarse == 0], time_s[cut:]))
    return time_s, step_s


def _values(rng: Rng, instance: Instance, count: int) -> dict[Metric, Values]:
    """Return every metric at every step, as an instance under these limits might report it."""
    asked = SHAPES[rng.integers(len(SHAPES))](rng, count)
    size_bytes = float(2 ** rng.uniform(9, 19)) * _wander(rng, count, 0.2 * rng.random())
    level, is_bytes = _level(rng, instance)
    own = size_bytes if is_bytes else 1.0
    # What is asked for, around the limit.
    asked = asked * level * np.exp(rng.uniform(-3, 1))
    served = np.minimum(asked, level * _wander(rng, count, 0.003))
    pressed = asked > served
    ops = served / own
    calm_s = float(np.exp(rng.uniform(np.log(2e-4), np.log(2e-2))))
    latency_s = calm_s * np.where(pressed, 1 + 8 * rng.random(), 1.0) * _wander(rng, count, 0.1)
    reads = rng.random() if _chance(rng, 0.8) else float(rng.integers(2))
    found = {
        Metric.READ_OPS_PER_S: reads * ops,
        Metric.WRITE_OPS_PER_S: (1 - reads) * ops,
        Metric.READ_BYTES_PER_S: reads * ops * size_bytes,
        Metric.WRITE_BYTES_PER_S: (1 - reads) * ops * size_bytes,
        Metric.READ_LATENCY_S: latency_s,
        Metric.WRITE_LATENCY_S: latency_s * rng.uniform(0.5, 2),
        Metric.QUEUE_DEPTH: ops * latency_s,
    }
    spent = np.cumsum(np.where(pressed, -1.0, 0.5)) * 10 / max(count, 1)
    for metric in BALANCES:
        found[metric] = np.round(np.clip(rng.random() + spent, 0, 1), int(rng.integers(1, 4)))
    used = np.clip(asked / level * rng.random(), 0, 1)
    scale = {"ratio": 1.0, "bytes": 2.0**33, "count": 500.0, "credits": 576.0}
    for metric in Metric:
        if metric not in found:
            found[metric] = used * scale.get(METRICS[metric].unit, 1e7)
    return found


def _level(rng: Rng, instance: Instance) -> tuple[float, bool]:
    """Return a rate at which the storage stops, mostly a documented one, and whether it is of bytes."""
    rows: tuple[Ceiling, ...]
    try:
        rows = ceilings_of(instance, catalog())
    except Exception:
        rows = ()
    rated = [r for r in rows if r.dimension is not Dimension.AMOUNT and r.value > 0]
    if not rated or _chance(rng, 0.3):
        is_bytes = _chance(rng, 0.5)
        return float(np.exp(rng.uniform(0, 10))) * (2**20 if is_bytes else 1.0), is_bytes
    row = rated[rng.integers(len(rated))]
    return row.value, row.dimension is Dimension.THROUGHPUT


def _wander(rng: Rng, count: int, spread: float) -> Values:
    return np.exp(spread * rng.standard_normal(count))


def _busy_hours(rng: Rng, count: int) -> Values:
    period = float(np.exp(rng.uniform(np.log(5), np.log(3_000))))
    wave = 1 + np.sin(2 * np.pi * np.arange(count) / period)
    return 0.05 + wave * _wander(rng, count, 0.3 * rng.random())


def _pulses(rng: Rng, count: int) -> Values:
    period = int(rng.integers(2, 400))
    on = np.arange(count) % period < rng.integers(1, period + 1)
    return np.where(on, 3.0, 0.1 * rng.random()) * _wander(rng, count, 0.05)


def _constant(rng: Rng, count: int) -> Values:
    return np.full(count, rng.uniform(0.1, 2)) * _wander(rng, count, float(rng.choice([0, 1e-3])))


def _example(rng: Rng, count: int) -> Values:
    """Return the example's throughput, cycled exactly: equal samples are what medians stumble over."""
    seen = decode_snapshot((ROOT / "examples/search-service/snapshot.json").read_bytes()).series
    total = seen[Metric.READ_BYTES_PER_S].value + seen[Metric.WRITE_BYTES_PER_S].value
    start = int(rng.integers(total.size))
    return np.resize(np.roll(total, start), count) / float(np.median(total))


def _few_numbers(rng: Rng, count: int) -> Values:
    """Return samples of a handful of numbers, some of them close to each other."""
    numbers = np.exp(np.cumsum(rng.choice([1e-5, 1e-4, 2e-3, 0.03, 0.5], 6)))
    return numbers[rng.integers(0, 6, count)] / 2


def _drift(rng: Rng, count: int) -> Values:
    return np.exp(np.linspace(-3, 3, count) * rng.choice([-1, 1])) * _wander(rng, count, 0.02)


SHAPES: tuple[Callable[[Rng, int], Values], ...] = (
    *(_busy_hours, _busy_hours, _pulses, _constant, _example, _few_numbers, _drift),
)


def _damaged(rng: Rng, values: dict[Metric, Values]) -> dict[Metric, Values]:
    """Return some of the metrics, some of them with one to three kinds of damage."""
    kept_share = rng.choice([0.3, 0.8, 1.0], p=[0.2, 0.3, 0.5])
    rates_share = 1.0 if _chance(rng, 0.85) else kept_share
    found = {
        metric: value
        for metric, value in values.items()
        if _chance(rng, rates_share if metric in RATES else kept_share)
    }
    if _chance(rng, 0.3):
        found = {metric: value for metric, value in found.items() if metric not in BALANCES}
    is_same = _chance(rng, 0.5)
    for _ in range(int(rng.integers(0, 4))):
        damage = DAMAGES[rng.integers(len(DAMAGES))]
        seed = int(rng.integers(2**32))
        for metric in found:
            # The same samples of all metrics, or others of each.
            own = np.random.default_rng(seed if is_same else [seed, list(Metric).index(metric)])
            if is_same or _chance(rng, 0.5):
                found[metric] = damage(own, found[metric].copy())
    return found


def _lost_run(rng: Rng, value: Values) -> Values:
    first, last = np.sort(rng.integers(0, value.size + 1, 2))
    value[first:last] = np.nan
    return value


def _lost_edges(rng: Rng, value: Values) -> Values:
    edge = int(rng.integers(1, value.size + 1))
    value[: edge // 2] = np.nan
    value[value.size - edge // 3 :] = np.nan
    return value


def _lost_in_step(rng: Rng, value: Values) -> Values:
    """Every so many samples, in time with a selection that passes over the others."""
    step = int(rng.integers(2, 12))
    value[rng.integers(step) :: step] = np.nan
    return value


def _only_in_step(rng: Rng, value: Values) -> Values:
    step, first = int(rng.integers(2, 40)), int(rng.integers(40))
    kept = np.full(value.size, np.nan)
    kept[first::step] = value[first::step]
    return kept


def _only_one(rng: Rng, value: Values) -> Values:
    """Only a few usable samples, often one."""
    kept = np.full(value.size, np.nan)
    at = rng.integers(0, value.size, int(rng.integers(1, 4)))
    kept[at] = value[at]
    return kept


def _nothing(_: Rng, value: Values) -> Values:
    return np.full(value.size, np.nan)


def _zero_run(rng: Rng, value: Values) -> Values:
    first, last = np.sort(rng.integers(0, value.size + 1, 2))
    value[first:last] = 0.0
    return value


def _all_zero(_: Rng, value: Values) -> Values:
    return np.zeros(value.size)


def _stuck(rng: Rng, value: Values) -> Values:
    """One number for a while, as a counter that is no longer written."""
    first, last = np.sort(rng.integers(0, value.size + 1, 2))
    value[first:last] = value[min(first, value.size - 1)]
    return value


def _spikes(rng: Rng, value: Values) -> Values:
    at = rng.integers(0, value.size, max(1, value.size // 500))
    value[at] *= 10 ** rng.uniform(-6, 6)
    return value


def _tiny(rng: Rng, value: Values) -> Values:
    return value * 10.0 ** -rng.uniform(5, 300)


DAMAGES: tuple[Callable[[Rng, Values], Values], ...] = (
    *(_lost_run, _lost_run, _lost_edges, _lost_in_step, _only_in_step, _only_one, _nothing),
    *(_zero_run, _all_zero, _stuck, _stuck, _spikes, _tiny),
)


def _kept(rng: Rng, count: int) -> NDArray[np.bool_]:
    """Return which samples a series has; the times of others are missing, as in most exports."""
    kept = np.full(count, True)
    if _chance(rng, 0.1):
        kept &= rng.random(count) > rng.random()
    if _chance(rng, 0.1):
        first, last = np.sort(rng.integers(0, count + 1, 2))
        kept[first:last] = False
    return kept


def _coarser(rng: Rng, series: dict[Metric, Series]) -> dict[Metric, Series]:
    """Return the series, with some of them at five times the step, as balances are reported."""
    if not _chance(rng, 0.2):
        return series
    found = {}
    for metric, one in series.items():
        if _chance(rng, 0.3) and one.time_s.size > 5:
            found[metric] = Series(metric=metric, step_s=5 * one.step_s, time_s=one.time_s[::5], value=one.value[::5])
        else:
            found[metric] = one
    return found


def _fine(rng: Rng, series: dict[Metric, Series]) -> dict[Metric, Series]:
    """Return finer samples of an hour or so of some windows."""
    if not series or not _chance(rng, 0.1):
        return {}
    found = {}
    for metric, one in series.items():
        step_s = one.step_s // 6
        if step_s < 1 or metric not in (*RATES, Metric.QUEUE_DEPTH, Metric.READ_LATENCY_S):
            continue
        first = int(rng.integers(one.time_s.size))
        value = np.repeat(one.value[first : first + 60], 6)
        value *= _wander(rng, value.size, 0.2)
        times = one.time_s[first] + step_s * np.arange(value.size, dtype=np.int64)
        found[metric] = Series(metric=metric, step_s=step_s, time_s=times, value=value)
    return found


def _events(rng: Rng, window_s: tuple[int, int]) -> tuple[Annotation, ...]:
    if not _chance(rng, 0.3):
        return ()
    kinds = list(EventKind)
    start, end = window_s
    return tuple(
        Annotation(
            time_s=int(rng.integers(start - DAY_S, end + 600)),
            text="something finished",
            kind=kinds[rng.integers(len(kinds))],
        )
        for _ in range(int(rng.integers(1, 5)))
    )


def _asked(rng: Rng, window_s: tuple[int, int]) -> tuple[int, int] | None:
    if not _chance(rng, 0.2):
        return None
    start, end = window_s
    return start - int(rng.integers(0, DAY_S)), end + int(rng.integers(0, DAY_S))


def smaller(window: Snapshot) -> list[Snapshot]:
    """Return windows with a part of this one's samples or without one of its metrics, the smallest first."""
    found = []
    spans = [s for s in window.series.values() if s.time_s.size]
    if window.window_s is not None and max(s.time_s.size for s in spans) > 1:
        start, end = window.window_s
        middle = (start + end) // 2
        found += [_between(window, start, middle), _between(window, middle, end)]
    for metric in window.series:
        rest = {m: s for m, s in window.series.items() if m != metric}
        found.append(replace(window, series=rest))
    for field, empty in (("fine", {}), ("annotations", ()), ("asked_s", None)):
        if getattr(window, field) != empty:
            found.append(replace(window, **{field: empty}))
    return found


def _between(window: Snapshot, start: int, end: int) -> Snapshot:
    from plimsoll.model.snapshot import cut

    return cut(window, (start, end))
