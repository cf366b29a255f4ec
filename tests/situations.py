"""Hypothesis strategies for whole windows of a simulated instance: calm, flat, pressed, gappy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import builders
from builders import BALANCES, HOUR, LATENCIES, START_S
from plimsoll.model.ceiling import Dimension
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import KIB

UNDESCRIBED = Instance()
R5_2XLARGE = Instance(
    identifier="orders",
    db_class="db.r5.2xlarge",
    engine="postgres",
    storage=Storage(kind="gp3", size_gib=1000.0),
    launched_s=1_559_383_200,  # 2019-06-01, so that legacy limits are possible
)
T3_XLARGE = Instance(
    identifier="claims",
    db_class="db.t3.xlarge",
    engine="postgres",
    storage=Storage(kind="gp2", size_gib=1200.0),
    launched_s=1_652_745_600,
)
INSTANCES = (UNDESCRIBED, R5_2XLARGE, T3_XLARGE)


@dataclass(frozen=True, kw_only=True)
class Window:
    """A snapshot, and in a few words what was put into it."""

    snapshot: Snapshot
    what: str

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What Hypothesis prints of a failing case: no samples."""
        printer.text(f"<{self.what}>")


@dataclass(frozen=True, kw_only=True)
class Pressed(Window):
    """A window behind one ceiling, and what the ceiling was."""

    dimension: Dimension
    ceiling: float
    """bytes/s or ops/s"""
    pressed_s: float
    """Time for which more was asked for than the ceiling."""


seeds = st.integers(0, 2**32 - 1)


@st.composite
def pressed(draw: st.DrawFn, *, instance: Instance = UNDESCRIBED, waiting_min: float = 5.0) -> Pressed:
    """
    Log-normal demand that is a ceiling's multiple for hours and well below it before and after.

    Args:
        waiting_min: least factor by which a request takes longer while the ceiling binds.
    """
    rng = np.random.default_rng(draw(seeds))
    dimension = draw(st.sampled_from([Dimension.THROUGHPUT, Dimension.IOPS]))
    ceiling = 10 ** draw(st.floats(6.5, 9)) / (1 if dimension == Dimension.THROUGHPUT else 16 * KIB)
    demand = builders.working_day(
        rng,
        ceiling * draw(st.floats(0.1, 0.6)),
        ceiling * draw(st.floats(1.3, 4)),
        hours=draw(st.integers(3, 18)),
        spread=draw(st.floats(0.05, 0.3)),
    )
    # With a constant I/O size both dimensions stand still, and which of them is held is not to be seen.
    size = 16 * KIB * builders.wander(rng, demand.size, draw(st.floats(0.03, 0.15)))
    values = builders.held_at(
        demand,
        ceiling,
        rng=rng,
        dimension=dimension,
        size_bytes=size,
        waiting=draw(st.floats(waiting_min, 50)),
        jitter=draw(st.floats(0.0001, 0.004)),
    )
    return Pressed(
        snapshot=builders.snapshot(values, instance=instance),
        what=f"{demand.size} min behind a ceiling",
        dimension=dimension,
        ceiling=ceiling,
        pressed_s=60.0 * float((demand > ceiling).sum()),
    )


@st.composite
def flat(
    draw: st.DrawFn,
    level: float,
    *,
    instance: Instance = UNDESCRIBED,
    size_bytes: float | None = None,
    latency_spread: float = 0.2,
    has_calm_hours: bool = False,
) -> Window:
    """
    A steady demand that nothing holds back, on storage that answers as unpressed storage does.

    Args:
        level: bytes/s.
        size_bytes: mean I/O size; None draws one from 8 to 64 KiB.
        latency_spread: largest standard deviation of the logarithm of latency.
        has_calm_hours: whether demand varies around a third of it in the first and last third.
    """
    rng = np.random.default_rng(draw(seeds))
    count = 3 * draw(st.integers(10, 500))
    rate = level * builders.wander(rng, count, draw(st.floats(0.001, 0.03)), memory=draw(st.sampled_from([0.0, 0.9])))
    if has_calm_hours:
        calm = builders.wander(rng, count, 0.3) / 3
        calm[count // 3 : -count // 3] = 1
        rate *= calm
    latency = draw(st.floats(0.0003, 0.001)) * builders.wander(
        rng, count, draw(st.floats(0.02, latency_spread)), memory=draw(st.sampled_from([0.0, 0.9]))
    )
    size = size_bytes or draw(st.sampled_from([8, 16, 32, 64])) * KIB
    values = builders.storage(
        rate,
        size_bytes=size * builders.wander(rng, count, draw(st.floats(0, 0.05))),
        read_share=draw(st.floats(0.05, 0.95)),
        latency_s=latency,
        write_latency_s=latency * draw(st.sampled_from([1.0, 1.5, 2.0])),
    )
    # One of the two is enough to see that nothing waits.
    for metric in draw(st.sampled_from([(), LATENCIES, (Metric.QUEUE_DEPTH,)])):
        del values[metric]
    for metric in draw(st.sets(st.sampled_from(BALANCES))):
        values[metric] = np.ones(count)
    made = builders.snapshot(values, instance=instance, step_s=draw(st.sampled_from([60, 300])))
    return Window(snapshot=made, what=f"{count} samples at {level:g} bytes/s: {' '.join(sorted(values))}")


def in_periods(value: FloatArray, layout: str) -> tuple[FloatArray, FloatArray]:
    """
    Times and values of a series by the minute as CloudWatch would keep it.

    Args:
        layout: `minute`, `five minutes`, or `five then one`: what is old is kept by five minutes.
    """
    minutes = START_S + 60 * np.arange(value.size)
    fives, means = minutes[::5], value.reshape(-1, 5).mean(axis=1)
    half, fifth = value.size // 2 // 5 * 5, value.size // 2 // 5
    joined = {
        "minute": (minutes, value),
        "five minutes": (fives, means),
        "five then one": ([*fives[:fifth], *minutes[half:]], [*means[:fifth], *value[half:]]),
    }
    times, kept = joined[layout]
    return np.asarray(times), np.asarray(kept)


LAYOUTS = ("minute", "five minutes", "five then one")


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """Any window: pressed or flat, of any class, any layout, with balances, gaps and metrics missing."""
    instance = draw(st.sampled_from(INSTANCES))
    made = draw(pressed(instance=instance) | st.floats(1e6, 1e9).flatmap(lambda level: flat(level, instance=instance)))
    rng = np.random.default_rng(draw(seeds))
    layout = draw(st.sampled_from(LAYOUTS))
    # Two thirds end in the middle of what happens.
    count = next(iter(made.snapshot.series.values())).value.size
    count = count * draw(st.sampled_from([2, 3])) // 3 // 10 * 10
    values = {metric: one.value[:count] for metric, one in made.snapshot.series.items()}
    if draw(st.booleans()):
        served = values[Metric.READ_BYTES_PER_S] + values[Metric.WRITE_BYTES_PER_S]
        baseline = float(np.quantile(served, draw(st.floats(0.1, 0.95))))
        values[Metric.BYTE_BALANCE_RATIO] = builders.bucket_balance(
            served, baseline=baseline, capacity=baseline * 60 * draw(st.integers(5, 5 * HOUR))
        )
    for metric in draw(st.sets(st.sampled_from(sorted(values)), max_size=4)):
        del values[metric]
    kept = rng.random(count) >= draw(st.sampled_from([0.0, 0.02, 0.3]))
    found: list[Series] = []
    for metric, value in values.items():
        times, thinned = in_periods(value, layout)
        seen = kept[(times - START_S) // 60]
        step_s = 300 if layout == "five minutes" else 60
        found.append(builders.timed(metric, times[seen], thinned[seen], step_s=step_s))
    return Window(
        snapshot=builders.snapshot(*found, instance=instance),
        what=f"{made.what}; {instance.db_class}; by {layout}; {kept.mean():.0%} of {' '.join(sorted(values))}",
    )
