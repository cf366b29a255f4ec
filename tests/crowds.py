"""Sessions of clients in simulated glances, and what is found about them."""

from collections.abc import Sequence

import msgspec

import databases as db
from plimsoll.causes.connections.connections import causes
from plimsoll.model.cause import Cause
from plimsoll.model.database import Observation, Session


def crowd(count: int, first_pid: int = 1000, **changes) -> list[Session]:
    """So many sessions that do nothing, with process ids of their own."""
    return [db.session(pid=first_pid + n, **changes) for n in range(count)]


def observed(rows: Sequence[Sequence[Session]], *, every_s: float = 2.0, info=None, **counted) -> Observation:
    """Glances every two seconds; `counted` are the counters' differences over the whole minute."""
    glances = tuple(db.glance(n * every_s, sessions=tuple(sessions)) for n, sessions in enumerate(rows))
    after = {"sessions": 0, "sessions_abandoned": 0, "sessions_fatal": 0, "sessions_killed": 0}
    zero = db.counters(**dict.fromkeys(after, 0))
    return db.observation(
        db.reading(counters=zero),
        db.reading(db.START_S + db.WINDOW_S, counters=msgspec.structs.replace(zero, **(after | counted))),
        info,
        glances=glances,
    )


def found(observation: Observation, budget=None) -> dict[str, Cause]:
    """Causes about connections by their code."""
    return {cause.code: cause for cause in causes(observation, budget or db.budget())}
