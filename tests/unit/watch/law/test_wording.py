"""Messages as people read them."""

import pytest
from msgspec.structs import replace

from plimsoll.watch.law.machine import Transition
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.wording import Surroundings, message_of, severity_of, title_of
from watched import END_S, INSTANCE, MINUTE, START_S, transition

BOUND, NEARING, OK = WatchState.BOUND, WatchState.NEARING, WatchState.OK


@pytest.mark.parametrize(
    ("told", "title"),
    [
        (
            transition(since_s=END_S - 11 * MINUTE),
            "orders is at its ceiling, since 2021-03-08 02:49 UTC and still now (11 min)",
        ),
        # Without a past there is only the moment.
        (transition(since_s=END_S), "orders is at its ceiling, now (2021-03-08 03:00 UTC)"),
        # The end says what holds now, and the whole length of the episode.
        (
            transition(OK, before=BOUND, text="serves 12 MB/s", since_s=START_S),
            (
                "orders is no longer at a ceiling: it serves 12 MB/s now. The alert lasted "
                "3 h, from 2021-03-08 00:00 UTC"
            ),
        ),
        # From bound to nearing is a relief.
        (
            transition(NEARING, before=BOUND, text="spends its credits", since_s=START_S),
            "orders no longer binds, but spends its credits, since 2021-03-08 00:00 UTC and still now (3 h)",
        ),
    ],
    ids=["since", "now", "end", "eased"],
)
def test_a_title_says_since_when_and_what_is_now(told: Transition, title: str):
    """What binds, since when, and for how long until now."""
    assert title_of(told) == title


def test_an_alert_can_end_in_its_own_way():
    """Credits that were about to run out did run out: nothing got better."""
    ended = transition(OK, before=BOUND, text="has 0 % of its credits left", since_s=START_S)
    ended = replace(ended, condition=replace(ended.condition, ended="ran out"))

    assert title_of(ended).startswith("orders ran out: it has 0 % of its credits left now. ")


@pytest.mark.parametrize(
    ("rule", "state", "severity"),
    [
        ("bound", BOUND, "critical"),
        ("bound", NEARING, "warning"),
        ("bound", OK, "note"),
        ("headroom", NEARING, "note"),
        ("unknown", WatchState.UNKNOWN, "warning"),
    ],
)
def test_the_severity_is_that_of_rule_and_state(rule: str, state: WatchState, severity: str):
    """The end of an episode is never more than a note."""
    assert severity_of(transition(state, subject=INSTANCE.subject(rule))) == severity


def test_a_message_has_all_that_surrounds_it():
    """Advice, the address of the runbook, and that the data are simulated."""
    found = message_of(
        transition(number=2),
        Surroundings(advice=("Stop it",), is_simulated=True, runbook_base="https://x/", picture_png=b"png"),
    )

    assert (found.key, found.number) == ("0123456789abcdef", 2)
    assert found.facts == ("A fact", "These data are simulated")
    assert found.advice == ("Stop it",)
    assert found.runbook == "https://x/bound.md"
    assert found.picture_png == b"png"
    assert (found.since_s, found.at_s) == (START_S, END_S)


def test_the_end_needs_no_advice():
    """What helped during the alert is of no use after it."""
    found = message_of(transition(OK, before=BOUND), Surroundings(advice=("Stop it",)))

    assert (found.facts, found.advice, found.runbook) == ((), (), "")
    assert found.is_resolved
