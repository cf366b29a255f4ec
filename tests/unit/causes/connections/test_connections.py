"""Connections: states, arrivals and too many at work, in simulated sessions."""

from collections.abc import Sequence

import msgspec
import pytest

import databases as db
from crowds import crowd, found, observed
from plimsoll.causes.connections import sessions as seen
from plimsoll.causes.connections.connections import causes, missing_of
from plimsoll.model.database import Glance, Observation, Session


def above_notes(observation: Observation) -> set[str]:
    return {code for code, cause in found(observation).items() if cause.severity != "note"}


def test_an_empty_server_has_no_connections_to_speak_of():
    """Our own session and the server's processes are nobody's connections."""
    own = [
        db.session(pid=1, application="plimsoll", state="active"),
        db.session(pid=2, backend_type="checkpointer", database=None, user=None, state=None),
    ]

    assert causes(observed([own] * 5), db.budget()) == ()
    assert causes(observed([]), db.budget()) == ()


def test_a_healthy_server_has_notes_only():
    """Eight busy sessions that came at the start, a few idle ones: who they are, and nothing else."""
    steady = crowd(8, state="active") + crowd(4, 2000)
    title = "0.15 connections were opened per second; most stay open longer than the window"
    reading = found(observed([steady] * 10, sessions=9))

    assert set(reading) == {"ConnectionsHeld", "ConnectionArrivals"}
    assert {cause.severity for cause in reading.values()} == {"note"}
    assert reading["ConnectionArrivals"].title == title
    assert reading["ConnectionsHeld"].title == "12 of 97 usable connections are open, 8 of them active"


def test_what_is_held_is_set_against_what_the_machine_runs():
    """Twice its vCPUs by the rule of thumb; if they are unknown, that is reported, and how to find out."""

    def room(**known) -> str:
        seen = observed([crowd(3)], info=db.server(**known))
        (piece,) = [p for p in found(seen)["ConnectionsHeld"].evidence if p.kind == "rule"]
        return piece.text

    assert room(vcpu_count=4).startswith("2 × 4 vCPUs = 8 active sessions")
    assert (
        "the number of vCPUs is unknown, so the active sessions that the machine can run are too; give --against rds:NAME"
        in room()
    )


def test_holders_are_user_application_and_address():
    """The most first; without an address it is a local socket."""
    sessions = [*crowd(3, state="active"), *crowd(5, 2000, application="batch", address=None)]
    held = found(observed([sessions]))["ConnectionsHeld"].evidence

    assert "held by 5 app 'batch' from a local socket, 3 app 'web' from 10.0.0.1" in [piece.text for piece in held]


def short(came: int) -> Observation:
    """So many connections in a minute, each held for a tenth of a second."""
    return observed([crowd(2, n * 10, connected_s=0.1) for n in range(1, 10)], sessions=came, committed=came)


def at_work(count: int) -> Observation:
    return observed([crowd(count, state="active")] * 3, info=db.server(vcpu_count=4))


@pytest.mark.parametrize(
    ("observation", "code", "severity"),
    [
        # Of 100 connections 97 are usable: 78 are 80 %, 93 are 95 %.
        (observed([crowd(77)]), "NearMaxConnections", None),
        (observed([crowd(78)]), "NearMaxConnections", "warning"),
        (observed([crowd(92)]), "NearMaxConnections", "warning"),
        (observed([crowd(93)]), "NearMaxConnections", "critical"),
        # Half of all that fit, idle for over a minute.
        (observed([crowd(49, state_s=70.0)]), "IdleConnections", "warning"),
        (observed([crowd(49, state_s=50.0)]), "IdleConnections", None),
        (observed([crowd(48, state_s=70.0)]), "IdleConnections", None),
        # Four bad endings of 60, or six of 600, are accidents.
        (observed([crowd(10)] * 2, sessions=60, sessions_killed=4), "SessionsEndedBadly", None),
        (observed([crowd(10)] * 2, sessions=600, sessions_killed=6), "SessionsEndedBadly", None),
        # From 5 a second a note, from 20 a warning; a hundred that came at once and stay are a pool.
        (short(240), "ShortConnections", None),
        (short(600), "ShortConnections", "note"),
        (short(1200), "ShortConnections", "warning"),
        (short(6000), "ShortConnections", "warning"),
        (observed([crowd(90)] * 3, sessions=400), "ShortConnections", None),
        # Without a curve the mean is compared with 2 × vCPUs.
        (at_work(11), "MoreActiveThanRuns", None),
        (at_work(13), "MoreActiveThanRuns", "note"),
        (at_work(32), "MoreActiveThanRuns", "warning"),
    ],
)
def test_what_was_seen_is_judged(observation: Observation, code: str, severity: str | None):
    """Each finding from where it counts on, as grave as it is."""
    cause = found(observation).get(code)

    assert severity == (cause.severity if cause else None)


def test_a_rule_of_thumb_is_called_one():
    """It is not measured."""
    cause = found(at_work(13))["MoreActiveThanRuns"]

    assert "the machine can run 8 by a rule of thumb" in cause.title
    assert "a rule of thumb, not measured" in cause.evidence[0].text


@pytest.mark.parametrize(
    ("age_s", "count", "severity"),
    [
        (2.0, 1, None),
        (6.0, 1, "note"),
        (61.0, 1, "warning"),
        (3601.0, 1, "critical"),
        (0.1, 9, None),
        (0.1, 10, "warning"),
        (0.1, 25, "critical"),
    ],
)
@pytest.mark.parametrize(
    ("state", "code"),
    [("idle in transaction", "IdleInTransaction"), ("idle in transaction (aborted)", "AbortedTransactions")],
)
def test_open_transactions_are_judged_by_age_and_number(state, code, age_s, count, severity):
    """A minute is a warning, an hour critical; so are a tenth and a quarter of all that fit."""
    cause = found(observed([crowd(count, state=state, state_s=age_s)])).get(code)

    assert (cause.severity if cause else None) == severity


def test_an_open_transaction_names_its_holder_and_the_timeout():
    """Who, and that nothing ends it."""
    configured = db.with_settings(db.server(), {"idle_in_transaction_session_timeout": "0"})
    sessions = crowd(2, state="idle in transaction", state_s=120.0, application="billing")
    cause = found(observed([sessions], info=configured))["IdleInTransaction"]

    assert cause.subject == "app 'billing' from 10.0.0.1"
    assert "idle_in_transaction_session_timeout is off" in {p.text for p in cause.evidence}


def test_arrivals_and_what_became_of_them():
    """60 came in a minute, two more are open than before: 58 left, 6 of them badly."""
    rows = [crowd(10), crowd(12)]
    reading = found(observed(rows, sessions=60, sessions_abandoned=4, sessions_fatal=2))
    bad = reading["SessionsEndedBadly"]

    assert bad.severity == "warning"
    assert bad.evidence[0].text == (
        "60 were opened in 1 min; 2 more are open than before; about 52 ended normally, 4 lost their"
        " client, 2 ended with a fatal error"
    )
    assert reading["ConnectionArrivals"].title == (
        "1 connections were opened per second; each stays open for 11 s (Little's law)"
    )


def test_ages_that_differ_are_reported_by_median_and_longest():
    """One session, or all of one age, has one; of a single one it is not called the longest."""

    def title(*sessions: Session) -> str:
        return found(observed([sessions]))["IdleInTransaction"].title

    stuck = {"state": "idle in transaction"}
    mixed = [s for age_s in (3.0, 12.0, 20.0) for s in crowd(1, int(age_s), state_s=age_s, **stuck)]

    assert "for 12 s (median), 20 s at most" == seen.ages(mixed)
    assert "for less than 1 s" == seen.ages(crowd(2, state_s=0.3))
    assert "1 session holds a transaction open and is idle, for 20 s" == title(*crowd(1, state_s=20.0, **stuck))
    assert "3 sessions hold a transaction open and are idle, for 20 s at most" == title(*mixed)


def test_who_is_to_be_bounded_is_who_was_seen():
    """The user that holds the most is named, quoted; where no name is known, plainly none."""

    def command(*sessions: Session) -> str:
        return found(observed([sessions]))["IdleConnections"].remedies[1].commands[0]

    shop = crowd(40, state_s=70.0, user='shop "eu"') + crowd(20, 2000, state_s=70.0, user="jobs")
    hidden = crowd(60, state_s=70.0, user=None)

    assert 'ALTER ROLE "shop ""eu""" SET idle_session_timeout = \'10min\';' == command(*shop)
    assert "ALTER ROLE <role> SET idle_session_timeout = '10min';" == command(*hidden)


def worked(busy: Sequence[int], per_s: Sequence[float], **changes) -> Observation:
    """Six seconds at each number of sessions at work, with its throughput."""
    glances: list[Glance] = []
    count = 0.0
    for n, rate in zip(busy, per_s, strict=True):
        for step in range(4):
            glances.append(
                db.glance(
                    len(glances) * 2.0 + 0.001 * step,
                    sessions=tuple(crowd(n, state="active", **changes)),
                    transaction_count=int(count),
                )
            )
            count += rate * 2.0
    plain = observed([])
    return msgspec.structs.replace(plain, glances=tuple(glances))


CURVE = [1000 * n / (1 + 0.1 * (n - 1) + 1e-3 * n * (n - 1)) for n in (2, 4, 8, 16, 32, 64)]


def test_more_at_work_than_the_machine_runs_is_reported():
    """
    The curve has 95 % at 18 sessions, found within 5 though spans mix levels; 64 are too many, and
    were seen, so nothing is extrapolated.
    """
    busy = (2, 4, 8, 16, 32, 64, 64, 64, 64, 64)
    cause = found(worked(busy, [*CURVE, *[CURVE[-1]] * 4]))["MoreActiveThanRuns"]

    assert cause.evidence[0].kind == "curve"
    assert 13 <= int(cause.remedies[0].commands[0].rpartition(" ")[2]) <= 23
    assert "extrapolated" not in cause.title
    assert "measured up to 64" in cause.evidence[0].text


def test_work_that_waits_for_storage_has_the_ceilings_knee():
    """Where most wait for I/O, or storage is at its ceiling, the evidence says so."""
    busy = (2, 4, 8, 16, 32, 64, 64, 64, 64, 64)
    rates = [*CURVE, *[CURVE[-1]] * 4]
    waiting = found(worked(busy, rates, wait_event_type="IO"))["MoreActiveThanRuns"]
    full = db.budget(90e6, 0.0, ceiling_bytes_per_s=100e6)
    pegged = found(worked(busy, rates), full)["MoreActiveThanRuns"]
    free = found(worked(busy, rates))["MoreActiveThanRuns"]

    assert [
        any("the curve shows the storage limit" in piece.text for piece in cause.evidence)
        for cause in (waiting, pegged, free)
    ] == [True, True, False]


def test_what_cannot_be_seen_is_named():
    """Hidden states, one glance and an old server each hide something; a full view hides nothing."""
    hidden = observed([[db.session(backend_type=None, state=None)]])
    bare = msgspec.structs.replace(hidden, server=db.server(version_number=130_022))
    whole = observed([crowd(2)] * 2, sessions=1)

    assert {gap.name for gap in missing_of(bare)} == {"samples of sessions", "states of sessions", "session counters"}
    assert missing_of(whole) == ()
    assert above_notes(hidden) == set()


def test_statements_too_short_to_be_caught_are_counted():
    """No glance saw one at work, and the server counted six seconds of work a second."""
    glances = [
        db.glance(2.0 * n, sessions=tuple(crowd(8)), active_s=12.0 * n, transaction_count=9_000 * n) for n in range(4)
    ]
    quiet = msgspec.structs.replace(observed([]), glances=tuple(glances))

    assert seen.busy_between(glances) == pytest.approx(6.0)
    assert [(p.busy, p.per_s) for p in seen.load_points(quiet)] == [(6.0, 4_500.0)]


def test_a_second_between_two_glances_is_enough():
    """Ten seconds of work in one second are ten at work, though a glance caught eight."""
    glances = [db.glance(1.0 * n, sessions=tuple(crowd(8)), active_s=10.0 * n) for n in range(2)]

    assert seen.busy_between(glances) == pytest.approx(10.0)
    assert seen.busy_between(glances[:1]) == seen.mean_count(glances[:1], seen.ACTIVE)


def test_statements_that_have_not_ended_are_caught():
    """Eight are at work in every glance, and no statement has ended yet."""
    glances = [db.glance(2.0 * n, sessions=tuple(crowd(8, state="active")), active_s=5.0) for n in range(4)]

    assert seen.busy_between(glances) == 8.0


def test_connections_that_transactions_hold_are_counted_in_quiet_times():
    """Two at work and three between their statements: 2.5 for each. What an overloaded moment shows does not count."""
    calm = crowd(2, state="active") + crowd(3, 2000, state=seen.IN_TRANSACTION)
    storm = crowd(5, state="active") + crowd(90, 2000, state=seen.IN_TRANSACTION)
    glances = observed([calm] * 6 + [storm] * 6 + [crowd(4)]).glances

    assert pytest.approx(2.5) == seen.taken_ratio(glances)
    assert seen.taken_ratio(glances[:3]) is None
    assert seen.taken_ratio(()) is None
