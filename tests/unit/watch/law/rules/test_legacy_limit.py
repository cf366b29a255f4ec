"""The rule about limits that a class no longer has."""

import watched
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.diagnosis import Verdict
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules.legacy_limit import LegacyLimitSettings, conditions

FORMER = watched.ceiling(Family.INSTANCE_EBS_THROUGHPUT, Phase.LEGACY, 80e6, valid_to="2019-12-04")


def test_a_legacy_limit_is_named_with_its_date():
    """The number, until when the class had it, and the remedy, which costs nothing."""
    at = watched.interval(Phase.LEGACY, bound=FORMER, level=80.2e6)

    (one,) = conditions(watched.situation(watched.diagnosis(at)), LegacyLimitSettings())

    assert one.level is WatchState.BOUND
    assert one.text == ("has a legacy limit of 80 MB/s; the class had it until 2019-12-04: 80.2 MB/s served")
    assert one.facts == ("A stop and a start give the instance the present limits of its class",)


def test_a_present_limit_is_none():
    """A ceiling of today is no finding of this rule; what was not measured may be at a legacy limit."""
    at = watched.diagnosis(watched.interval())
    blind = watched.diagnosis(verdict=Verdict.UNKNOWN)

    assert conditions(watched.situation(at), LegacyLimitSettings()) == ()
    (one,) = conditions(watched.situation(blind), LegacyLimitSettings())
    assert one.level is WatchState.UNKNOWN
