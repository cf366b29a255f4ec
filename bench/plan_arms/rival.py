"""Build cases from the independent generator: the same seconds, on multiplied limits."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from plan_arms.case import SCALES, Case, Subject
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
    """Return the case of a seed; kinds take turns."""
    name, scene, film, snapshot = _drawn(seed)
    if is_signalled:
        snapshot = with_signals(seed, snapshot, film, is_counted=is_counted)
    bounds = list(scene.machine.bounds)
    ratios = {s: _ratio(scene, bounds, s, seed, film) for s in SCALES}
    seconds = float(np.count_nonzero(~film.missing)) * film.step_s
    return Case(seed, name, snapshot, lambda s: chain_of(bounds, s), ratios, seconds, _loop(scene))


def subject_of(seed: int) -> Subject:
    """Return the incident of a seed, and a function for its outcome on the limits of an arrangement."""
    name, scene, film, snapshot = _drawn(seed)
    bounds = list(scene.machine.bounds)

    def ratio_on(chain: Sequence[Stage], keeps_class: bool, keeps_storage: bool) -> float:
        now = moved(bounds, chain, keeps_class=keeps_class, keeps_storage=keeps_storage)
        return _ratio_with(scene, now, seed, film)

    return Subject(seed, name, snapshot, _loop(scene), ratio_on)


def _drawn(seed: int) -> tuple[str, Scene, camera.Film, Snapshot]:
    """Return the kind of a seed, its scene, the samples, and what a source would have read."""
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
    return name, scene, film, camera.develop(scene, film)


def moved(bounds: Sequence[Bound], chain: Sequence[Stage], *, keeps_class: bool, keeps_storage: bool) -> list[Bound]:
    """
    Return the documented limits of another class or storage; kept parts keep what was enforced.

    Instance buckets keep the reading of "30 minutes at the maximum" that the machine was drawn with.
    """
    by_name = {stage.name: stage for stage in chain}
    found = []
    for index, (name, bound) in enumerate(zip(FAMILIES, bounds, strict=True)):
        stage = by_name.get(name)
        if keeps_class if index < 2 else keeps_storage:
            found.append(bound)
            continue
        if stage is None:
            found.append(Bound())
            continue
        base, peak = stage.baseline * stage.stripes, stage.burst * stage.stripes
        capacity = stage.capacity * stage.stripes
        if index < 2:
            capacity = 1800.0 * (peak - base)
            if bound.bursts and bound.credits_max > 1801.0 * (bound.peak - bound.base):
                capacity = bound.credits_max / bound.peak * peak
        found.append(Bound(base, peak, capacity if peak > base else 0.0))
    return found


def _ratio(scene: Scene, bounds: list[Bound], scale: float, seed: int, film: camera.Film) -> float:
    return _ratio_with(scene, [scaled(b, scale) for b in bounds], seed, film)


def _ratio_with(scene: Scene, now: list[Bound], seed: int, film: camera.Film) -> float:
    before, scene.machine.bounds = scene.machine.bounds, now
    minutes = play(scene, seed)
    scene.machine.bounds = before
    per = film.step_s // 60
    sums = minutes[: film.time_s.size * per].reshape(film.time_s.size, per, -1).sum(axis=1)
    share = sums[:, HELD : HELD + 8].sum(axis=1) / np.maximum(sums[:, UP], 1.0)
    return float(share[~film.missing].mean())


def scaled(bound: Bound, scale: float) -> Bound:
    """Return a bound with base, peak and credits multiplied."""
    return replace(bound, base=bound.base * scale, peak=bound.peak * scale, credits_max=bound.credits_max * scale)


def _loop(scene: Scene) -> str:
    return "open" if scene.streams[-1].is_open else "closed"


def chain_of(bounds: list[Bound], scale: float) -> tuple[Stage, ...]:
    """Return what is documented; instance buckets at the smaller documented reading."""
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
    Return the snapshot with active sessions and waiting work; connections are in it already.

    Each stream's items are transactions, whatever they cost. The application, if it counts, counts
    arrivals from outside and how many of them were done.
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
