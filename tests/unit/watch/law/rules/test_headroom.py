"""The rule about days with little headroom."""

import pytest

import watched
from plimsoll.model.ceiling import Family
from plimsoll.watch.law.days import DAY_S, DaySummary
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules.headroom import HeadroomSettings, conditions

TODAY = (watched.END_S - 1) // DAY_S


def week(letters: str) -> tuple[DaySummary, ...]:
    """The last days, today last: `h` high for an hour, `l` low, `s` seen for an hour only, `-` not watched."""
    first = TODAY - len(letters) + 1
    return tuple(
        DaySummary(
            day=first + i,
            family=Family.VOLUME_THROUGHPUT,
            high_s=3600.0 if letter == "h" else 0.0,
            measured_s=3600.0 if letter == "s" else float(DAY_S),
            peak_ratio=0.93 if letter == "h" else 0.3,
        )
        for i, letter in enumerate(letters)
        if letter != "-"
    )


@pytest.mark.parametrize(
    ("days", "level"),
    [
        ("lllllll", WatchState.OK),
        ("lhllllh", WatchState.NEARING),
        ("lhlhllh", WatchState.BOUND),
        # Seven days back, today included.
        ("hhhlllllll", WatchState.OK),
        # Two days that were not watched could not make three; three could.
        ("lllll--", WatchState.OK),
        ("llll---", WatchState.UNKNOWN),
        ("llllsss", WatchState.UNKNOWN),
        ("hhh----", WatchState.BOUND),
        ("", WatchState.UNKNOWN),
    ],
)
def test_days_with_an_hour_above_80_percent_are_counted(days: str, level: WatchState):
    """Three of seven are bound, two are nearing; days that nobody watched are not ok."""
    found = conditions(watched.situation(days=week(days)), HeadroomSettings())

    assert watched.by_ceiling(found)["volume_throughput"].level is level


def test_the_text_counts_the_days():
    """The number of days, what counts as high, and the highest use."""
    found = conditions(watched.situation(days=week("lhlhllh")), HeadroomSettings())
    one = watched.by_ceiling(found)["volume_throughput"]

    assert one.text == ("used more than 80 % of its volume throughput for at least 1 h on 3 of the last 7 days")
    assert one.facts == ("Highest use on these days: 93 % of the ceiling",)
