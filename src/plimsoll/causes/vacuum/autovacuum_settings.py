"""
Find large tables whose autovacuum settings do not fit their use.

A vacuum starts at `threshold + scale_factor × rows` dead rows. With the default of a fifth, a table of
hundreds of millions of rows collects tens of millions of dead ones, and then reads and writes for hours.
TOAST relations have their own triggers; `toast_options.py` knows whose parameters they take.
"""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.growth import setting_of
from plimsoll.causes.vacuum.classes import FITS, Fit, Use, use_of
from plimsoll.causes.vacuum.pace import pace_of
from plimsoll.causes.vacuum.toast_options import afterwards, is_of_table, is_off, options_of, set_command
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation, Relation
from plimsoll.model.diagnosis import Evidence, Missing
from plimsoll.model.postgres import CHUNKS_PER_PAGE
from plimsoll.units import format_duration, number

# Smaller tables are vacuumed in seconds whatever the settings; judgements.
_LARGE_ROWS = 100_000
_LARGE_BYTES = 100 * 1024**2
# A trigger below twice the fitting one is not worth a change. A judgement.
_TOO_LATE = 2.0
# Judgements: a vacuum of half an hour, or of ten million dead rows, deserves a warning.
_LONG_S = 1800.0
_MANY_ROWS = 10_000_000
# A judgement: more findings are a list; the rest is counted.
_REPORTED_MAX = 10
# A server-wide cap on the trigger, from 18 on.
_HAS_CAP = 180_000

_SOURCES = (
    "Salsify, Discovering RDS throughput limits (2021): 0.2/50 by default, 0.01/50 for long-lived rows "
    "written often, 0/5000 for insert-then-delete; PostgreSQL 18 caps the trigger at 100,000,000 rows "
    "(autovacuum_vacuum_max_threshold, 2025), RDS ships a scale factor of 0.1"
)


class Trigger(Struct, frozen=True, kw_only=True):
    """When autovacuum starts for a relation."""

    scale_factor: float
    threshold: float
    cap: float | None
    is_enabled: bool
    origin: str
    """Where the scale factor comes from: `server`, `table`, `TOAST`."""

    def dead_rows(self, rows: float) -> float:
        """Return dead rows at which a vacuum starts."""
        at = self.threshold + self.scale_factor * rows
        return min(at, self.cap) if self.cap is not None else at


class SettingCase(Struct, frozen=True, kw_only=True):
    """A large table or TOAST relation, with its trigger and its use."""

    relation: Relation
    table: Relation
    use: Use
    trigger: Trigger
    rows: float
    dead_per_s: float | None

    @property
    def is_toast(self) -> bool:
        """Whether the relation is a TOAST relation."""
        return self.relation.owner_oid is not None

    @property
    def subject(self) -> str:
        """The table's name, with `(TOAST)` for its TOAST relation."""
        return f"{self.table.name} (TOAST)" if self.is_toast else self.table.name

    @property
    def fit(self) -> Fit:
        """Return the settings that fit its use."""
        return FITS[self.use]

    @property
    def dead_now(self) -> float:
        """Dead rows at the configured trigger."""
        return self.trigger.dead_rows(self.rows)

    @property
    def dead_then(self) -> float:
        """Dead rows at the trigger that fits."""
        return self.fit.threshold + self.fit.scale_factor * self.rows

    def interval_s(self, dead_rows: float) -> float | None:
        """Return seconds between two vacuums at this trigger; None if no rows die."""
        return dead_rows / self.dead_per_s if self.dead_per_s else None


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return large tables whose settings do not fit, those with the most dead rows at the trigger first."""
    del budget  # Settings move no bytes by themselves.
    unfit = [case for case in cases_of(observation) if not _fits(case)]
    unfit.sort(key=lambda case: (-case.dead_now, case.subject))
    found = [_cause(observation, case) for case in unfit[:_REPORTED_MAX]]
    if len(unfit) > _REPORTED_MAX:
        found.append(_rest(unfit[_REPORTED_MAX:]))
    return ranked(found)


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """Return the missing data of this detector."""
    if setting_of(observation, "autovacuum_vacuum_scale_factor") is not None:
        return ()
    return (
        Missing(
            name="autovacuum settings",
            hides="whether autovacuum's settings fit the tables",
            remedy="GRANT pg_read_all_settings, or pg_monitor.",
        ),
    )


def trigger_of(observation: Observation, relation: Relation, table: Relation) -> Trigger | None:
    """Return when autovacuum starts for a table or its TOAST relation; None if settings are unknown."""
    scale_factor = setting_of(observation, "autovacuum_vacuum_scale_factor")
    threshold = setting_of(observation, "autovacuum_vacuum_threshold")
    if scale_factor is None or threshold is None:
        return None
    options = options_of(relation, table)
    origin = "server"
    if "autovacuum_vacuum_scale_factor" in options:
        scale_factor = float(options["autovacuum_vacuum_scale_factor"])
        origin = "table" if is_of_table(relation, table) else "TOAST"
    threshold = float(options.get("autovacuum_vacuum_threshold", threshold))
    return Trigger(
        scale_factor=scale_factor,
        threshold=threshold,
        cap=_cap(observation, options),
        is_enabled=_is_enabled(observation, options),
        origin=origin,
    )


def _cap(observation: Observation, options: Mapping[str, str]) -> float | None:
    if observation.server.version_number < _HAS_CAP:
        return None
    cap = setting_of(observation, "autovacuum_vacuum_max_threshold")
    cap = float(options.get("autovacuum_vacuum_max_threshold", cap if cap is not None else -1))
    return cap if cap >= 0 else None


def _is_enabled(observation: Observation, options: Mapping[str, str]) -> bool:
    # A server-wide off applies to every table.
    if observation.server.settings.get("autovacuum", "on") == "off":
        return False
    return not is_off(options.get("autovacuum_enabled", "on"))


def cases_of(observation: Observation) -> list[SettingCase]:
    """Return every large table and TOAST relation."""
    last = {relation.oid: relation for relation in observation.last.relations}
    first = {relation.oid: relation for relation in observation.first.relations}
    reset_s = observation.last.counters.reset_s
    counted_s = observation.last.time_s - reset_s if reset_s is not None else None
    found = []
    for relation in observation.last.relations:
        table = last.get(relation.owner_oid) if relation.owner_oid is not None else relation
        if table is None or relation.kind == "materialized view":
            continue
        trigger = trigger_of(observation, relation, table)
        use = use_of(table, counted_s=counted_s)
        if trigger is None or not _is_large(relation, use):
            continue
        known = relation.row_estimate is not None and relation.row_estimate > 0
        found.append(
            SettingCase(
                relation=relation,
                table=table,
                use=use,
                trigger=trigger,
                rows=float(relation.row_estimate or 0) if known else float(relation.live_rows),
                dead_per_s=_dead_per_s(first.get(relation.oid), relation, observation.seconds, counted_s),
            )
        )
    return found


def _is_large(relation: Relation, use: Use) -> bool:
    """Return whether a vacuum of it takes long; for a queue, whether many rows were deleted."""
    if relation.rows >= _LARGE_ROWS:
        return True
    if use == Use.INSERT_THEN_DELETE and relation.deleted >= _LARGE_ROWS:
        return True
    return relation.size_bytes >= _LARGE_BYTES


def _dead_per_s(before: Relation | None, after: Relation, seconds: float, counted_s: float | None) -> float | None:
    """Return dead rows per second in the window; if none died in it, since the counters began."""
    if before is not None and seconds > 0:
        died = after.updated + after.deleted - before.updated - before.deleted
        if died > 0:
            return died / seconds
    died = after.updated + after.deleted
    return died / counted_s if counted_s and counted_s > 0 and died > 0 else None


def _fits(case: SettingCase) -> bool:
    """Return whether the trigger fits the use well enough."""
    # If autovacuum is off for the table, `autovacuum_off` reports it.
    if not case.trigger.is_enabled:
        return True
    if case.use in {Use.DEFAULT, Use.APPEND_ONLY}:
        return True
    return case.dead_now <= _TOO_LATE * case.dead_then


def _cause(observation: Observation, case: SettingCase) -> Cause:
    now_s = _lasting_s(observation, case, case.dead_now)
    title = (
        f"autovacuum waits for {number(case.dead_now, 3)} dead rows in {case.subject}; "
        f"{number(case.dead_then, 3)} suit {case.use.value}"
    )
    is_grave = case.dead_now >= _MANY_ROWS
    return Cause(
        kind=CauseKind.AUTOVACUUM_SETTINGS,
        code="AutovacuumTooLate",
        severity="warning" if is_grave or (now_s or 0.0) >= _LONG_S else "note",
        subject=case.subject,
        title=title,
        text=_text(case),
        evidence=_evidence(observation, case, now_s),
        remedies=(_remedy(observation, case),),
        refuted_by="Its vacuums already run as often as with the smaller trigger, and are short.",
    )


def _text(case: SettingCase) -> str:
    counts = case.table
    text = (
        f"Used as: {case.use.value} (since counters began {counts.inserted:,} inserts, "
        f"{counts.updated:,} updates, {counts.deleted:,} deletes of the table)."
    )
    if case.is_toast:
        text += (
            " The TOAST relation has its own count of dead rows, and takes the table's parameters unless "
            "it has any of its own."
        )
    return text


def _evidence(observation: Observation, case: SettingCase, now_s: float | None) -> tuple[Evidence, ...]:
    trigger = case.trigger
    found = [
        Evidence(
            kind="trigger",
            text=f"{trigger.threshold:g} + {trigger.scale_factor:g} × {number(case.rows)} rows "
            f"({trigger.origin}) = {number(case.dead_now)} dead rows; "
            f"{case.fit.threshold} + {case.fit.scale_factor:g} × rows = {number(case.dead_then)}",
            value=case.dead_now,
            reference=case.dead_then,
        )
    ]
    every = case.interval_s(case.dead_now)
    if every is not None and case.dead_per_s is not None:
        found.append(
            Evidence(
                kind="interval",
                text=f"at {number(case.dead_per_s, 3)} dead rows/s it runs every {format_duration(every)}",
                value=every,
                reference=case.interval_s(case.dead_then),
            )
        )
    if now_s is not None:
        found.append(
            Evidence(
                kind="duration",
                text=f"within its cost limits it then lasts {format_duration(now_s)} at least",
                value=now_s,
                reference=_lasting_s(observation, case, case.dead_then),
            )
        )
    found.append(Evidence(kind="source", text=_SOURCES))
    return tuple(found)


def _remedy(observation: Observation, case: SettingCase) -> Remedy:
    fit = case.fit
    changes = {
        "autovacuum_vacuum_scale_factor": f"{fit.scale_factor:g}",
        "autovacuum_vacuum_threshold": f"{fit.threshold}",
    }
    toast = next((r for r in observation.last.relations if r.oid == case.table.toast_oid), None)
    every = case.interval_s(case.dead_then)
    lasts = _lasting_s(observation, case, case.dead_then)
    effects = [f"a vacuum at {number(case.dead_then)} dead rows instead of {number(case.dead_now)}"]
    if every is not None:
        effects.append(f"every {format_duration(every)}")
    if lasts is not None:
        effects.append(f"lasting at least {format_duration(lasts)}")
    return Remedy(
        text="Run autovacuum earlier, with less work each time. The statement takes SHARE UPDATE "
        "EXCLUSIVE: reads and writes continue, but it waits for a running vacuum."
        f"{afterwards(case.relation, case.table, toast)}",
        commands=(set_command(case.relation, case.table, changes),),
        expected=", ".join(effects),
    )


def _lasting_s(observation: Observation, case: SettingCase, dead_rows: float) -> float | None:
    """
    Return the least duration of a vacuum of so many dead rows within its cost limits; None if unknown.

    It reads and dirties pages with dead rows, reads all pages of the indexes, and skips pages that are all
    visible. Dead rows are assumed to be at random places; the chunks of one value are adjacent.
    """
    block_bytes = observation.server.block_bytes
    options = options_of(case.relation, case.table)
    pace = pace_of(observation.server.settings, options, block_bytes=block_bytes)
    if pace is None:
        return None
    pages = case.relation.size_bytes / block_bytes
    places = dead_rows / (CHUNKS_PER_PAGE if case.is_toast else 1)
    touched = pages * -math.expm1(-places / pages) if pages else 0.0
    of_indexes = sum(
        index.size_bytes / block_bytes for index in observation.last.indexes if index.table_oid == case.relation.oid
    )
    return pace.seconds_of(touched + of_indexes, touched)


def _rest(cases: Sequence[SettingCase]) -> Cause:
    names = ", ".join(case.subject for case in cases[:5])
    return Cause(
        kind=CauseKind.AUTOVACUUM_SETTINGS,
        code="AutovacuumTooLate",
        severity="note",
        subject="",
        title=f"autovacuum's settings do not fit {len(cases)} more tables, for example {names}",
        refuted_by="They are vacuumed often enough.",
    )
