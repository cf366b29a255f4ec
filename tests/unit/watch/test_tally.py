"""Counts of events."""

from plimsoll.watch.tally import EventTally


def test_events_are_counted_by_label():
    """A counter that began has 0; one that nobody mentioned is not there."""
    tally = EventTally()
    tally.add("sent", "ops")
    tally.add("sent", "ops", by=2)
    tally.begin(["sent", "failed"], ["ops"])

    assert tally.counts() == {("sent", "ops"): 3, ("failed", "ops"): 0}
