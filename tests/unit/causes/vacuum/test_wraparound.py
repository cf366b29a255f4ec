"""How long the ids that are left last: measured between two readings, or unknown."""

import pytest
from msgspec.structs import replace

from databases import START_S, budget, observation, reading
from plimsoll.causes.vacuum import wraparound
from plimsoll.model.cause import Cause
from plimsoll.model.standing import DatabaseAge, ServerHealth

DAY_S = 86_400
NEWEST_XID = 7 * 2**32 + 1_000
# Of 2³¹ less three million.
AGE = 1_344_483_648
LEFT = 800_000_000


def near(given: int | None, *, multixacts: int | None = None, seconds: float = 60.0) -> Cause:
    """A database with 800 million transaction ids left, and as many multixacts where those are counted."""
    first = reading(
        START_S,
        next_xid=NEWEST_XID if given is not None else None,
        multixact_age=2**31 - 500 if multixacts is not None else None,
    )
    last = replace(
        first,
        time_s=START_S + seconds,
        next_xid=NEWEST_XID + given if given is not None else None,
        # As the server says it: 32 bits with a sign.
        multixact_age=multixacts - 2**31 - 500 if multixacts is not None else None,
    )
    ages = {"xid_age": AGE, "multixact_age": 0}
    if multixacts is not None:
        ages = {"xid_age": 0, "multixact_age": AGE}
    seen = observation(
        first, last, standing=ServerHealth(databases=(DatabaseAge(name="orders", takes_connections=True, **ages),))
    )
    (cause,) = wraparound.causes(seen, budget())
    return cause


def time_left(cause: Cause) -> tuple[str, float | None]:
    (found,) = [e for e in cause.evidence if e.kind == "time left"]
    return found.text, found.value


UNKNOWN = "the rate at which transaction IDs are used is unknown"


@pytest.mark.parametrize(
    ("given", "ending", "said", "left_s"),
    [
        # 60,000 in a minute are 1,000 a second: 800 million last 800,000 s, which are 9 days.
        (
            60_000,
            "800,000,000 are left until the server refuses every write, 9 days at the present rate",
            "1,000 transaction IDs per second in 1 min: at this rate the rest lasts 9 days",
            800_000,
        ),
        # 20,000 a second: 40,000 s are reported in hours.
        (1_200_000, ", 11 h 7 min at the present rate", "20,000 transaction IDs per second in 1 min", 40_000),
        # None or nine in the window: that is no rate of zero, and not for ever.
        (0, "every write", "0 transaction IDs were used in 1 min: too few to tell how long the rest lasts", None),
        (9, "every write", "9 transaction IDs were used in 1 min: too few to tell how long the rest lasts", None),
        # Not read, or the last id is before the first one, as on another server that took its place.
        (None, "every write", UNKNOWN, None),
        (-1_000, "every write", UNKNOWN, None),
    ],
)
def test_what_is_left_is_divided_by_the_rate_of_the_window(given, ending: str, said: str, left_s: float | None):
    """Where there is one: else no time is made up."""
    cause = near(given)
    text, value = time_left(cause)

    assert cause.title.endswith(ending)
    assert text.startswith(said)
    assert left_s == value


def test_multixacts_are_counted_over_the_end_of_their_32_bits():
    """Their age goes from the largest number to the smallest one: 6,000 of them in a minute are 100 a second."""
    cause = near(None, multixacts=6_000)

    assert "MultixactWraparoundNear" == cause.code
    assert cause.title.endswith(f", {round(LEFT / 100 / DAY_S)} days at the present rate")
    assert LEFT / 100 == time_left(cause)[1]


def test_the_present_rate_changes_no_severity():
    """A window of seconds may be the busiest of the week."""
    assert {"warning"} == {near(given).severity for given in (None, 0, 600, 60_000_000)}
