"""
Find leaks and storms in the number of connections: a leak rises steadily, a storm at once.

Rule 1: a leak needs at least five glances over at least ten seconds.
Rule 2: a leak still rises at the end. What has stopped was a pool that filled.
"""

from itertools import pairwise

from plimsoll.causes.connections import sessions as seen
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Glance, Observation, Session
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_clock, format_duration, format_ratio, number

# Judgements. A leak: idle connections of one holder that rarely fall, and grew by at least five and by half.
LEAK_GLANCES_MIN = 5
LEAK_S_MIN = 10.0
LEAK_GROWTH_MIN = 5
LEAK_GROWTH_RATIO = 1.5
LEAK_RISING_RATIO = 0.9
# A judgement: a leak goes on, while a pool that fills stops at its minimum. So the last third of the time has at least
# half of its share of the growth, a sixth of it.
LEAK_LAST_TIME = 1 / 3
LEAK_LAST_RATIO = LEAK_LAST_TIME / 2
# A judgement: if connections run out within an hour, somebody must act now.
SOON_S = 3600.0
# Judgements. A storm: within 15 s connections grow by half, by at least 20, and by a tenth of the usable ones.
STORM_S = 15.0
STORM_RATIO = 1.5
STORM_MIN = 20
STORM_SHARE = 0.1


def patterns(observation: Observation) -> list[Cause]:
    """Return a leak or a storm, or neither."""
    most = seen.usable_connections(observation)
    storm = _storm(observation.glances, most, observation.server.connection_max)
    leak = None if storm else _leak(observation.glances, most)
    return [cause for cause in (storm, leak) if cause is not None]


def sizing_command(connection_max: int) -> str:
    """Return the command that sizes pools for this server; the reader fills in the services."""
    return f"plimsoll pool-size --services N --containers N --pool N --max-connections {connection_max}"


def _leak(glances: tuple[Glance, ...], most: int) -> Cause | None:
    elapsed_s = glances[-1].time_s - glances[0].time_s
    if len(glances) < LEAK_GLANCES_MIN or elapsed_s < LEAK_S_MIN:
        return None
    idle = [seen.in_state(glance, seen.IDLE) for glance in glances]
    keys = sorted({_key(s) for s in idle[-1]})
    best = max(keys, key=lambda key: _count(idle[-1], key) - _count(idle[0], key), default=None)
    if best is None:
        return None
    counts = [_count(sessions, best) for sessions in idle]
    grown = counts[-1] - counts[0]
    steps = [b - a for a, b in pairwise(counts)]
    # A connection that is at work for a moment is not gone, so all of the holder's are looked at.
    all_counts = [_count(seen.clients_of(glance), best) for glance in glances]
    rising = sum(b >= a for a, b in pairwise(all_counts)) / len(steps)
    # If half of the growth came in one step, a pool was opened; that is not a leak.
    is_steady = max(steps) <= grown / 2
    if grown < LEAK_GROWTH_MIN or counts[-1] < LEAK_GROWTH_RATIO * max(counts[0], 1):
        return None
    if rising < LEAK_RISING_RATIO or not is_steady:
        return None
    if counts[-1] - counts[_place_of_last(glances)] < LEAK_LAST_RATIO * grown:
        return None
    rate = grown / elapsed_s
    left_s = max(most - len(seen.clients_of(glances[-1])), 0) / rate
    theirs = [s for s in idle[-1] if _key(s) == best]
    taken = sum(s.user == theirs[0].user for s in seen.clients_of(glances[-1]))
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ConnectionLeak",
        severity="critical" if left_s <= SOON_S else "warning",
        subject=seen.holder_of(theirs[0]),
        title=f"Idle connections of {seen.holder_of(theirs[0])} rise steadily: {counts[0]:,} to"
        f" {counts[-1]:,} in {format_duration(elapsed_s)}",
        text=f"At {number(rate * 60, 2)} per minute the server is full in {format_duration(left_s)}."
        " Connections are opened and never closed, or a pool has no maximum.",
        evidence=(
            Evidence(
                kind="sessions",
                text=f"{format_ratio(rising)} of {len(steps)} steps between samples did not fall",
                value=float(counts[-1]),
                reference=float(counts[0]),
            ),
            Evidence(kind="age", text=f"idle {seen.ages(theirs)}"),
        ),
        remedies=(
            Remedy(text="Close connections on every code path. Give the pool a maximum and leak detection."),
            Remedy(
                text="Until then, limit the connections of this user.",
                commands=(f"ALTER ROLE {seen.role_of(theirs)} CONNECTION LIMIT {taken};",),
                expected="Others can still connect.",
            ),
        ),
        refuted_by="The number stops at the pool's maximum.",
    )


def _place_of_last(glances: tuple[Glance, ...]) -> int:
    """Return the last glance before the last third of the time begins."""
    begins_s = glances[-1].time_s - LEAK_LAST_TIME * (glances[-1].time_s - glances[0].time_s)
    return max(n for n, glance in enumerate(glances) if glance.time_s <= begins_s)


def _storm(glances: tuple[Glance, ...], most: int, connection_max: int) -> Cause | None:
    counts = [len(seen.clients_of(glance)) for glance in glances]
    best: tuple[int, int, int] | None = None
    for start, first in enumerate(glances):
        for end in range(start + 1, len(glances)):
            if glances[end].time_s - first.time_s > STORM_S:
                break
            rise = counts[end] - counts[start]
            if best is None or rise > best[0]:
                best = (rise, start, end)
    if best is None:
        return None
    rise, start, end = best
    if rise < max(STORM_MIN, STORM_SHARE * most) or counts[end] < STORM_RATIO * counts[start]:
        return None
    before = {s.pid for s in seen.clients_of(glances[start])}
    new = [s for s in seen.clients_of(glances[end]) if s.pid not in before]
    took_s = glances[end].time_s - glances[start].time_s
    share = counts[end] / most
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ConnectionStorm",
        severity="critical" if share >= seen.NEAR_MAX[0] else "warning",
        subject=seen.holders(new, count_max=1).partition(" ")[2],
        title=f"Connections rose from {counts[start]:,} to {counts[end]:,} within {format_duration(took_s)}",
        text="When queries slow down, the pools of all services open more connections at once, and the new"
        " sessions slow queries further. Every container has its own pool.",
        evidence=(
            Evidence(
                kind="sessions",
                text=f"{len(new):,} new: {seen.holders(new)}",
                value=float(counts[end]),
                reference=float(counts[start]),
            ),
            *_states_after(glances, start, end),
            Evidence(kind="time", text=f"at {format_clock(glances[start].time_s)} UTC"),
        ),
        remedies=(
            Remedy(
                text="Limit the total of all pools to what the machine can run.",
                commands=(sizing_command(connection_max),),
                expected="Clients wait in the pools, where waiting costs little.",
            ),
            Remedy(text="Set the pools' minimum near their maximum, or use a pooler."),
        ),
        refuted_by="A planned deployment or job started at that time.",
    )


def _states_after(glances: tuple[Glance, ...], start: int, end: int) -> tuple[Evidence, ...]:
    """Return how the number of sessions in each state changed."""
    changes = [
        f"{len(seen.in_state(glances[start], state)):,} to {len(seen.in_state(glances[end], state)):,} {state}"
        for state in seen.STATES
        if seen.in_state(glances[end], state)
    ]
    return (Evidence(kind="sessions", text=", ".join(changes)),) if changes else ()


def _key(session: Session) -> tuple[str, str, str]:
    return session.user or "", session.application or "", session.address or ""


def _count(sessions: list[Session], key: tuple[str, str, str]) -> int:
    return sum(_key(session) == key for session in sessions)
