"""Samples by logical decoding of the tables that an observation suspects; only where asked for."""

from collections.abc import Callable

from msgspec.structs import replace

from plimsoll.app.moments import seconds_of
from plimsoll.errors import PlimsollError, UsageError
from plimsoll.model.database import Observation
from plimsoll.model.toast import ToastSample

# The tables with the most bytes matter; each costs its own time. A judgement.
_TABLES_MAX = 3


def decode_seconds(text: str | None, option: str = "--decode-toast") -> int | None:
    """
    Return the seconds for which updates are decoded; None where nothing is asked for.

    Raises:
        UsageError: no time, or longer than a slot should last.
    """
    from plimsoll.sources.postgres.sample_toast import SECONDS_MAX

    if text is None:
        return None
    seconds = seconds_of(text, option)
    if seconds > SECONDS_MAX:
        raise UsageError(
            f"{option} '{text}' is longer than {SECONDS_MAX} s",
            "A slot holds WAL and old rows back for as long as it is there; take a shorter time.",
        )
    return seconds


def with_samples(
    dsn: str,
    observation: Observation,
    seconds: float,
    sample: Callable[[str, str, float], tuple[ToastSample, ...]] | None = None,
) -> Observation:
    """
    Return the observation with a sample of each suspected table; why there is none is told as missing.

    Args:
        dsn: libpq connection string or URI.
        observation: what was seen.
        seconds: how long each table is watched, 0 < x ≤ 60.
        sample: takes a sample of (DSN, table, seconds); None for logical decoding.
    """
    from plimsoll.causes.toast_rewrites import rewrites_of

    take = sample or _decoded
    suspected = sorted(rewrites_of(observation), key=lambda r: -r.bytes_per_s)[:_TABLES_MAX]
    samples = list(observation.toast_samples)
    missing = list(observation.missing)
    for rewrite in suspected:
        try:
            samples += take(dsn, rewrite.table.name, seconds)
        except PlimsollError as error:
            told = f"{error.message}. {error.hint}"
            missing.append((f"sample of {rewrite.table.name}", told[:1].upper() + told[1:]))
    return replace(observation, toast_samples=tuple(samples), missing=tuple(missing))


def _decoded(dsn: str, table: str, seconds: float) -> tuple[ToastSample, ...]:
    from plimsoll.sources.postgres.sample_toast import sample_toast

    return sample_toast(dsn, table, seconds=seconds)
