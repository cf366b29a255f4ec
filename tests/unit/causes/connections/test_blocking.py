"""Who waits for whom: the root, the tree, and what is worth more than a note."""

import pytest
from msgspec.structs import replace

import databases
from plimsoll.causes.connections.blocking import causes, tree_of
from plimsoll.causes.connections.full_server import causes_of, missing_of
from plimsoll.causes.connections.sessions import busy_between
from plimsoll.model.database import LockWait

HOLDER = databases.session(
    pid=1,
    application="nightly",
    state="idle in transaction",
    state_s=300.0,
    transaction_s=400.0,
    statement="update t set a = ?",
)


def waiter(pid: int, waited_s: float = 30.0):
    """A session that wants a row."""
    return databases.session(pid=pid, state="active", wait_event_type="Lock", wait_event="tuple", state_s=waited_s)


def glance(waits: dict[int, tuple[int, ...]], *, waited_s: float = 30.0, holder=HOLDER):
    """Some that wait for others, and one that holds."""
    return databases.glance(
        1.0,
        sessions=(holder, *(waiter(pid, waited_s) for pid in waits)),
        lock_waits=tuple(LockWait(pid=pid, blocked_by=by) for pid, by in waits.items()),
    )


def found(*glances):
    still = databases.reading()
    return causes(databases.observation(still, still, glances=glances), databases.budget())


def test_the_root_is_the_one_that_does_not_wait_itself():
    """The first in the queue blocks the others, but waits for the root."""
    tree = tree_of(glance({2: (1,), 3: (2, 1), 4: (2, 3)}))

    assert (1, 3) == (tree.root, tree.behind)
    assert {1: (2, 3), 2: (4,)} == tree.children


def test_of_two_roots_the_one_with_the_most_behind_it_is_named():
    """Two pile-ups at once: the larger first."""
    tree = tree_of(glance({2: (1,), 8: (7,), 9: (7,), 10: (9,)}))

    assert (7, 3) == (tree.root, tree.behind)


def test_a_ring_has_a_root_all_the_same():
    """Until the server breaks a deadlock, everybody in it waits."""
    assert tree_of(glance({2: (3,), 3: (2,)})).root in {2, 3}


@pytest.mark.parametrize(
    ("count", "waited_s", "severity"),
    [
        (1, 2.0, "note"),
        (1, 6.0, "warning"),
        (1, 61.0, "critical"),
        (9, 2.0, "note"),
        (10, 2.0, "warning"),
        (25, 2.0, "critical"),
    ],
)
def test_severity_is_by_how_long_and_how_many(count: int, waited_s: float, severity: str):
    """Of 97 usable connections a tenth is a warning, a quarter is critical; so are 5 s and 60 s."""
    (cause,) = found(glance({n + 2: (1,) for n in range(count)}, waited_s=waited_s))

    assert severity == cause.severity


def test_short_waits_are_contention_and_no_pile_up():
    """Four at once on average are reported as a note, fewer not at all."""
    four, three = ({n + 2: (1,) for n in range(count)} for count in (4, 3))

    assert ["LockContention"] == [c.code for c in found(glance(four, waited_s=0.1))]
    assert () == found(glance(three, waited_s=0.1))


def test_the_holder_is_reported_with_its_statement_and_since_when():
    """Who, in which state, since when, what it ran last; and a command that is a suggestion."""
    (cause,) = found(glance({2: (1,)}))
    texts = [piece.text for piece in cause.evidence]

    assert "process 1 of app 'nightly' from 10.0.0.1" == cause.subject
    assert "idle in transaction for 5 min, its transaction is open for 7 min" in texts[0]
    assert texts[1] == "Its last statement: update t set a = ?"
    assert "process 1 blocks 2 (30 s)" == texts[2]
    assert any("SELECT pg_terminate_backend(1);" in r.commands for r in cause.remedies)


def test_a_working_holder_is_cancelled_before_it_is_ended():
    """Its statement may be done again."""
    (cause,) = found(glance({2: (1,)}, holder=replace(HOLDER, state="active")))

    assert ("SELECT pg_cancel_backend(1);",) == cause.remedies[0].commands


def test_a_holder_that_cannot_be_seen_is_reported_as_such():
    """A role without rights sees its number only."""
    (cause,) = found(glance({2: (77,)}))

    assert "process 77 is not visible to this role" == cause.evidence[0].text


def test_time_spent_waiting_for_locks_is_no_work():
    """Of 10 s a second spent on statements nine are waits where glances saw one of ten at work."""
    sessions = (databases.session(state="active"), *(waiter(n) for n in range(2, 11)))
    glances = [
        databases.glance(0.0, sessions=sessions, active_s=0.0),
        databases.glance(10.0, sessions=sessions, active_s=100.0),
    ]

    assert pytest.approx(1.0) == busy_between(glances)


def full(words: str):
    still = databases.reading()
    return databases.observation(still, still, full=words)


def test_a_full_server_is_distinguished_from_a_role_at_its_limit():
    """The server's own message decides; without a pooler, a gap says that a pooler would show more."""
    (every,) = causes_of(full("FATAL:  sorry, too many clients already"))
    (own,) = causes_of(full('FATAL:  too many connections for role "app"'))

    assert "is full" in every.title
    assert "the connection limit of the role or database" in own.title
    assert "rolconnlimit" not in every.title
    assert {"critical"} == {every.severity, own.severity}
    assert ["the server's counters", "poolers"] == [g.name for g in missing_of(full("x"))]


def test_in_another_language_both_limits_are_possible():
    """The code says that it is full, and the words are kept without being understood."""
    (found,) = causes_of(full("FATAL:  tut mir leid, schon zu viele Verbindungen"))

    assert "or its own limit is reached (rolconnlimit, datconnlimit)" in found.title
    assert "tut mir leid" in found.evidence[0].text
