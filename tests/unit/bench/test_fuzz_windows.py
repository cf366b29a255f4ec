"""Random windows: the same seed is the same window, and windows that failed once stay fixed."""

import pytest

import fuzz_windows
from fuzz_windows import Failure, minimised, outcome_of
from random_windows import random_window


def test_a_window_is_a_function_of_its_seed():
    """So an error of one run can be looked at alone."""
    assert random_window(5) == random_window(5)
    assert random_window(5) != random_window(6)


@pytest.mark.parametrize("seed", [288, 1200, 6864])
def test_a_window_that_failed_once_is_answered(seed):
    """Each was an internal error: zero rates at a ceiling, idle steps before it."""
    assert () == outcome_of(seed).failures


def test_an_internal_error_is_found_and_made_small(monkeypatch):
    """A mistake anywhere is named with its type and stage, and half of the window is enough to show it."""

    def broken(_):
        raise IndexError

    monkeypatch.setattr(fuzz_windows, "diagnose_snapshot", broken)
    (found,) = outcome_of(5).failures

    assert Failure(seed=5, stage="diagnosis", kind="IndexError", place=found.place) == found
    assert all(one.time_s.size <= 2 for one in minimised(found).series.values())
