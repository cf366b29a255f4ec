"""
Report clients that Pgpool-II cuts off because they are idle for longer than `client_idle_limit`.

The setting alone does no harm: clients that think for a shorter time never meet it. So it is judged by behaviour.

Rule 1: clients were cut if cached connections lost their client between readings, and sessions at the server ended, or
        began a new idle time, after one as long as the limit. Pgpool-II ends a session whose client is gone, or resets it.
Rule 2: the setting is harmless if the sessions were watched for longer than the limit, and none came near it.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from plimsoll.causes.connections import sessions as seen
from plimsoll.lint.settings import Settings, seconds
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import CachedServer, Glance, Observation, PoolerReading
from plimsoll.model.diagnosis import Evidence

HIDDEN = frozenset({"IdleLimitCutsClients", "IdleLimitContradicts"})
"""Findings of lint about the setting, which say less than what was seen."""
# A judgement: two clients may have left by themselves at that moment; three did not.
CUT_MIN = 3
# A judgement: most idle times that ended did so at the limit.
CUT_SHARE = 0.5
# A tolerance: Pgpool-II counts whole seconds, and a busy machine is late.
SPARE_S = 1.5
SPARE_RATIO = 0.25
# The server's clock and ours differ by less.
_CLOCK_S = 0.2
# A judgement: a client that thinks for four fifths of the limit will sometimes think for all of it.
NEAR_RATIO = 0.8


class _IdleTime(NamedTuple):
    """The length of an idle time; of a session that has ended only its bounds are known."""

    least_s: float
    most_s: float


def limit_s(settings: Settings) -> float:
    """Return `client_idle_limit` in seconds; 0 if there is none."""
    return settings.number("client_idle_limit") or 0.0


def cut(readings: Sequence[PoolerReading], settings: Settings, observation: Observation) -> list[Cause]:
    """Return a finding if clients were cut off while they were idle."""
    limit, last = limit_s(settings), readings[-1]
    if limit <= 0:
        return []
    lost = sum(_lost(a, b) for a, b in pairwise(readings))
    users = {server.user for reading in readings for server in reading.cached}
    times = _ended_idle_s(observation.glances, users, limit - _CLOCK_S)
    most = limit + SPARE_S + SPARE_RATIO * limit
    ended = [one for one in times if one.most_s >= limit - _CLOCK_S and one.least_s <= most]
    # Clients that leave by themselves do so after any time.
    if min(lost, len(ended)) < CUT_MIN or len(ended) < CUT_SHARE * len(times):
        return []
    longest = max(one.least_s for one in ended)
    return [
        Cause(
            kind=CauseKind.POOLER,
            code="ClientsCutWhileIdle",
            severity="warning",
            subject=last.place,
            title=f"client_idle_limit = {seconds(limit)} ended {len(ended):,} connections of clients that think for longer",
            text="The application pools still count these connections as theirs. The next query on one fails or waits for a "
            "new connection, and each new connection may start a new backend.",
            evidence=(
                Evidence(
                    kind="age",
                    text=f"{len(ended):,} of {len(times):,} idle sessions that ended or were reset did so at the limit,"
                    f" the longest after {longest:.1f} s",
                    value=longest,
                    reference=limit,
                ),
                Evidence(
                    kind="pool",
                    text=f"{lost:,} cached connections lost their client between {len(readings):,} readings",
                    value=float(lost),
                ),
                settings.settings_evidence("client_idle_limit"),
            ),
            remedies=(
                Remedy(
                    text="Make the limit longer than clients think, or remove it.",
                    commands=("client_idle_limit = 0",),
                    expected="Idle times at the server pass this limit, and clients keep their connections.",
                ),
                Remedy(
                    text="Or make every application pool close idle connections sooner, for example with HikariCP's "
                    "idleTimeout and a smaller minimumIdle."
                ),
            ),
            refuted_by="The log of Pgpool-II does not say 'client idle limit reached'.",
        )
    ]


def is_harmless(readings: Sequence[PoolerReading], settings: Settings, observation: Observation) -> bool:
    """Return whether all clients thought for clearly less than the limit, while it could have been met."""
    limit, glances = limit_s(settings), observation.glances
    users = {server.user for reading in readings for server in reading.cached}
    if limit <= 0 or not users or not glances:
        return False
    if glances[-1].time_s - glances[0].time_s < limit:
        return False
    # Cached connections without a client may be idle for as long as they like.
    free = max(sum(not server.is_connected for server in r.cached) for r in readings)
    idle = sorted(
        (
            session.state_s or 0.0
            for glance in glances
            for session in seen.in_state(glance, seen.IDLE)
            if session.user in users
        ),
        reverse=True,
    )
    return free == 0 and (not idle or idle[0] < NEAR_RATIO * limit)


def _lost(before: PoolerReading, after: PoolerReading) -> int:
    """Return how many cached connections had a client, and have none in the next reading, or are gone with it."""
    had = {_key(server) for server in before.cached if server.is_connected}
    return len(had - {_key(server) for server in after.cached if server.is_connected})


def _key(server: CachedServer) -> tuple[int, str, str, int]:
    return server.child_pid, server.database, server.user, server.backend


def _ended_idle_s(glances: Sequence[Glance], users: set[str], least_s: float) -> list[_IdleTime]:
    """
    Return idle times that may have ended with the client.

    Args:
        glances: in order of time.
        users: of the sessions.
        least_s: of a session that is idle anew, shorter ones do not count: its client has queried again.
    """
    found = []
    for before, after in pairwise(glances):
        step_s = after.time_s - before.time_s
        now = {s.pid: s for s in seen.clients_of(after)}
        for session in seen.in_state(before, seen.IDLE):
            idle_s, again = session.state_s, now.get(session.pid)
            if session.user not in users or idle_s is None:
                continue
            if again is None:
                found.append(_IdleTime(idle_s, idle_s + step_s))
            elif again.state == seen.IDLE and again.state_s is not None and again.state_s < step_s:
                # It began anew so long ago.
                whole_s = idle_s + step_s - again.state_s
                if whole_s > idle_s and whole_s >= least_s:
                    found.append(_IdleTime(whole_s, whole_s))
    return found
