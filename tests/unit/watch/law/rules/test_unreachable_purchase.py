"""The rule about storage that is faster than its instance."""

import watched
from plimsoll.model.diagnosis import Finding
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules.unreachable_purchase import UnreachablePurchaseSettings, conditions

BEYOND = Finding(
    code="StorageBeyondInstance",
    severity="note",
    title="you pay for 30,000 IOPS; this class can use 18,750 IOPS",
    text="The instance EBS IOPS limit of the class is the lower one.",
)


def test_the_finding_of_the_diagnosis_is_the_condition():
    """Its sentence is said of the instance."""
    found = watched.situation(watched.diagnosis(findings=(BEYOND,)))

    (one,) = conditions(found, UnreachablePurchaseSettings())

    assert one.level is WatchState.BOUND
    assert one.text == (
        "cannot use all the storage performance that you pay for: 30,000 IOPS; this class can use 18,750 IOPS"
    )
    assert one.facts == (BEYOND.text,)


def test_without_limits_it_is_unknown():
    """What is paid for cannot be compared with nothing."""
    fine = conditions(watched.situation(), UnreachablePurchaseSettings())
    blind = watched.situation(watched.diagnosis(ceilings=()))

    assert [c.level for c in fine] == [WatchState.OK]
    assert [c.level for c in conditions(blind, UnreachablePurchaseSettings())] == [WatchState.UNKNOWN]
