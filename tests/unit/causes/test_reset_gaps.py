"""Counters that a crash took: a gap, and where most of the time is lost, no verdict."""

import pytest
from msgspec.structs import replace

from databases import START_S, WINDOW_S, observation, reading
from plimsoll.causes.inspect import inspect
from plimsoll.reports.inspect.document import headline

NAME = "the counters from before the restart"


def crashed(lost_s: float):
    """A quiet minute after so many seconds of which the server knows nothing any more."""
    return inspect(observation(reading(START_S), reading(START_S + WINDOW_S), forgotten_s=lost_s))


def hidden(lost_s: float) -> list[str]:
    return [gap.hides for gap in crashed(lost_s).missing if gap.name == NAME]


@pytest.mark.parametrize(
    ("lost_s", "hides"),
    [
        (0.0, []),
        (45.0, ["what the server did in the first 45 s"]),
        (WINDOW_S, ["what the server did in the first 1 min"]),
        (WINDOW_S + 1, ["verdict"]),
    ],
)
def test_the_verdict_hangs_on_what_was_lost_where_that_is_most(lost_s: float, hides: list[str]):
    """A minute is left: as much as that may be lost."""
    assert hides == hidden(lost_s)


def test_the_headline_names_what_was_lost():
    """In place of "no problem found"."""
    sentence = headline(replace(crashed(90.0), causes=()))

    assert sentence.startswith("We cannot say what 127.0.0.1:5432/orders spends")
    assert f"{NAME} are missing" in sentence
