"""
Report how many connections are opened, how long they stay open, and how they end.

The server counts new connections (PostgreSQL 14 and later). By Little's law the mean time a connection is
open is the mean number of open ones divided by new ones per second. Sessions that ended between glances
confirm it.
"""

from plimsoll.causes.connections import sessions as seen
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.pools.concurrency import mean_duration_s
from plimsoll.units import format_duration, number

# Judgements. The start of a process costs some milliseconds of a core: 20 per second take a tenth of it.
ARRIVALS_PER_S = (5.0, 20.0)
ARRIVALS_MIN = 50
SHORT_S = 10.0
# Judgements: fewer connections that end abnormally are accidents.
BAD_RATIO = 0.05
BAD_MIN = 5


def arrivals_of(observation: Observation) -> list[Cause]:
    """Return findings about new connections; nothing if the server does not count them."""
    came = _difference(observation, "sessions")
    if came is None or came <= 0 or observation.seconds <= 0:
        return []
    found = [_short(observation, came), _bad(observation, came)]
    if found[0] is None:
        found.append(_came(observation, came))
    return [cause for cause in found if cause is not None]


def mean_open_s(observation: Observation, came: int) -> float | None:
    """Return the mean time a connection is open; None without glances."""
    open_mean = seen.mean_count(observation.glances)
    return None if open_mean is None else mean_duration_s(open_mean, came / observation.seconds)


def _difference(observation: Observation, name: str) -> int | None:
    before, after = (getattr(r.counters, name) for r in (observation.first, observation.last))
    return None if before is None or after is None or after < before else int(after - before)


def _endings(observation: Observation, came: int) -> tuple[Evidence, ...]:
    """Return how new connections ended, by the counters and the glances."""
    # After a crash the counters begin again, so sessions from before it are not among the counted ones.
    glances = [g for g in observation.glances if g.time_s >= observation.first.time_s]
    bad = {name: _difference(observation, f"sessions_{name}") or 0 for name in ("abandoned", "fatal", "killed")}
    grown = len(seen.clients_of(glances[-1])) - len(seen.clients_of(glances[0])) if glances else 0
    orderly = max(came - grown - sum(bad.values()), 0)
    badly = [
        f"{bad[name]:,} {how}"
        for name, how in (
            ("abandoned", "lost their client"),
            ("fatal", "ended with a fatal error"),
            ("killed", "were terminated by an operator"),
        )
        if bad[name]
    ]
    text = "; ".join(
        (
            f"{came:,} were opened in {format_duration(observation.seconds)}",
            _open_now(grown),
            ", ".join((f"about {orderly:,} ended normally", *(badly or ("none abnormally",)))),
        )
    )
    left = sorted(seen.ended_ages_s(glances))
    evidence = [Evidence(kind="arrivals", text=text, value=came / observation.seconds)]
    if left:
        evidence.append(
            Evidence(
                kind="age",
                text=f"{len(left):,} sampled sessions ended, {format_duration(left[len(left) // 2])} old (median),"
                f" {format_duration(left[-1])} at most",
                value=left[len(left) // 2],
            )
        )
    return tuple(evidence)


def _open_now(grown: int) -> str:
    if not grown:
        return "as many are open as before"
    return f"{abs(grown):,} {'more' if grown > 0 else 'fewer'} are open than before"


def _came(observation: Observation, came: int) -> Cause:
    open_s = mean_open_s(observation, came)
    each = ""
    if open_s is not None and open_s > observation.seconds:
        # Little's law needs a steady state, which a window shorter than a session does not show.
        each = "; most stay open longer than the window"
    elif open_s is not None:
        each = f"; each stays open for {_about(open_s)} (Little's law)"
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ConnectionArrivals",
        severity="note",
        subject="",
        title=f"{number(came / observation.seconds, 2)} connections were opened per second{each}",
        evidence=_endings(observation, came),
        refuted_by="The counter also covers the server's other databases.",
    )


def _short(observation: Observation, came: int) -> Cause | None:
    rate, open_s = came / observation.seconds, mean_open_s(observation, came)
    if came < ARRIVALS_MIN or rate < ARRIVALS_PER_S[0] or open_s is None or open_s > SHORT_S:
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
        title=f"{number(rate, 3)} connections per second are opened; each lasts {_about(open_s)}{each}",
        text="Each needs a new process, a login and an empty catalog cache: milliseconds of CPU before the"
        " first query.",
        evidence=(
            *_endings(observation, came),
            *((Evidence(kind="sessions", text=f"by {seen.holders(young)}"),) if young else ()),
        ),
        remedies=(
            Remedy(
                text="Keep connections open in the application: use a small pool with a maximum lifetime of minutes.",
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
    bad = {name: _difference(observation, f"sessions_{name}") or 0 for name in ("abandoned", "fatal", "killed")}
    count = sum(bad.values())
    if count < BAD_MIN or count < BAD_RATIO * came:
        return None
    worst = max(bad, key=lambda name: bad[name])
    why = {
        "abandoned": "Their clients disappeared without closing the connection: killed containers, timeouts of"
        " clients or load balancers, network failures.",
        "fatal": "The server ended them with a fatal error, for example an idle session timeout.",
        "killed": "An operator called pg_terminate_backend.",
    }
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="SessionsEndedBadly",
        severity="warning",
        subject="",
        title=f"{count:,} sessions ended abnormally in {format_duration(observation.seconds)}:"
        f" {bad['abandoned']:,} abandoned, {bad['fatal']:,} fatal, {bad['killed']:,} killed",
        text=why[worst],
        evidence=_endings(observation, came),
        remedies=(
            Remedy(
                text="Log the ends of sessions to see whose they are, and configure TCP keepalives in the clients.",
                settings=(("log_disconnections", "on"), ("client_connection_check_interval", "10s")),
            ),
        ),
        refuted_by="The log names a restart or a planned failover at that time.",
    )


def _about(value: float) -> str:
    return format_duration(value) if value >= 10 else f"{number(value, 2)} s"
