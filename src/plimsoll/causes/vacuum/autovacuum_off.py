"""
Find disabled autovacuum: for the whole server, reported once, or for single large tables.

The effect comes later. Dead rows are never removed, and transaction IDs are used up until the server starts
vacuums to prevent wraparound, whatever the setting.
Rule: a setting without effect yet is a note; it is a warning once rows die.
"""

from collections.abc import Sequence

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.vacuum.autovacuum_settings import SettingCase, cases_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import number

# Judgements: more tables are a list; the rest is counted.
_REPORTED_MAX = 5
_NAMED_MAX = 5


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return one cause if it is off for the server, else one for each large table where it is off."""
    del budget  # A setting moves no bytes by itself.
    off = _switch(observation)
    if off:
        return (_of_server(observation, off),)
    tables: dict[int, list[SettingCase]] = {}
    for case in cases_of(observation):
        if not case.trigger.is_enabled:
            tables.setdefault(case.table.oid, []).append(case)
    found = sorted(tables.values(), key=lambda cases: (-_dead_rows(cases), cases[0].table.name))
    causes_found = [_of_table(cases) for cases in found[:_REPORTED_MAX]]
    if len(found) > _REPORTED_MAX:
        causes_found.append(_rest(found[_REPORTED_MAX:]))
    return ranked(causes_found)


def _switch(observation: Observation) -> str:
    """Return the setting that disables autovacuum on the server; empty if it is enabled."""
    settings = observation.server.settings
    for name in ("autovacuum", "track_counts"):
        if settings.get(name) == "off":
            return name
    return ""


def _of_server(observation: Observation, setting: str) -> Cause:
    worst = sorted(observation.last.relations, key=lambda r: (-r.dead_rows, r.name))
    dead = sum(relation.dead_rows for relation in worst)
    holding = [relation for relation in worst if relation.dead_rows]
    names = ", ".join(f"{number(r.dead_rows)} in {r.name}" for r in holding[:_NAMED_MAX])
    counted = f": {number(dead)} dead rows are in this database" if dead else ""
    return Cause(
        kind=CauseKind.AUTOVACUUM_SETTINGS,
        code="AutovacuumOff",
        severity="warning",
        subject="",
        title=f"autovacuum is off for the whole server ({setting} = off){counted}",
        text="Dead rows and their index entries stay, tables and indexes grow, and planner statistics "
        "become stale. Transaction IDs are used up too: at autovacuum_freeze_max_age the server "
        "vacuums every old table, whatever this setting.",
        evidence=(Evidence(kind="rows", text=names, value=float(dead)),) if names else (),
        remedies=(
            Remedy(
                text="Enable it. It vacuums every table above its trigger; its cost limits keep it slow.",
                settings=((setting, "on"),),
                expected="Vacuums of tables above their trigger begin within autovacuum_naptime.",
            ),
        ),
        refuted_by="Another job vacuums every table: last_vacuum in pg_stat_user_tables is recent.",
    )


def _of_table(cases: Sequence[SettingCase]) -> Cause:
    """Return the cause for a table, its TOAST relation or both; one command re-enables them."""
    table, dead = cases[0].table, _dead_rows(cases)
    is_due = any(case.dead_per_s or case.relation.dead_rows >= case.dead_now for case in cases)
    parts = ", ".join(
        f"{number(case.relation.dead_rows)} in the {'TOAST relation' if case.is_toast else 'table'}" for case in cases
    )
    return Cause(
        kind=CauseKind.AUTOVACUUM_SETTINGS,
        code="AutovacuumDisabled",
        severity="warning" if is_due else "note",
        subject=table.name,
        title=f"autovacuum is off for {table.name}: {number(dead)} dead rows",
        text=f"Dead rows: {parts}. A TOAST relation takes the parameters of its table, unless it has any "
        "parameter of its own.",
        remedies=(
            Remedy(
                text="Enable autovacuum for the table and its TOAST relation.",
                commands=(f"ALTER TABLE {table.name} RESET (autovacuum_enabled, toast.autovacuum_enabled);",),
                expected=f"A vacuum at {number(cases[0].dead_now)} dead rows.",
            ),
        ),
        refuted_by="Another job vacuums it: its last_vacuum in pg_stat_user_tables is recent.",
    )


def _rest(tables: Sequence[Sequence[SettingCase]]) -> Cause:
    dead = sum(_dead_rows(cases) for cases in tables)
    names = ", ".join(cases[0].table.name for cases in tables[:_NAMED_MAX])
    return Cause(
        kind=CauseKind.AUTOVACUUM_SETTINGS,
        code="AutovacuumDisabled",
        severity="note",
        subject="",
        title=f"autovacuum is off for {len(tables)} more tables, for example {names}: {number(dead)} dead rows",
        refuted_by="Another job vacuums them.",
    )


def _dead_rows(cases: Sequence[SettingCase]) -> int:
    return sum(case.relation.dead_rows for case in cases)
