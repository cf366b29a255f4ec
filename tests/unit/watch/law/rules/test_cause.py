"""The rule about one thing that makes most of a database's load."""

from msgspec.structs import replace

import watched
from plimsoll.model.cause import CauseKind
from plimsoll.watch.law.load import InspectedLoad, LoadCause
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules.cause import CauseSettings, conditions
from plimsoll.watch.law.situation import Situation
from watched import END_S

TOAST = LoadCause(
    kind=CauseKind.TOAST,
    subject="public.letters.body",
    is_named=True,
    share=0.71,
    bytes_per_s=12.3e6,
    is_small=False,
    facts=("updates of public.letters.body write unchanged values again: 12.3 MB/s",),
    advice=("Send only changed columns.",),
)
LOAD = InspectedLoad(bytes_per_s=17.3e6, causes=(TOAST,), window_s=60.0, age_s=300.0)


def inspected(load: InspectedLoad | None) -> Situation:
    """A calm instance whose database was inspected."""
    return replace(watched.situation(), load=load)


def test_the_largest_cause_is_named_with_its_number():
    """Since the observation began; the advice is that of the inspection."""
    rest, one = conditions(inspected(LOAD), CauseSettings())

    assert (rest.ceiling, rest.level) == ("", WatchState.OK)
    assert one.level is WatchState.BOUND
    assert (one.ceiling, one.name) == ("toast public.letters.body", "rewritten TOAST values of public.letters.body")
    assert one.text == (
        "has one cause for 71 % of its load: rewritten TOAST values of public.letters.body, 12.3 MB/s of 17.3 MB/s"
    )
    assert (one.value, one.limit, one.bound_since_s) == (0.71, 0.5, END_S - 360)
    assert one.facts == (*TOAST.facts, "Observed inside the database for 1 min")
    assert one.advice == TOAST.advice


def test_a_share_at_the_bound_is_not_above_it():
    """The default is half of the load."""
    half = replace(LOAD, causes=(replace(TOAST, share=0.5),))

    assert len(conditions(inspected(half), CauseSettings())) == 1
    assert len(conditions(inspected(half), CauseSettings(share=0.49))) == 2


def test_most_of_a_small_load_is_no_cause_for_a_message():
    """On an idle database anything has a large share; no load at all has no cause."""
    small = replace(LOAD, causes=(replace(TOAST, share=1.0, is_small=True),))
    for load in (small, InspectedLoad(bytes_per_s=0.0)):
        (rest,) = conditions(inspected(load), CauseSettings())

        assert rest.level is WatchState.OK
        assert rest.text == "has no cause with more than 50 % of its load"


def test_of_two_causes_the_first_is_told():
    """A rewrite and its WAL are the same bytes; what says why comes first. A statement has no text."""
    wal = replace(TOAST, kind=CauseKind.WAL, subject="", share=0.9)
    plan = replace(TOAST, kind=CauseKind.PLANS, subject="0123456789ab", is_named=False)

    def told(*causes: LoadCause) -> list[tuple[str, str]]:
        found = conditions(inspected(replace(LOAD, causes=causes)), CauseSettings())
        return [(one.ceiling, one.name) for one in found[1:]]

    assert told(TOAST, wal) == [("toast public.letters.body", "rewritten TOAST values of public.letters.body")]
    assert told(wal) == [("wal", "WAL")]
    assert told(plan) == [("plans 0123456789ab", "one statement")]


def test_what_is_not_known_is_not_ok():
    """Not inspected yet, failed, or without a load; without a DSN there is nothing to say at all."""
    for load, text in (
        (InspectedLoad(missing="could not be inspected: refused"), "could not be inspected: refused"),
        (InspectedLoad(), "does not show what it reads and writes"),
    ):
        (one,) = conditions(inspected(load), CauseSettings())
        assert (one.level, one.text) == (WatchState.UNKNOWN, text)
    assert conditions(inspected(None), CauseSettings()) == ()
