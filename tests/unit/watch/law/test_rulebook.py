"""All rules together."""

import watched
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rulebook import RULES, UNKNOWN, RuleTables, conditions_of, timing_of
from plimsoll.watch.law.rules.bound import BoundSettings


def test_every_rule_has_a_table():
    """And every table is that of a rule."""
    assert set(RULES) == set(RuleTables.__struct_encode_fields__)


def test_a_rule_that_is_off_finds_nothing():
    """All others still do."""
    off = RuleTables(bound=BoundSettings(is_on=False))

    assert set(conditions_of(watched.situation(), off)) == set(RULES) - {"bound", UNKNOWN}


def test_only_missing_data_are_unknown_when_they_fire():
    """Minutes of the settings are seconds of the machine."""
    timing = timing_of(UNKNOWN, RuleTables().unknown)

    assert (timing.fired, timing.bound_for_s, timing.clear_s) == (WatchState.UNKNOWN, 1800, 0)
    assert timing_of("bound", RuleTables().bound).fired is WatchState.BOUND


def test_nothing_is_ok_without_data():
    """Of an instance of which nothing is known, no rule says that all is well, except that it buys nothing."""
    blind = watched.situation(watched.diagnosis(ceilings=(), verdict=watched.Verdict.UNKNOWN), served=float("nan"))

    levels = {c.level for found in conditions_of(blind, RuleTables()).values() for c in found}
    assert levels == {WatchState.UNKNOWN}
