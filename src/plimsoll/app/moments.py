"""How people write moments, lengths of time and windows on a command line."""

import os
import re
import time
from datetime import UTC, datetime

from plimsoll.errors import UsageError

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}

# CloudWatch keeps 455 days; a recording of a year at one second would be 10 GB.
_LONGEST_S = 500 * 86400


def today() -> str:
    """
    Return the ISO date by which prices are old; SOURCE_DATE_EPOCH sets it, for output that repeats.

    Source: reproducible-builds.org, SOURCE_DATE_EPOCH specification.
    """
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = int(said) if re.fullmatch(r"[0-9]{1,11}", said) else time.time()
    return datetime.fromtimestamp(moment, UTC).date().isoformat()


def epoch_of(moment: str) -> int:
    """
    Return epoch seconds of an ISO date or moment; without an offset it is UTC.

    Raises:
        UsageError: not an ISO date.
    """
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError as error:
        raise UsageError(
            f"'{moment}' is not an ISO date", "Write it as 2019-06-01 or 2019-06-01T12:00:00Z."
        ) from error
    return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp())


def seconds_of(text: str, option: str) -> int:
    """
    Return seconds of `90s`, `10m`, `2h`, `1d`, `2w` or `1h30m`; a bare number is seconds.

    Raises:
        UsageError: not such a time, or not whole seconds ≥ 1.
    """
    parts = re.findall(r"([0-9]{1,9})([smhdw]?)", text.strip())
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in parts)
    is_time = "".join(n + u for n, u in parts) == text.strip()
    if is_time and seconds > _LONGEST_S:
        raise UsageError(
            f"{option} '{text}' is longer than {_LONGEST_S // 86400} days", "Take a shorter time."
        )
    if is_time and parts and seconds < 1:
        raise UsageError(f"{option} '{text}' is too short", "Give a second at least, as 1s.")
    if not is_time or seconds < 1:
        raise UsageError(
            f"{option} '{text}' is not a time of whole seconds", "Write it as 90s, 10m or 2h."
        )
    return seconds


def window_of(
    last: str | None, since: str | None, until: str | None, *, now_s: int, default: str | None
) -> tuple[int, int] | None:
    """
    Return the window that `--last`, `--from` and `--to` ask for, epoch seconds [start, end).

    Args:
        last: as `24h`; counted back from the end.
        since: start, an ISO date or moment.
        until: end, likewise; now if not given.
        now_s: the present, epoch seconds.
        default: what `last` is when neither it nor `since` is given; None for no window at all.

    Raises:
        UsageError: not a time, a length without a unit, both a length and a start, or an end before
            the start.
    """
    if last is not None and since is not None:
        raise UsageError("--last and --from both say where the window starts", "Leave one out.")
    if last is None and since is None and until is None and default is None:
        return None
    end = now_s if until is None else epoch_of(until)
    if since is not None:
        start = epoch_of(since)
    else:
        length = last or default
        if last is not None and last.strip().isdigit():
            raise UsageError(
                f"--last '{last}' has no unit",
                f"Write {last.strip()}h for hours, or {last.strip()}d for days.",
            )
        start = 0 if length is None else end - seconds_of(length, "--last")
    if start >= end:
        raise UsageError(
            "the window ends before it starts",
            "Give --from a moment before --to; moments without an offset are UTC.",
        )
    return start, end
