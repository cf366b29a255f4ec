"""
Transaction ids and multixacts that run out: from a certain age on the server refuses every write.

Ids are 32 bits wide, so that two thousand million of them lie ahead of the oldest one that is in use. A vacuum
freezes old rows and so moves the oldest on. At `autovacuum_freeze_max_age` the server starts such vacuums
by itself, at `vacuum_failsafe_age` it does so without regard to anybody, and three million before the end it
stops giving out ids (PostgreSQL 14 and later, varsup.c, multixact.c).

How long that takes at the present rate is what is left, divided by the ids that were given out between the two
readings. It changes no severity: a window of seconds may be the busiest or the calmest of the week.
"""

from collections.abc import Sequence

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.growth import setting_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.standing import DatabaseAge, TableAge
from plimsoll.units import format_duration, format_ratio, number

# Half of all ids are ahead and half behind; of those ahead the last three million are not given out.
_IDS = 2**31
_KEPT = 3_000_000
# Defaults of PostgreSQL 14 to 18.
_FREEZE_MAX_AGE = {"autovacuum_freeze_max_age": 200e6, "autovacuum_multixact_freeze_max_age": 400e6}
_FAILSAFE_AGE = 1.6e9
# At once the freeze age a vacuum begins; at twice of it vacuums do not get through. A judgement.
_BEHIND = 2.0
_TABLES_MOST = 3
_DAY_S = 86_400
# Ids come one by one: of n that were counted, chance alone changes the rate by 1/√n, a third at ten. A judgement.
_IDS_LEAST = 10


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return at most one cause for transaction ids and one for multixacts, of the database that is nearest to the end."""
    del budget  # Ids are no bytes.
    standing = observation.standing
    if standing is None or not standing.databases:
        return ()
    found = [
        _cause(
            observation,
            max(standing.databases, key=lambda one: one.xid_age),
            standing.oldest_tables or (),
            is_multixact=False,
        ),
        _cause(
            observation,
            max(standing.databases, key=lambda one: one.multixact_age),
            standing.oldest_multixact_tables or (),
            is_multixact=True,
        ),
    ]
    return ranked([cause for cause in found if cause is not None])


def _cause(
    observation: Observation, worst: DatabaseAge, tables: Sequence[TableAge], *, is_multixact: bool
) -> Cause | None:
    age = worst.multixact_age if is_multixact else worst.xid_age
    names = [
        f"{'autovacuum_multixact' if is_multixact else 'autovacuum'}_freeze_max_age",
        f"vacuum_{'multixact_' if is_multixact else ''}failsafe_age",
    ]
    freeze = setting_of(observation, names[0]) or _FREEZE_MAX_AGE[names[0]]
    failsafe = setting_of(observation, names[1]) or _FAILSAFE_AGE
    # However late a server was told to act, so few ids are left then.
    grave = min(failsafe, _FAILSAFE_AGE)
    if age < min(_BEHIND * freeze, grave):
        return None
    what = "multixact ids" if is_multixact else "transaction ids"
    left = max(_IDS - _KEPT - age, 0)
    database = observation.server.place.rpartition("/")[2]
    is_here = worst.name == database
    given = _given_out(observation, is_multixact=is_multixact)
    left_s = _left_s(left, given, observation.seconds)
    lasts = f", {_days(left_s)} at the present rate" if left_s is not None else ""
    return Cause(
        kind=CauseKind.WRAPAROUND,
        code="MultixactWraparoundNear" if is_multixact else "WraparoundNear",
        severity="critical" if age >= grave else "warning",
        subject=worst.name,
        title=f"Database {worst.name} has used {format_ratio(age / _IDS)} of its {what}: {number(left)} "
        f"are left until the server refuses every write{lasts}",
        text=f"Its oldest id is {number(age)} old; vacuums that freeze begin at {number(freeze)}. They have "
        "not run, were cancelled, or something holds the oldest id back.",
        evidence=(
            Evidence(
                kind="age",
                text=f"{names[0]} = {number(freeze)}, {names[1]} = {number(failsafe)}",
                value=float(age),
                reference=float(_IDS - _KEPT),
            ),
            _rate(given, left_s, observation.seconds, what),
            *(_oldest(tables) if is_here else ()),
            *_holding(observation, age, is_multixact=is_multixact),
        ),
        remedies=_remedies(worst, tables if is_here else ()),
        refuted_by="The age in pg_database falls while you watch: a vacuum is getting through.",
    )


def _given_out(observation: Observation, *, is_multixact: bool) -> int | None:
    """Return ids that were given out between the readings; None where that is not known."""
    first, last = observation.first, observation.last
    if is_multixact:
        if first.multixact_age is None or last.multixact_age is None:
            return None
        given = (last.multixact_age - first.multixact_age) % 2**32
    else:
        if first.next_xid is None or last.next_xid is None:
            return None
        given = last.next_xid - first.next_xid
    # After a crash a few that nobody had used yet are given out again.
    return given if 0 <= given < _IDS else None


def _left_s(left: int, given: int | None, seconds: float) -> float | None:
    """Return how long the rest lasts at the rate of the window; None where too few were seen to tell."""
    if given is None or given < _IDS_LEAST or seconds <= 0:
        return None
    return left / (given / seconds)


def _days(seconds: float) -> str:
    """Return `17 days`; below two days `31 h 5 min`."""
    days = seconds / _DAY_S
    return f"{number(round(days))} days" if days >= 2 else format_duration(seconds)


def _rate(given: int | None, left_s: float | None, seconds: float, what: str) -> Evidence:
    if given is None:
        return Evidence(
            kind="time left",
            text=f"how many {what} are used a second is unknown, and so is how long the rest lasts",
        )
    if left_s is None:
        return Evidence(
            kind="time left",
            text=f"{number(given)} {what} were used in {format_duration(seconds)}: too few to say how long "
            "the rest lasts",
        )
    return Evidence(
        kind="time left",
        text=f"{number(given / seconds)} {what} a second in {format_duration(seconds)}: at this rate the "
        f"rest lasts {_days(left_s)}",
        value=left_s,
    )


def _oldest(tables: Sequence[TableAge]) -> tuple[Evidence, ...]:
    named = ", ".join(f"{one.name} ({number(one.age)})" for one in tables[:_TABLES_MOST])
    return (Evidence(kind="tables", text=f"the oldest tables: {named}"),) if named else ()


def _holding(observation: Observation, age: int, *, is_multixact: bool) -> tuple[Evidence, ...]:
    """Return what keeps the oldest id where it is, where something was seen that does."""
    standing = observation.standing
    if standing is None or is_multixact:
        return ()
    # What is as old as half of the age is a part of the reason.
    held = [
        *(
            f"process {one.pid}, {one.state or 'state hidden'} ({number(one.xid_age)})"
            for one in standing.holders or ()
            if one.xid_age >= age / 2
        ),
        *(
            f"replication slot {one.name} ({number(max(one.xmin_age or 0, one.catalog_xmin_age or 0))})"
            for one in standing.slots or ()
            if max(one.xmin_age or 0, one.catalog_xmin_age or 0) >= age / 2
        ),
        *(
            f"prepared transaction '{one.gid}' ({number(one.xid_age)})"
            for one in standing.prepared or ()
            if one.xid_age >= age / 2
        ),
    ]
    if observation.server.settings.get("autovacuum") == "off":
        held.append("autovacuum is off")
    return (Evidence(kind="held", text=f"held back by: {', '.join(held)}"),) if held else ()


def _remedies(worst: DatabaseAge, tables: Sequence[TableAge]) -> tuple[Remedy, ...]:
    end = Remedy(
        text="End first what holds the oldest id back: old transactions, prepared ones, slots that nobody "
        "reads. No vacuum gets past them."
    )
    if not worst.takes_connections:
        return (
            end,
            Remedy(
                text=f"Nobody can connect to {worst.name}; autovacuum freezes it, if it is on.",
                commands=("ALTER SYSTEM SET autovacuum = on;", "SELECT pg_reload_conf();"),
            ),
        )
    commands = tuple(f"VACUUM (FREEZE, VERBOSE) {one.name};" for one in tables[:_TABLES_MOST])
    return (
        end,
        Remedy(
            text=f"Then freeze the oldest tables in {worst.name}, as their owner or a superuser, without "
            "the limits of autovacuum.",
            commands=("SET vacuum_cost_delay = 0;", *(commands or ("VACUUM (FREEZE, VERBOSE);",))),
            expected="age(datfrozenxid) falls to vacuum_freeze_min_age when the last of them is done.",
        ),
    )
