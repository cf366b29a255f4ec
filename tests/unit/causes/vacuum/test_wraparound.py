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


def test_what_is_left_is_divided_by_the_rate_of_the_window():
    """60,000 in a minute are 1,000 a second: 800 million last 800,000 s, which are 9 days."""
    cause = near(60_000)

    assert cause.title.endswith("800,000,000 are left until the server refuses every write, 9 days at the present rate")
    assert ("1,000 transaction IDs per second in 1 min: at this rate the rest lasts 9 days", LEFT / 1_000) == time_left(
        cause
    )


def test_less_than_two_days_are_reported_in_hours():
    """20,000 a second: 40,000 s."""
    assert near(1_200_000).title.endswith(", 11 h 7 min at the present rate")


@pytest.mark.parametrize("given", [0, 9])
def test_too_few_ids_tell_no_rate(given: int):
    """None or nine in the window: that is no rate of zero, and not for ever."""
    cause = near(given)

    assert cause.title.endswith("until the server refuses every write")
    assert (f"{given} transaction IDs were used in 1 min: too few to tell how long the rest lasts", None) == time_left(
        cause
    )


@pytest.mark.parametrize("given", [None, -1_000])
def test_ids_that_were_not_counted_tell_nothing(given: int | None):
    """Not read, or the last id is before the first one, as on another server that took its place."""
    cause = near(given)

    assert cause.title.endswith("until the server refuses every write")
    assert time_left(cause)[0].startswith("the rate at which transaction IDs are used is unknown")


def test_multixacts_are_counted_over_the_end_of_their_32_bits():
    """Their age goes from the largest number to the smallest one: 6,000 of them in a minute are 100 a second."""
    cause = near(None, multixacts=6_000)

    assert "MultixactWraparoundNear" == cause.code
    assert cause.title.endswith(f", {round(LEFT / 100 / DAY_S)} days at the present rate")
    assert LEFT / 100 == time_left(cause)[1]


def test_the_present_rate_changes_no_severity():
    """A window of seconds may be the busiest of the week."""
    assert {"warning"} == {near(given).severity for given in (None, 0, 600, 60_000_000)}
