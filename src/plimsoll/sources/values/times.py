"""
Convert timestamps of exports to epoch seconds.

Rule 1: a time without an offset is UTC, as in CloudWatch.
Rule 2: a number is seconds, milliseconds, microseconds or nanoseconds by its size alone; the four
        ranges do not overlap for the years we accept.
Rule 3: a time that cannot be read, or is outside 2000–2100, is marked, never guessed.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from plimsoll.model.series import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

# RDS began in 2009 and no metric is kept for more than 15 months; a time outside this century is
# a broken clock or a broken file, and would stretch every window over empty years.
EARLIEST_S = 946_684_800
"""2000-01-01T00:00:00Z"""
LATEST_S = 4_102_444_800
"""2100-01-01T00:00:00Z"""

_NUMBER = re.compile(r"\s*\d{1,19}(\.\d*)?\s*\Z")
_OFFSET = re.compile(r"(?:[.,]\d+)? ?(?:UTC|GMT|Z|([+-])(\d\d):?(\d\d)?)?\Z", re.IGNORECASE)
_LONGEST_TEXT = 40
"""The longest ISO time with nanoseconds and offset has 35 characters."""
_DIGITS = (0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18)
_MONTH_DAYS = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def epoch_seconds(values: Sequence[object]) -> tuple[IntArray, BoolArray]:
    """
    Return epoch seconds of each value, and a mask of the readable values.

    Args:
        values: ISO texts, epoch numbers or texts of numbers, in any mixture; length n.

    Returns:
        Seconds, rounded down, 0 for unreadable values, shape (n,); and the mask of readable values, shape (n,).
    """
    kinds = set(map(type, values))
    if kinds == {str}:
        return _from_texts([str(v) for v in values])
    if kinds <= {int, float}:
        try:
            return of_numbers(np.array(values, dtype=np.float64))
        except OverflowError:
            pass  # an integer beyond every float: the slow road marks it
    seconds = [_one(v) for v in values]
    readable = np.array([s is not None for s in seconds], dtype=np.bool_)
    return np.array([s or 0 for s in seconds], dtype=np.int64), readable


def of_numbers(numbers: FloatArray) -> tuple[IntArray, BoolArray]:
    """
    Return epoch seconds of epoch numbers in s, ms, µs or ns, and which of them are times at all.

    Args:
        numbers: epoch numbers in s, ms, µs or ns, shape (n,); NaN and infinities are not times.
    """
    seconds = np.where(np.isfinite(numbers), numbers, 0.0)
    for step in (1e9, 1e6, 1e3):
        seconds = np.where(seconds >= EARLIEST_S * step, seconds / step, seconds)
    seconds = np.floor(seconds)
    readable = (seconds >= EARLIEST_S) & (seconds < LATEST_S)
    return np.where(readable, seconds, 0.0).astype(np.int64), readable


def parse_time(value: object) -> int | None:
    """Return epoch seconds of a single value; None if it is no time of this century."""
    return _one(value)


def _one(value: object) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        try:
            seconds, readable = of_numbers(np.array([value], dtype=np.float64))
        except OverflowError:
            return None
        return int(seconds[0]) if readable[0] else None
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        return None
    if _NUMBER.match(value):
        return _one(float(value))
    text = value.strip().replace("/", "-")
    try:
        parsed = datetime.fromisoformat(text.removesuffix(" UTC"))
        seconds_utc = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return int(seconds_utc // 1) if EARLIEST_S <= seconds_utc < LATEST_S else None


def _from_texts(texts: list[str]) -> tuple[IntArray, BoolArray]:
    if not texts:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    try:
        if _NUMBER.match(texts[0]):
            return of_numbers(np.array(texts, dtype="U32").astype(np.float64))
        seconds, readable = _from_iso(texts)
    except ValueError:  # includes what is not ASCII
        seconds = np.zeros(len(texts), dtype=np.int64)
        readable = np.zeros(len(texts), dtype=np.bool_)
    for index in np.flatnonzero(~readable).tolist():
        single = _one(texts[index])
        if single is not None:
            seconds[index], readable[index] = single, True
    return seconds, readable


def _from_iso(texts: list[str]) -> tuple[IntArray, BoolArray]:
    """
    Read `YYYY-MM-DD?hh:mm:ss` plus fraction and offset column by column.

    Raises:
        ValueError: a text is too long, too short or not ASCII; the caller then parses each text separately.
    """
    if max(map(len, texts)) > _LONGEST_TEXT or min(map(len, texts)) < 19:
        raise ValueError
    wide = np.array(texts, dtype="S")
    characters = wide.view(np.uint8).reshape(len(texts), wide.itemsize)
    digit = characters.astype(np.int64) - ord("0")
    readable: BoolArray = np.all((digit[:, _DIGITS] >= 0) & (digit[:, _DIGITS] <= 9), axis=1) & np.all(
        characters[:, (13, 16)] == ord(":"), axis=1
    )

    year = digit[:, 0:4] @ np.array([1000, 100, 10, 1])
    month, day, hour, minute, second = (digit[:, at] * 10 + digit[:, at + 1] for at in (5, 8, 11, 14, 17))
    readable &= (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60)
    # 60 is a leap second; 29 February of a common year is left to the slow road, which refuses it.
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    readable &= (second <= 60) & (day <= _MONTH_DAYS[np.clip(month, 1, 12) - 1])
    readable &= leap | (month != 2) | (day <= 28)

    seconds = ((_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    shift, has_offset = _offsets(wide)
    seconds -= shift
    readable &= has_offset & (seconds >= EARLIEST_S) & (seconds < LATEST_S)
    return np.where(readable, seconds, 0), readable


def _days(year: IntArray, month: IntArray, day: IntArray) -> IntArray:
    """
    Return days from 1970-01-01 in the proleptic Gregorian calendar.

    The year is counted from March, so that the leap day is its last; 719,468 days lie between
    0000-03-01 and 1970-01-01, and 146,097 days make 400 years.
    """
    years = np.where(month <= 2, year - 1, year)
    era = years // 400
    of_era = years - era * 400
    of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    days: IntArray = era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
    return days


def _offsets(wide: NDArray[np.bytes_]) -> tuple[IntArray, BoolArray]:
    """Return seconds east of UTC after the 19th character, and whether what stands there is an offset."""
    count, length = wide.size, wide.itemsize
    if length == 19:
        return np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.bool_)
    tails = np.ascontiguousarray(wide.view(np.uint8).reshape(count, length)[:, 19:])
    tails = tails.view(f"S{length - 19}").ravel()
    if np.all(tails == tails[0]):
        distinct, which = tails[:1], np.zeros(count, dtype=np.int64)
    else:
        distinct, which = np.unique(tails, return_inverse=True)
    shifts = [_offset(bytes(tail).decode()) for tail in distinct]
    known = np.array([s is not None for s in shifts], dtype=np.bool_)
    return np.array([s or 0 for s in shifts], dtype=np.int64)[which], known[which]


def _offset(tail: str) -> int | None:
    match = _OFFSET.match(tail)
    if match is None:
        return None
    sign, hours, minutes = match.groups()
    if sign is None:
        return 0
    east = int(hours) * 3600 + int(minutes or 0) * 60
    return -east if sign == "-" else east
