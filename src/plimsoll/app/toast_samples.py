"""Sample updates of suspected tables by logical decoding, only on request."""

from collections.abc import Callable

from msgspec.structs import replace

from plimsoll.app.moments import seconds_of
from plimsoll.errors import PlimsollError, UsageError
from plimsoll.model.database import Observation
from plimsoll.model.toast import ToastSample

# A judgement: each table takes its own sampling time, and those with the most bytes matter.
_TABLES_MAX = 3


def decode_seconds(text: str | None, option: str = "--decode-toast") -> int | None:
    """
    Return the seconds for which updates are decoded; None if not requested.

    Raises:
        UsageError: not a time, or longer than a slot should exist.
    """
    from plimsoll.sources.postgres.sample_toast import SECONDS_MAX

    if text is None:
        return None
    seconds = seconds_of(text, option)
    if seconds > SECONDS_MAX:
        raise UsageError(
            f"{option} '{text}' is longer than {SECONDS_MAX} s",
            "While a replication slot exists, the server keeps WAL and dead rows; give a shorter time.",
        )
    return seconds


def with_samples(
    dsn: str,
    observation: Observation,
    seconds: float,
    sample: Callable[[str, str, float], tuple[ToastSample, ...]] | None = None,
) -> Observation:
    """
    Add a sample of each suspected table to an observation; a failed sample is listed as missing.

    Args:
        dsn: libpq connection string or URI.
        observation: what was seen.
        seconds: sampling time of each table, 0 < x ≤ 60.
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
            reason = f"{error.message}. {error.hint}"
            missing.append((f"sample of {rewrite.table.name}", reason[:1].upper() + reason[1:]))
    return replace(observation, toast_samples=tuple(samples), missing=tuple(missing))


def _decoded(dsn: str, table: str, seconds: float) -> tuple[ToastSample, ...]:
    from plimsoll.sources.postgres.sample_toast import sample_toast

    return sample_toast(dsn, table, seconds=seconds)
