"""The rule about missing data."""

from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules.unknown import condition_of_silence
from watched import END_S


def test_silence_counts_from_the_last_data():
    """It says for how long, why, and what happens to open alerts."""
    one = condition_of_silence(data_end_s=END_S, silent_s=1800, reason="access denied")

    assert (one.bound_since_s, one.at_s) == (END_S, END_S + 1800)
    assert one.text == "has sent no data for 30 min: access denied"
    assert one.facts == (
        "The last complete minute ended at 2021-03-08 03:00 UTC",
        "Open alerts of this instance stay open until data come again",
    )
    # One poll that brings something is enough to end it.
    ended = condition_of_silence(data_end_s=END_S, silent_s=0, reason="")
    assert (ended.level, ended.at_s) == (WatchState.OK, END_S)
