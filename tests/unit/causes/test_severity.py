"""How severe a share is: of the load, and of the ceiling."""

import pytest

from plimsoll.causes.budget import severity_by
from plimsoll.units import mb_per_s


@pytest.mark.parametrize(
    ("rate", "severity"), [(mb_per_s(0.4), "note"), (mb_per_s(10.9) / 20, "critical")]
)
def test_all_that_an_idle_server_does_is_no_more_than_a_note(rate: float, severity: str):
    """
    Shares of the load count from a twentieth of what the smallest class may move for ever.

    db.t3.micro moves 87 Mbit/s (10.9 MB/s).
    """
    assert severity == severity_by(rate, of_load=1.0, of_ceiling=None)


def test_a_share_of_the_ceiling_counts_however_small_the_rate():
    """A quarter of a ceiling is a quarter of it, also of a small one."""
    rate = mb_per_s(0.1)

    assert "critical" == severity_by(rate, of_load=1.0, of_ceiling=0.25)
    assert "warning" == severity_by(rate, of_load=None, of_ceiling=0.05)
    assert "note" == severity_by(rate, of_load=None, of_ceiling=0.04)


def test_far_below_a_known_ceiling_nothing_is_critical():
    """All of the load, and 2.9 % of the ceiling: a warning. Where the ceiling is not known it is critical."""
    rate = mb_per_s(6.0)

    assert "warning" == severity_by(rate, of_load=1.0, of_ceiling=0.029)
    assert "critical" == severity_by(rate, of_load=1.0, of_ceiling=0.05)
    assert "critical" == severity_by(rate, of_load=1.0, of_ceiling=None)


def test_what_nobody_counted_is_a_note():
    """Without a rate there is nothing to be severe about, whatever else is known."""
    assert "note" == severity_by(None, of_load=1.0, of_ceiling=1.0)
