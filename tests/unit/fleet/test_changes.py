"""What changed between two tables: an instance that could not be judged in one is not compared."""

import pytest

import fleets
from plimsoll.fleet.changes import changes_of
from plimsoll.model.fleet import FleetVerdict
from plimsoll.model.fleet_answer import FleetChangeKind as Kind


def kinds(before: FleetVerdict | None, after: FleetVerdict | None) -> list[Kind]:
    old, new = [before] if before else [], [after] if after else []
    return [change.kind for change in changes_of(old, new, named="before").changes]


CALM, UNKNOWN = fleets.row("a"), fleets.row("a", "unknown")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (CALM, CALM, []),
        (CALM, fleets.bound("a", 0.1), [Kind.REACHED]),
        (fleets.row("a", "near"), fleets.bound("a", 0.1), [Kind.REACHED]),
        (fleets.bound("a", 0.1), CALM, [Kind.LEFT]),
        (fleets.bound("a", 0.1), fleets.bound("a", 0.2), [Kind.WORSE]),
        (fleets.bound("a", 0.2), fleets.bound("a", 0.1), [Kind.BETTER]),
        (fleets.bound("a", 0.40), fleets.bound("a", 0.45), []),
        (fleets.bound("a", 0.001), fleets.bound("a", 0.009), []),
        (UNKNOWN, fleets.bound("a", 0.1), []),
        (fleets.bound("a", 0.1), UNKNOWN, []),
        (fleets.bound("a", 0.1), fleets.row("a", "error"), []),
        (None, CALM, [Kind.APPEARED]),
        (CALM, None, [Kind.GONE]),
        (CALM, fleets.row("a", db_class="db.m6g.xlarge"), [Kind.CLASS_CHANGED]),
        (CALM, fleets.row("a", db_class=None), []),
        (UNKNOWN, fleets.row("a", db_class="db.m6g.xlarge"), [Kind.CLASS_CHANGED]),
        # A change of class and of the verdict are two; instances of the same name elsewhere are others.
        (fleets.bound("a", 0.3), fleets.row("a", db_class="db.r6g.large"), [Kind.LEFT, Kind.CLASS_CHANGED]),
        (CALM, fleets.row("a", region="eu-west-1"), [Kind.APPEARED, Kind.GONE]),
    ],
)
def test_a_change_has_its_kind(before, after, expected: list[Kind]):
    assert expected == kinds(before, after)


def test_the_largest_change_of_a_kind_is_first():
    before = [fleets.row("a"), fleets.row("b")]
    after = [fleets.bound("a", 0.1), fleets.bound("b", 0.6)]

    assert ["b", "a"] == [one.instance for one in changes_of(before, after, named="x").changes]


def test_the_order_of_rows_changes_nothing():
    forward = changes_of(fleets.ROWS_BEFORE, fleets.ROWS, named="x")

    assert forward == changes_of(fleets.ROWS_BEFORE[::-1], fleets.ROWS[::-1], named="x")


def test_what_could_not_be_judged_is_counted():
    found = changes_of([UNKNOWN, fleets.row("b")], [CALM, fleets.row("b")], named="x")

    assert (1, ()) == (found.unjudged_count, found.changes)


def test_the_window_is_what_the_rows_cover():
    rows = [fleets.row("a", start_s=100, end_s=200), fleets.row("b", start_s=50, end_s=None)]

    assert (50, 200) == changes_of(rows, rows, named="x").before_window_s
