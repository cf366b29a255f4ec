"""How severe a share is: of the load, and of the ceiling."""

import pytest

from plimsoll.causes.budget import severity_by
from plimsoll.units import mb_per_s


@pytest.mark.parametrize(
    ("mb", "of_load", "of_ceiling", "severity"),
    [
        # Shares of the load count from a twentieth of db.t3.micro's 87 Mbit/s (10.9 MB/s) on.
        (0.4, 1.0, None, "note"),
        (10.9 / 20, 1.0, None, "critical"),
        # A quarter of a ceiling is a quarter of it, also of a small one.
        (0.1, 1.0, 0.25, "critical"),
        (0.1, None, 0.05, "warning"),
        (0.1, None, 0.04, "note"),
        # All of the load, and 2.9 % of the ceiling: a warning, unless the ceiling is not known.
        (6.0, 1.0, 0.029, "warning"),
        (6.0, 1.0, 0.05, "critical"),
        (6.0, 1.0, None, "critical"),
        # Without a rate there is nothing to be severe about, whatever else is known.
        (None, 1.0, 1.0, "note"),
    ],
)
def test_severity_is_by_the_share_of_the_load_and_of_the_ceiling(
    mb: float | None, of_load: float | None, of_ceiling: float | None, severity: str
):
    """All that an idle server does is no more than a note; far below a known ceiling nothing is critical."""
    rate = None if mb is None else mb_per_s(mb)

    assert severity == severity_by(rate, of_load=of_load, of_ceiling=of_ceiling)
