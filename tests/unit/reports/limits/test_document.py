"""The limit sheet as text."""

import pytest

from plimsoll.app.render import render
from plimsoll.model.instance import Instance
from plimsoll.reports.limits.curve import mb_ticks
from unit.reports.fixture_sheet import sheet


def test_names_from_outside_cannot_steer_the_terminal():
    """An escape sequence in an engine's name is not printed."""
    foul = sheet(instance=Instance(db_class="db.r5.large", engine="post\x1b[31mgres"))

    assert "\x1b" not in render(foul, width=80)


@pytest.mark.parametrize(("low", "high"), [(24, 600), (0.1, 12_500), (86.8, 86.9), (5, 11), (1000, 12_500)])
def test_ticks_are_few_and_within_the_range(low: float, high: float):
    """At most nine numbers, none outside of what is drawn."""
    ticks = mb_ticks([low, high])

    assert 1 <= len(ticks) <= 9
    assert all(low <= tick <= high for tick in ticks)
