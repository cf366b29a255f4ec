"""Cases of the independent generator: the same seconds, on limits that are multiplied."""

from dataclasses import replace

import numpy as np
from msgspec import structs

from plan_arms.case import SCALES, Case
from plimsoll.kernel import Stage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from rival import camera, generate, truth
from rival.machines import FAMILIES, UNLIMITED, Bound
from rival.scene import Scene, play
from rival.second import BACKLOG, CAME, CPU_USED, DONE, HELD, OPENED, QUEUE, UP

# A machine that was replaced within the window has no limits of its own to multiply.
KINDS = tuple(sorted(k for k in generate.PRESSED if not k.startswith("resized")))


def case_of(seed: int, *, is_signalled: bool = False, is_counted: bool = False) -> Case:
    """The case of a seed; kinds take turns."""
    name = KINDS[seed % len(KINDS)]
    scene = generate.scene_of(seed, name)
    minutes = play(scene, seed)
    for _ in range(5):
        held = minutes[:, HELD : HELD + 8].sum(axis=1) / np.maximum(minutes[:, UP], 1.0)
        if np.count_nonzero(held >= truth.PEGGED) >= 12:
            break
        generate.ask_for(scene, 1.6)
        minutes = play(scene, seed)
    step_s = 300 if scene.rng.random() < 0.25 else 60
    film = camera.expose(scene, minutes, step_s)
    snapshot = camera.develop(scene, film)
    if is_signalled:
        snapshot = with_signals(seed, snapshot, film, is_counted=is_counted)
    bounds = list(scene.machine.bounds)
    ratios = {s: _ratio(scene, bounds, s, seed, film) for s in SCALES}
    seconds = float(np.count_nonzero(~film.missing)) * step_s
    return Case(seed, name, snapshot, lambda s: chain_of(bounds, s), ratios, seconds, _loop(scene))


def _ratio(scene: Scene, bounds: list[Bound], scale: float, seed: int, film: camera.Film) -> float:
    scene.machine.bounds = [scaled(b, scale) for b in bounds]
    minutes = play(scene, seed)
    scene.machine.bounds = bounds
    per = film.step_s // 60
    sums = minutes[: film.time_s.size * per].reshape(film.time_s.size, per, -1).sum(axis=1)
    share = sums[:, HELD : HELD + 8].sum(axis=1) / np.maximum(sums[:, UP], 1.0)
    return float(share[~film.missing].mean())


def scaled(bound: Bound, scale: float) -> Bound:
    """A bound with base, peak and credits multiplied."""
    return replace(
        bound,
        base=bound.base * scale,
        peak=bound.peak * scale,
        credits_max=bound.credits_max * scale,
    )


def _loop(scene: Scene) -> str:
    return "open" if scene.streams[-1].is_open else "closed"


def chain_of(bounds: list[Bound], scale: float) -> tuple[Stage, ...]:
    """What is documented; instance buckets at the smaller documented reading."""
    stages = []
    for index, (name, bound) in enumerate(zip(FAMILIES, bounds, strict=True)):
        if bound.base >= UNLIMITED:
            continue
        capacity = bound.credits_max if index >= 2 else 1800.0 * (bound.peak - bound.base)
        stages.append(
            Stage(
                name=name,
                baseline=scale * bound.base,
                burst=scale * bound.peak,
                capacity=scale * capacity,
                counts="bytes" if index in (0, 2) else "ops",
                unit_bytes=256 * 1024.0 if index == 3 else None,
            )
        )
    return tuple(stages)


def with_signals(seed: int, snapshot: Snapshot, film: camera.Film, *, is_counted: bool) -> Snapshot:
    """
    The snapshot with sessions at work and work that waits; connections are in it already.

    Each stream's items are transactions, whatever they cost; the application, if it counts, counts
    what came from outside and what of that was done.
    """
    rng = np.random.default_rng([seed, 7])
    seen = np.maximum(film.sums[:, UP], 1.0)
    values = {
        Metric.ACTIVE_SESSION_COUNT: film.sums[:, QUEUE] + film.sums[:, CPU_USED],
        Metric.TRANSACTIONS_PER_S: film.sums[:, DONE],
        Metric.WAITING_WORK_COUNT: film.sums[:, BACKLOG],
    }
    if is_counted:
        is_outside = bool(film.sums[:, CAME].any())
        values[Metric.ARRIVALS_PER_S] = film.sums[:, CAME if is_outside else DONE]
        values[Metric.COMPLETIONS_PER_S] = film.sums[:, OPENED if is_outside else DONE]
    series = dict(snapshot.series)
    for metric, value in values.items():
        mean = value / seen * np.exp(rng.normal(0, 0.02, seen.size))
        series[metric] = Series(
            metric=metric,
            step_s=film.step_s,
            time_s=film.time_s[~film.missing],
            value=np.ascontiguousarray(mean[~film.missing]),
        )
    return structs.replace(snapshot, series=series)
