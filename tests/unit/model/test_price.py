"""How old a price is."""

import pytest

from plimsoll.model.price import is_old


@pytest.mark.parametrize(
    ("as_of", "today", "expected"),
    [
        ("2025-10-15", "2026-10-15", False),
        ("2025-10-15", "2026-10-16", True),
        ("2024-02-29", "2025-02-28", False),
        ("2024-02-29", "2025-03-01", True),
        ("2025-10", "2026-10-31", False),
        ("2025-10", "2026-11-01", True),
        ("2027-01-01", "2026-11-22", False),
        (None, "2026-11-22", True),
    ],
)
def test_a_price_is_old_after_a_year(as_of: str | None, today: str, expected: bool):
    """To the day, or to the month where only that is known; a price without a date may be of any year."""
    assert expected == is_old(as_of, today)
