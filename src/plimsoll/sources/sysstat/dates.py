"""
Parse dates as sysstat writes them, in the order of the locale, decided once for a capture.

Locales: 2026-11-20 is ISO; 20.11.2026 and 20-11-2026 begin with the day. With slashes, AM and PM imply that
the month is first, a number above twelve is a day, and otherwise it is the order of the C locale.
"""

from datetime import UTC, datetime

DATE = r"(\d{1,4})([/.\-年])(\d{1,2})[/.\-月](\d{1,4})日?"
"""Pattern of a date with four groups: number, mark, number, number."""

Date = tuple[str, str, str, str]
"""Those four groups."""


def order_of(dates: list[Date], *, has_halves: bool) -> tuple[str, bool]:
    """
    Return the order of year, month and day (`ymd`, `dmy`, `mdy`), and whether it is a guess.

    Args:
        dates: all dates of a capture, at least one.
        has_halves: whether its times have AM or PM.
    """
    first, mark = dates[0][0], dates[0][1]
    if len(first) == 4:
        return "ymd", False
    if mark != "/":
        return "dmy", False
    if has_halves or max(int(date[2]) for date in dates) > 12:
        return "mdy", False
    if max(int(date[0]) for date in dates) > 12:
        return "dmy", False
    return "mdy", any(int(date[0]) != int(date[2]) for date in dates)


def midnight_s(date: Date, order: str) -> int:
    """
    Return epoch seconds of the start of a date, taken as UTC.

    Raises:
        ValueError: the date does not exist, or is outside 1970–2099.
    """
    parts = dict(zip(order, (date[0], date[2], date[3]), strict=True))
    year = int(parts["y"]) + (2000 if len(parts["y"]) <= 2 else 0)
    if not 1970 <= year < 2100:
        raise ValueError
    return int(datetime(year, int(parts["m"]), int(parts["d"]), tzinfo=UTC).timestamp())


def second_of_day(hour: str, minute: str, second: str, half: str | None) -> int:
    """
    Return seconds since midnight of a time with 24 hours, or with 12 hours and AM or PM.

    Raises:
        ValueError: the time does not exist; a leap second counts as the second before.
    """
    hours, minutes, seconds = int(hour), int(minute), min(int(second), 59)
    if half:
        if not 1 <= hours <= 12:
            raise ValueError
        hours = hours % 12 + (12 if half == "PM" else 0)
    if hours > 23 or minutes > 59 or int(second) > 60:
        raise ValueError
    return hours * 3600 + minutes * 60 + seconds
