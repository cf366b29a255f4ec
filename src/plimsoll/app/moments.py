"""Parse times, durations and windows of a command line."""

import os
import re
import time
from datetime import UTC, datetime

from plimsoll.errors import UsageError

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}

# CloudWatch keeps metrics for 455 days (15 months); a year at one-second steps would be 10 GB.
# Source: CloudWatch user guide, "Metrics retention".
_LONGEST_S = 500 * 86400


def now_s() -> int:
    """
    Return the time that a report gives as its own, in epoch seconds; SOURCE_DATE_EPOCH replaces it.

    Source: reproducible-builds.org, SOURCE_DATE_EPOCH specification.
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(fixed) if re.fullmatch(r"[0-9]{1,11}", fixed) else int(time.time())


def today() -> str:
    """Return today's ISO date, which decides whether prices are old; SOURCE_DATE_EPOCH replaces it."""
    return datetime.fromtimestamp(now_s(), UTC).date().isoformat()


def epoch_of(moment: str) -> int:
    """
    Return epoch seconds of an ISO date or moment; without an offset it is UTC.

    Raises:
        UsageError: not an ISO date from 1970 to 2099.
    """
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError as error:
        raise UsageError(f"'{moment}' is not an ISO date", "Write it as 2019-06-01 or 2019-06-01T12:00:00Z.") from error
    if not 1970 <= parsed.year < 2100:
        raise UsageError(f"'{moment}' is not from 1970 to 2099", "Check the year.")
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
        raise UsageError(f"{option} '{text}' is longer than {_LONGEST_S // 86400} days", "Give a shorter time.")
    if is_time and parts and seconds < 1:
        raise UsageError(f"{option} '{text}' is too short", "Give at least one second: 1s.")
    if not is_time or seconds < 1:
        raise UsageError(f"{option} '{text}' is not a time in whole seconds", "Write it as 90s, 10m or 2h.")
    return seconds


def window_of(
    last: str | None, since: str | None, until: str | None, *, now_s: int, default: str | None
) -> tuple[int, int] | None:
    """
    Return the window that `--last`, `--from` and `--to` ask for, epoch seconds [start, end).

    Args:
        last: length, for example `24h`, counted back from the end.
        since: start, an ISO date or moment.
        until: end, an ISO date or moment; None for now.
        now_s: the current time, epoch seconds.
        default: value of `last` if neither it nor `since` is given; None for no window.

    Raises:
        UsageError: not a time, a length without a unit, both a length and a start, or an end before
            the start.
    """
    if last is not None and since is not None:
        raise UsageError("--last and --from both set the start of the window", "Leave one out.")
    if last is None and since is None and until is None and default is None:
        return None
    end = now_s if until is None else epoch_of(until)
    if since is not None:
        start = epoch_of(since)
    else:
        length = last or default
        if last is not None and last.strip().isdigit():
            raise UsageError(
                f"--last '{last}' has no unit", f"Write {last.strip()}h for hours, or {last.strip()}d for days."
            )
        start = 0 if length is None else end - seconds_of(length, "--last")
    if start >= end:
        raise UsageError(
            "the window ends before it starts", "Give a --from that is before --to; times without an offset are UTC."
        )
    return start, end
