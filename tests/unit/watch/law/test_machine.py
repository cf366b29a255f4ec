"""States from conditions: delays, hysteresis, gaps and unknown data."""

import pytest

from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.machine import Standing, Timing, step
from plimsoll.watch.law.message import WatchState
from watched import MINUTE, START_S, SUBJECT, walk

OK, NEARING, BOUND, UNKNOWN = (WatchState.OK, WatchState.NEARING, WatchState.BOUND, WatchState.UNKNOWN)
TIMING = Timing(bound_for_s=10 * MINUTE, nearing_for_s=5 * MINUTE, clear_s=20 * MINUTE, gap_s=30 * MINUTE)


def letters(text: str) -> list[tuple[int, str]]:
    """A letter each minute, from minute 0."""
    return list(enumerate(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A level fires after its time: it holds from minute 1, is nearing after 5 minutes and bound after 10.
        ("." + "b" * 12, [(6, NEARING, 1), (11, BOUND, 2)]),
        # A condition that ends before its time, however often, is no transition.
        (".nnnn" * 10, []),
        # One transition back to ok, 20 minutes after the first sample that is calm, and not before.
        ("b" * 11 + "." * 22, [(5, NEARING, 1), (10, BOUND, 2), (31, OK, 3)]),
        # Less than 20 calm minutes between two parts of a job leave the alert open.
        ("b" * 11 + ("." * 19 + "b") * 5, [(5, NEARING, 1), (10, BOUND, 2)]),
        # When the harder condition has been calm for its time and the softer one holds: nearing again.
        ("b" * 11 + "n" * 40, [(5, NEARING, 1), (10, BOUND, 2), (31, NEARING, 3)]),
        # Numbers of a later episode begin at 1 again.
        ("b" * 11 + "." * 22 + "b" * 6, [(5, NEARING, 1), (10, BOUND, 2), (31, OK, 3), (38, NEARING, 1)]),
        # Unknown never ends an alert, however long, and calm minutes before it count no more.
        ("b" * 11 + "." * 19 + "?" * 40 + "." * 19, [(5, NEARING, 1), (10, BOUND, 2)]),
        ("b" * 11 + "." * 19 + "?" * 200 + "." * 19, [(5, NEARING, 1), (10, BOUND, 2)]),
        # Unknown never fires either.
        ("nnnn" + "?" * 50, []),
    ],
)
def test_transitions_follow_the_letters(text: str, expected: list[tuple[int, WatchState, int]]):
    """Delays, hysteresis, episodes and unknown data, minute by minute."""
    assert walk(TIMING, letters(text)) == expected


def test_an_episode_never_begins_before_the_last_one_ended():
    """Data that show a run from before the end of the last episode do not give its key again."""
    standing = Standing(subject=SUBJECT, at_s=START_S, closed_s=START_S)
    at_s = START_S + MINUTE
    found = Condition(ceiling=SUBJECT.ceiling, at_s=at_s, bound_since_s=START_S - 1000 * MINUTE)

    _, changed = step(standing, found, TIMING)

    assert changed is not None
    assert changed.since_s == START_S


def test_data_show_how_long_it_held():
    """The first condition of all may be bound at once, if the data show that it has held for its time."""
    at_s = START_S + 60 * MINUTE
    found = Condition(ceiling=SUBJECT.ceiling, at_s=at_s, bound_since_s=at_s - 10 * MINUTE)

    _, changed = step(Standing(subject=SUBJECT), found, TIMING)

    assert changed is not None
    assert (changed.state, changed.number, changed.since_s) == (BOUND, 1, at_s - 10 * MINUTE)


def test_the_rule_about_missing_data_is_unknown_instead_of_bound():
    """Its condition held is announced as unknown, and it ends with the first sample."""
    timing = Timing(bound_for_s=1800, nearing_for_s=1800, clear_s=0, gap_s=1800, fired=UNKNOWN)

    assert walk(timing, [(0, "b"), (20, "b"), (30, "b"), (35, "b"), (36, ".")]) == [(30, UNKNOWN, 1), (36, OK, 2)]
