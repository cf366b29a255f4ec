"""
Find databases near the end of their transaction IDs or multixacts, where the server refuses writes.

IDs have 32 bits, so two billion follow the oldest one in use. A vacuum freezes old rows and so advances the
oldest ID. At `autovacuum_freeze_max_age` the server starts such vacuums, at `vacuum_failsafe_age` they ignore
cost limits, and three million IDs before the end it assigns no more (PostgreSQL 14 and later, varsup.c,
multixact.c).

The time left is the remaining IDs divided by the rate between the two readings. It does not change the
severity: a window of seconds may be the busiest or the quietest of the week.
"""

from collections.abc import Sequence

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.growth import setting_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.postgres import FAILSAFE_AGE, FREEZE_MAX_AGE, MULTIXACT_FREEZE_MAX_AGE
from plimsoll.model.standing import DatabaseAge, TableAge
from plimsoll.units import format_duration, format_ratio, number

# Half of all IDs are ahead of the oldest one; the server does not assign the last three million of them.
_IDS = 2**31
_KEPT = 3_000_000
# A judgement: vacuums begin at the freeze age; at twice that age they evidently do not complete.
_BEHIND = 2.0
_TABLES_MOST = 3
_DAY_S = 86_400
# A judgement: with n counted IDs chance changes the rate by 1/√n, which is a third at ten.
_IDS_LEAST = 10


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return at most one cause for transaction IDs and one for multixacts, of the database nearest to the end."""
    del budget  # IDs have no bytes.
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
    default = MULTIXACT_FREEZE_MAX_AGE if is_multixact else FREEZE_MAX_AGE
    freeze = setting_of(observation, names[0]) or default
    failsafe = setting_of(observation, names[1]) or FAILSAFE_AGE
    # Even with a later failsafe setting, few IDs are left at its default.
    grave = min(failsafe, FAILSAFE_AGE)
    if age < min(_BEHIND * freeze, grave):
        return None
    what = "multixact IDs" if is_multixact else "transaction IDs"
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
        text=f"Its oldest ID is {number(age)} IDs old; freezing vacuums begin at {number(freeze)}. They did "
        "not run or were canceled, or something keeps the oldest ID from advancing.",
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
        refuted_by="The age in pg_database falls within minutes, because a vacuum completes.",
    )


def _given_out(observation: Observation, *, is_multixact: bool) -> int | None:
    """Return the number of IDs assigned between the readings; None if unknown."""
    first, last = observation.first, observation.last
    if is_multixact:
        if first.multixact_age is None or last.multixact_age is None:
            return None
        given = (last.multixact_age - first.multixact_age) % 2**32
    else:
        if first.next_xid is None or last.next_xid is None:
            return None
        given = last.next_xid - first.next_xid
    # After a crash the server assigns a few unused IDs again, so the difference can be negative.
    return given if 0 <= given < _IDS else None


def _left_s(left: int, given: int | None, seconds: float) -> float | None:
    """Return how long the remaining IDs last at the rate of the window; None if too few were assigned."""
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
            kind="time left", text=f"the rate at which {what} are used is unknown, and so is how long the rest lasts"
        )
    if left_s is None:
        return Evidence(
            kind="time left",
            text=f"{number(given)} {what} were used in {format_duration(seconds)}: too few to tell how long "
            "the rest lasts",
        )
    return Evidence(
        kind="time left",
        text=f"{number(given / seconds)} {what} per second in {format_duration(seconds)}: at this rate the "
        f"rest lasts {_days(left_s)}",
        value=left_s,
    )


def _oldest(tables: Sequence[TableAge]) -> tuple[Evidence, ...]:
    named = ", ".join(f"{one.name} ({number(one.age)})" for one in tables[:_TABLES_MOST])
    return (Evidence(kind="tables", text=f"the oldest tables: {named}"),) if named else ()


def _holding(observation: Observation, age: int, *, is_multixact: bool) -> tuple[Evidence, ...]:
    """Return what keeps the oldest ID from advancing, if known."""
    standing = observation.standing
    if standing is None or is_multixact:
        return ()
    # A judgement: whatever has at least half of the age contributes.
    blockers = [
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
        blockers.append("autovacuum is off")
    return (Evidence(kind="held", text=f"blocked by: {', '.join(blockers)}"),) if blockers else ()


def _remedies(worst: DatabaseAge, tables: Sequence[TableAge]) -> tuple[Remedy, ...]:
    end = Remedy(
        text="First end what keeps the oldest ID from advancing: old or prepared transactions, unused "
        "replication slots. No vacuum can freeze newer rows."
    )
    if not worst.takes_connections:
        return (
            end,
            Remedy(
                text=f"{worst.name} accepts no connections; autovacuum freezes it, if it is on.",
                settings=(("autovacuum", "on"),),
            ),
        )
    commands = tuple(f"VACUUM (FREEZE, VERBOSE) {one.name};" for one in tables[:_TABLES_MOST])
    return (
        end,
        Remedy(
            text=f"Then freeze the oldest tables in {worst.name}, as their owner or a superuser, without cost limits.",
            commands=("SET vacuum_cost_delay = 0;", *(commands or ("VACUUM (FREEZE, VERBOSE);",))),
            expected="age(datfrozenxid) falls to vacuum_freeze_min_age when the last of them is done.",
        ),
    )
