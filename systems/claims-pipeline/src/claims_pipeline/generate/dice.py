"""Random choices that depend on names only, so that they can be made again."""

from collections.abc import Sequence
from random import Random


def dice(*names: object) -> Random:
    """Return a generator that the names seed: the same names, the same choices, in every process."""
    return Random("/".join(map(str, names)))  # noqa: S311 - made-up data needs no secret


def amount_cents(rng: Random, median_dollars: float, spread: float) -> int:
    """Return a sum of money: log-normal around a median, as costs of care are; a spread of 0.7 doubles or halves it."""
    return max(100, round(100 * median_dollars * rng.lognormvariate(0, spread)))


def some(rng: Random, choices: Sequence[str], most: int) -> list[str]:
    """Return up to so many of the choices, without repetition."""
    return rng.sample(choices, min(len(choices), rng.randint(0, most)))
