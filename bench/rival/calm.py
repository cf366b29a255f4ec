"""Build a quiet scene on any machine, as the base for innocent work."""

from collections.abc import Callable

import numpy as np

from rival import casting
from rival.machines import Machine
from rival.scene import Scene

Maker = Callable[[np.random.Generator, str, float], Scene]

ANY_DISK = ("roomy", "roomy", "gp3", "io", "gp2_plain", "gp2_small")


def any_machine(rng: np.random.Generator, *, bursting: bool | None = None, disk: str = "") -> Machine:
    """Draw any class and any storage: all bounds are documented."""
    names = casting.classes(bursting=bursting)
    row = casting.rows()[names[int(rng.integers(len(names)))]][-1]
    engine = casting.any_engine(rng, row.db_class)
    kind = disk or ANY_DISK[int(rng.integers(len(ANY_DISK)))]
    return casting.machine_of(rng, row, casting.DISKS[kind](rng, engine))


def calm(rng: np.random.Generator, kind: str, days: float, **choice: object) -> Scene:
    """Return a scene without work and with credits left, on `any_machine(**choice)`."""
    scene = casting.stage(rng, kind, any_machine(rng, **choice), days)  # type: ignore[arg-type]
    # No scene here should run out of credits.
    scene.full = [float(v) for v in rng.uniform(0.75, 1.0, 4)]
    return scene


def any_size(rng: np.random.Generator) -> float:
    """Draw a usual I/O size in KiB."""
    return float(rng.choice([8, 16, 32, 64, 128, 256]))
