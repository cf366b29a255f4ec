"""
How many connections come, how long they are held, and what became of them.

Arrivals are counted by the server (14 and later); by Little's law the mean time a connection is held is
the mean number open over arrivals per second, and what the glances saw leave confirms it.
"""

from plimsoll.causes.connections import sessions as seen
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.pools.concurrency import mean_duration_s
from plimsoll.units import format_duration, number

# Judgements. A start of a process costs some milliseconds of a core: twenty a second are a tenth of it.
ARRIVALS_PER_S = (5.0, 20.0)
ARRIVALS_MIN = 50
SHORT_S = 10.0
# Connections that ended badly: fewer than these are accidents.
BAD_RATIO = 0.05
BAD_MIN = 5


def arrivals_of(observation: Observation) -> list[Cause]:
    """Return arrivals as a note, many short ones and bad endings as more; nothing where not counted."""
    came = _difference(observation, "sessions")
    if came is None or came <= 0 or observation.seconds <= 0:
        return []
    found = [_short(observation, came), _bad(observation, came)]
    if found[0] is None:
        found.append(_came(observation, came))
    return [cause for cause in found if cause is not None]


def held_s(observation: Observation, came: int) -> float | None:
    """Return how long a connection is held on average; None without glances."""
    open_mean = seen.mean_count(observation.glances)
    return None if open_mean is None else mean_duration_s(open_mean, came / observation.seconds)


def _difference(observation: Observation, name: str) -> int | None:
    before, after = (getattr(r.counters, name) for r in (observation.first, observation.last))
    return None if before is None or after is None or after < before else int(after - before)


def _endings(observation: Observation, came: int) -> tuple[Evidence, ...]:
    """Return what became of them: counted bad endings, those still here, and the rest."""
    # After a crash the window begins again; those who came before it are not among those who came.
    glances = [g for g in observation.glances if g.time_s >= observation.first.time_s]
    bad = {
        name: _difference(observation, f"sessions_{name}") or 0
        for name in ("abandoned", "fatal", "killed")
    }
    grown = len(seen.clients_of(glances[-1])) - len(seen.clients_of(glances[0])) if glances else 0
    orderly = max(came - grown - sum(bad.values()), 0)
    badly = [
        f"{bad[name]:,} {how}"
        for name, how in (
            ("abandoned", "were abandoned by their client"),
            ("fatal", "ended by a fatal error"),
            ("killed", "were ended by an operator"),
        )
        if bad[name]
    ]
    told = "; ".join(
        (
            f"{came:,} came in {format_duration(observation.seconds)}",
            _open_now(grown),
            ", ".join((f"about {orderly:,} left in order", *(badly or ("none otherwise",)))),
        )
    )
    left = sorted(seen.gone_for(glances))
    evidence = [Evidence(kind="arrivals", text=told, value=came / observation.seconds)]
    if left:
        evidence.append(
            Evidence(
                kind="age",
                text=f"{len(left):,} were seen to leave, after {format_duration(left[len(left) // 2])}"
                f" (median), {format_duration(left[-1])} at most",
                value=left[len(left) // 2],
            )
        )
    return tuple(evidence)


def _open_now(grown: int) -> str:
    if not grown:
        return "as many are open as before"
    return f"{abs(grown):,} {'more' if grown > 0 else 'fewer'} are open than before"


def _came(observation: Observation, came: int) -> Cause:
    held = held_s(observation, came)
    each = ""
    if held is not None and held > observation.seconds:
        # Little's law is of a steady state, and who stays longer than we watch shows none.
        each = ", most are held for longer than was watched"
    elif held is not None:
        each = f", held {_about(held)} each (Little's law)"
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ConnectionArrivals",
        severity="note",
        subject="",
        title=f"{number(came / observation.seconds, 2)} connections came per second{each}",
        evidence=_endings(observation, came),
        refuted_by="Sessions of other databases of the server are counted as well.",
    )


def _short(observation: Observation, came: int) -> Cause | None:
    rate, held = came / observation.seconds, held_s(observation, came)
    if came < ARRIVALS_MIN or rate < ARRIVALS_PER_S[0] or held is None or held > SHORT_S:
        return None
    done = seen.transactions_per_s(observation)
    each = f" and runs {number(done / rate, 2)} transactions" if done else ""
    sessions = [s for glance in observation.glances for s in seen.clients_of(glance)]
    young = [s for s in sessions if s.connected_s is not None and s.connected_s <= SHORT_S]
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ShortConnections",
        severity="warning" if rate >= ARRIVALS_PER_S[1] else "note",
        subject=seen.holders(young, count_max=1).partition(" ")[2] if young else "",
        title=f"{number(rate, 3)} connections per second are opened; each lasts {_about(held)}{each}",
        text="Each needs a new process, a login and an empty catalog cache: milliseconds of CPU without"
        " a query.",
        evidence=(
            *_endings(observation, came),
            *((Evidence(kind="sessions", text=f"by {seen.holders(young)}"),) if young else ()),
        ),
        remedies=(
            Remedy(
                text="Keep connections open in the application: use a small pool with a maximum lifetime"
                " of minutes.",
                expected=f"Arrivals fall below {ARRIVALS_PER_S[0]:g} per second.",
            ),
            Remedy(
                text="If processes are short-lived, use a pooler in transaction mode.",
                commands=("pool_mode = transaction", "server_lifetime = 3600"),
            ),
        ),
        refuted_by="Sampled sessions have been connected for minutes.",
    )


def _bad(observation: Observation, came: int) -> Cause | None:
    bad = {
        name: _difference(observation, f"sessions_{name}") or 0
        for name in ("abandoned", "fatal", "killed")
    }
    count = sum(bad.values())
    if count < BAD_MIN or count < BAD_RATIO * came:
        return None
    worst = max(bad, key=lambda name: bad[name])
    why = {
        "abandoned": "Their clients vanished without a word: killed containers, timeouts of clients or of"
        " load balancers, cut connections.",
        "fatal": "The server ended them for a fatal error, as a timeout of idle sessions does.",
        "killed": "Somebody called pg_terminate_backend.",
    }
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="SessionsEndedBadly",
        severity="warning",
        subject="",
        title=f"{count:,} sessions ended badly in {format_duration(observation.seconds)}:"
        f" {bad['abandoned']:,} abandoned, {bad['fatal']:,} fatal, {bad['killed']:,} killed",
        text=why[worst],
        evidence=_endings(observation, came),
        remedies=(
            Remedy(
                text="See who: log endings, and give clients keepalives.",
                commands=(
                    "ALTER SYSTEM SET log_disconnections = on;",
                    "ALTER SYSTEM SET client_connection_check_interval = '10s';",
                    "SELECT pg_reload_conf();",
                ),
            ),
        ),
        refuted_by="The log names a restart or a planned failover at that time.",
    )


def _about(value: float) -> str:
    return format_duration(value) if value >= 10 else f"{number(value, 2)} s"
