"""
Generate incidents: `incident(seed)`, or folders of exports from the command line.

    python -m rival.generate --seed 1 --count 20 --out DIR     (from bench/)
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plimsoll.model.snapshot import Snapshot
from rival import camera, truth
from rival.innocent import INNOCENT
from rival.mixed import MIXED, PARTIAL
from rival.pressed import SINGLE
from rival.rhythm import FloatArray
from rival.scene import Scene, play
from rival.second import HELD, UP
from rival.truth import TrueInterval

PRESSED = SINGLE | MIXED

# Shares of incidents without any ceiling, and with only seconds at one.
INNOCENT_SHARE = 0.47
PARTIAL_SHARE = 0.02

DAYS = (0.5, 1.0, 1.5, 2.0, 3.0, 7.0)
DAYS_P = (0.2, 0.3, 0.17, 0.18, 0.12, 0.03)


@dataclass(frozen=True, slots=True)
class Incident:
    """Hold what a source would have read, and the truth."""

    name: str
    """The kind."""
    snapshot: Snapshot
    step_s: int
    time_s: np.ndarray
    """Start of every sample of the window, including missing ones."""
    throttled: FloatArray
    """Share of each sample's time in which a ceiling throttled requests; NaN where missing."""
    intervals: tuple[TrueInterval, ...]
    added_wait_s: FloatArray
    """Mean wait that the limiter added to each I/O, to judge how clear a case was; NaN as above."""
    note: str


def kind_of(seed: int) -> str:
    """Return the kind of a seed: every kind of the same sort is equally likely."""
    rng = np.random.default_rng([seed, 1])
    choice = rng.random()
    group = INNOCENT if choice < INNOCENT_SHARE else PRESSED
    names = sorted(PARTIAL if choice > 1.0 - PARTIAL_SHARE else group)
    return names[int(rng.integers(len(names)))]


def incident(seed: int, kind: str | None = None) -> Incident:
    """
    Generate one incident; equal seeds give equal incidents.

    Args:
        seed: any non-negative integer.
        kind: a name of PRESSED, INNOCENT or PARTIAL; default: decided by the seed.
    """
    name = kind or kind_of(seed)
    scene = scene_of(seed, name)
    minutes = play(scene, seed)
    for _ in range(5):
        held = minutes[:, HELD : HELD + 8].sum(axis=1) / np.maximum(minutes[:, UP], 1.0)
        if (name in INNOCENT and held.max() > 0.0) or (name in PARTIAL and held.max() > 0.6):
            ask_for(scene, 0.75)
        elif name in PRESSED and np.count_nonzero(held >= truth.PEGGED) < 12:
            ask_for(scene, 1.6)
        else:
            break
        minutes = play(scene, seed)
    step_s = 300 if scene.rng.random() < 0.25 else 60
    film = camera.expose(scene, minutes, step_s)
    return Incident(
        name,
        camera.develop(scene, film),
        step_s,
        film.time_s,
        truth.throttled(film),
        truth.intervals(scene, film),
        truth.added_wait_s(film),
        scene.note,
    )


def scene_of(seed: int, name: str) -> Scene:
    """Return the scene of a seed and kind, not yet run."""
    maker = (PRESSED | INNOCENT | PARTIAL)[name]
    for attempt in range(200):
        rng = np.random.default_rng([seed, 2, attempt])
        scene = maker(rng, name, float(rng.choice(DAYS, p=DAYS_P)))
        if scene is not None:
            return scene
    raise AssertionError(f"no machine fits the kind {name}")


def ask_for(scene: Scene, factor: float) -> None:
    """Multiply all demand: clients, arrivals, workers."""
    for stream in scene.streams:
        stream.load *= factor
        stream.pace *= factor
        stream.inflight *= factor


def main() -> None:
    """Write export folders."""
    from rival.export import write

    parser = argparse.ArgumentParser(prog="rival.generate", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=10, help="number of incidents")
    parser.add_argument("--out", type=Path, required=True, help="directory to write to")
    args = parser.parse_args()
    for seed in range(args.seed, args.seed + args.count):
        made = incident(seed)
        folder = args.out / f"{seed:06d}-{made.name}"
        write(made, folder)
        print(f"{folder}: {len(made.intervals)} intervals at a ceiling")


if __name__ == "__main__":
    main()
