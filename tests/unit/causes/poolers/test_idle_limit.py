"""Clients that Pgpool-II cuts off while they are idle, in simulated sessions and readings."""

import pytest
from msgspec.structs import replace

import databases as db
from plimsoll.causes.poolers.poolers import causes
from plimsoll.model.database import PoolerReading
from unit.causes.poolers.test_poolers import cached, pgpool

LIMIT_S = 4
STEP_S = 1.0
CLIENTS = 5


def readings(connected: list[int], limit_s: int) -> tuple[PoolerReading, ...]:
    """Children with a cached connection each, of which so many have a client at each second."""
    moments = [[cached(n, None if n < count else 1.0, age_s=60.0) for n in range(CLIENTS)] for count in connected]
    settings = {
        "client_idle_limit": str(limit_s),
        "connection_life_time": "60",
        "num_init_children": "32",
        "max_pool": "1",
    }
    return tuple(replace(one, settings=settings) for one in pgpool(*moments, version="4.3.5", every_s=STEP_S))


def codes(idle_s: list[float], connected: list[int], limit_s: int = LIMIT_S) -> set[str]:
    """What is found where all sessions have been idle for these times at each second."""
    glances = tuple(
        db.glance(n * STEP_S, sessions=tuple(db.session(pid=100 + k, state_s=idle) for k in range(CLIENTS)))
        for n, idle in enumerate(idle_s)
    )
    observation = db.observation(
        db.reading(),
        db.reading(db.START_S + 60),
        db.server(connection_max=500),
        glances=glances,
        poolers=readings(connected, limit_s),
    )
    return {cause.code for cause in causes(observation, db.budget())}


def test_clients_that_think_for_longer_are_cut():
    """After 4 s all are idle anew, because Pgpool-II resets them, and their client is gone."""
    found = codes([0.5, 1.5, 2.5, 3.5, 0.4, 1.4, 2.4], [5, 5, 5, 5, 0, 0, 0])

    assert "ClientsCutWhileIdle" in found
    # What was seen says more than the setting alone.
    assert not {"IdleLimitCutsClients", "IdleLimitContradicts"} & found


@pytest.mark.parametrize(
    ("idle_s", "connected"),
    [
        # They think for 2 s.
        ([0.5, 1.5, 0.5, 1.5, 0.5, 1.5, 0.5], [5] * 7),
        # They query again after 4 s, and keep their clients.
        ([0.5, 1.5, 2.5, 3.5, 0.4, 1.4, 2.4], [5] * 7),
        # Clients left by themselves, after 1.5 s.
        ([0.5, 1.5, 0.4, 1.4, 2.4, 3.4, 4.4], [5, 5, 0, 0, 0, 0, 0]),
        # Only two were cut: a coincidence.
        ([0.5, 1.5, 2.5, 3.5, 0.4, 1.4, 2.4], [5, 5, 5, 5, 3, 3, 3]),
    ],
)
def test_others_are_not(idle_s: list[float], connected: list[int]):
    """Both signs are needed, three times each."""
    assert "ClientsCutWhileIdle" not in codes(idle_s, connected)


def test_a_limit_that_nobody_comes_near_is_not_mentioned():
    """It was watched for longer than the limit, and the longest thought is far below."""
    short, near = [0.5, 1.5] * 4, [0.5, 1.5, 2.5, 3.5] * 2

    assert not {code for code in codes(short, [5] * 8) if "IdleLimit" in code}
    assert "IdleLimitCutsClients" in codes(near, [5] * 8)
    # Not watched for long enough to know.
    assert "IdleLimitCutsClients" in codes(short, [5] * 8, limit_s=20)


def test_cached_connections_without_a_client_say_nothing_about_clients():
    """The setting stays a note while some are free."""
    assert "IdleLimitCutsClients" in codes([0.5, 1.5] * 4, [4] * 8)
