"""What attempts to connect to a pooler say about the time between them."""

import pytest

from plimsoll_lab.experiments.failover.pooler import Attempt, changes_of, view_of

UP = {"a": ("up", "primary"), "b": ("up", "standby")}
TAKEN_OVER = {"a": ("down", "standby"), "b": ("up", "primary")}
BACK = {"a": ("up", "standby"), "b": ("up", "primary")}


def attempt(begin_s: float, states: dict | None, *, took_s: float = 0.01) -> Attempt:
    return Attempt(begin_s=begin_s, end_s=begin_s + took_s, states=states)


def test_time_counts_as_what_the_attempt_found():
    """Two seconds refused, three seconds hung; the time before the fault and after the end does not count."""
    attempts = [
        attempt(99.5, UP),
        attempt(99.99, UP, took_s=0.2),
        attempt(101.0, None),
        attempt(102.0, None),
        attempt(103.0, None, took_s=2.9),
        attempt(106.0, TAKEN_OVER),
        attempt(108.0, BACK),
    ]
    found = view_of(attempts, 100.0, 110.0, "b")

    assert (2.0, 3.0) == (found.refused_s, found.hung_s)
    assert 6.01 == pytest.approx(found.primary_found_s)
    assert {"a": "up, standby", "b": "up, primary"} == found.states
    assert ("a down after 6.0 s", "b primary after 6.0 s", "a standby after 8.0 s") == found.changes


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([attempt(100.0, UP, took_s=1.5), attempt(101.7, UP)], (0.0, 1.7, UP)),
        ([attempt(98.0, None, took_s=3.0)], (0.0, 3.0, {})),
        ([attempt(100.0, UP), attempt(101.0, None)], (2.0, 0.0, {})),
        ([], (0.0, 0.0, {})),
    ],
    ids=["a late answer is a wait", "begun before the fault", "no answer at the end", "no attempt"],
)
def test_what_was_found_out_between_the_fault_and_the_end(attempts: list[Attempt], expected: tuple):
    found = view_of(attempts, 100.0, 103.0, "a")

    assert expected[:2] == pytest.approx((found.refused_s, found.hung_s))
    assert {name: ", ".join(state) for name, state in expected[2].items()} == found.states


@pytest.mark.parametrize("leader", [None, "a"])
def test_a_primary_that_was_not_found_has_no_time(leader):
    """Nobody takes writes, or one does of which the pooler does not know."""
    attempts = [attempt(100.0, TAKEN_OVER), attempt(101.0, None)]

    assert view_of(attempts, 100.0, 102.0, leader).primary_found_s is None


def test_what_changed_while_it_did_not_answer_is_seen():
    """Its last answer before the fault is what the first one after it is compared with; it counts for nothing else."""
    found = view_of([attempt(97.0, UP), attempt(107.0, TAKEN_OVER)], 100.0, 110.0, "b")

    assert ("a down after 7.0 s", "b primary after 7.0 s") == found.changes
    assert (0.0, 0.0) == (found.refused_s, found.hung_s)
    assert 7.01 == pytest.approx(found.primary_found_s)


def test_only_changes_have_a_line():
    assert [] == list(changes_of([(0.1, UP), (0.2, UP)]))
