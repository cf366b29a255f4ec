"""Months, counted so that they can be added."""

import re
from datetime import date, timedelta

from claims_pipeline.errors import UsageError


def month_number(text: str) -> int:
    """
    Return the number of a month CCYY-MM: months since year 0.

    Raises:
        UsageError: the text is no month.
    """
    found = re.fullmatch(r"(20\d\d)-(0[1-9]|1[0-2])", text)
    if not found:
        raise UsageError(f"'{text}' is no month", "For example 2023-01.")
    return int(found[1]) * 12 + int(found[2]) - 1


def month_text(number: int) -> str:
    """Return a month as CCYY-MM."""
    return f"{number // 12:04d}-{number % 12 + 1:02d}"


def first_day(number: int) -> date:
    """Return the first day of a month."""
    return date(number // 12, number % 12 + 1, 1)


def last_day(number: int) -> date:
    """Return the last day of a month."""
    return first_day(number + 1) - timedelta(days=1)
