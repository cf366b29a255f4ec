"""
Tell which storage parameters a TOAST relation has, and find those that lost the parameters of their table.

Autovacuum takes the whole set of the TOAST relation, or, only if that has no parameter at all, the whole set of its
table (PostgreSQL, autovacuum.c, do_autovacuum and table_recheck_autovac; observed on 15 and 18). So one `toast.`
parameter, whatever it is, drops all of the table's: the rest of its own set is the server's.
Rule: a command that sets a `toast.` parameter repeats what the table has, so that nothing else changes.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation, Relation
from plimsoll.model.diagnosis import Evidence

# What autovacuum reads from the set of a table and a TOAST relation can have as well (PostgreSQL, reloptions.c).
_OF_AUTOVACUUM = ("autovacuum_", "log_autovacuum_min_duration")
_NOT_OF_TOAST = ("autovacuum_analyze_",)
# Judgements: more tables are a list; the rest is counted.
_NAMED_MAX = 5


class _Detached(Struct, frozen=True, kw_only=True):
    table: Relation
    toast: Relation
    lost: Mapping[str, str]
    """Parameters of the table that its TOAST relation does not have."""


def options_of(relation: Relation, table: Relation) -> Mapping[str, str]:
    """Return the parameters that autovacuum takes for a table or its TOAST relation."""
    if relation.oid == table.oid:
        return table.options
    return relation.options or table.options


def is_of_table(relation: Relation, table: Relation) -> bool:
    """Return whether a relation takes the parameters of its table: itself, or a TOAST relation without any."""
    return relation.oid == table.oid or not relation.options


def set_command(relation: Relation, table: Relation, changes: Mapping[str, str]) -> str:
    """Return the command that changes parameters of a table, or of its TOAST relation and nothing else there."""
    if relation.oid == table.oid:
        return _command(table.name, changes, "")
    kept = _inheritable(table) if is_of_table(relation, table) else {}
    return _command(table.name, {**kept, **changes}, "toast.")


def afterwards(relation: Relation, table: Relation, toast: Relation | None) -> str:
    """Return a sentence on what else the command of `set_command` does, with a space before it; empty if nothing."""
    if relation.oid == table.oid:
        takes_them = toast is not None and toast.size_bytes > 0 and is_of_table(toast, table)
        return " Its TOAST relation takes the same values, as it has no parameters of its own." if takes_them else ""
    if not is_of_table(relation, table):
        return " The TOAST relation keeps its other parameters, and none of the table's apply to it."
    kept = sorted(_inheritable(table))
    text = " The TOAST relation then has its own set, and no parameter of the table applies to it any more"
    return f"{text}; the command repeats {', '.join(kept)}." if kept else f"{text}."


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return at most one cause: the TOAST relations that lost parameters of their tables, the largest first."""
    del budget  # Parameters move no bytes by themselves.
    last = {relation.oid: relation for relation in observation.last.relations}
    found = []
    for toast in observation.last.relations:
        table = last.get(toast.owner_oid or 0)
        if table is None or not toast.options or not toast.size_bytes:
            continue
        lost = {k: v for k, v in _inheritable(table).items() if k not in toast.options}
        if lost:
            found.append(_Detached(table=table, toast=toast, lost=lost))
    found.sort(key=lambda one: (-one.toast.size_bytes, one.table.name))
    return (_cause(found),) if found else ()


def _cause(found: Sequence[_Detached]) -> Cause:
    first = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return Cause(
        kind=CauseKind.AUTOVACUUM_SETTINGS,
        code="ToastParametersDetached",
        severity="note",
        subject=first.table.name,
        title=f"Parameters of {first.table.name}{more} do not apply to its TOAST relation, which has its own",
        text="A TOAST relation with any parameter of its own takes none of its table; what it does not have is as the "
        "server has it.",
        evidence=tuple(
            Evidence(
                kind="parameters",
                text=f"{one.table.name}: {_listed(one.lost)} are not those of the TOAST relation, which has "
                f"{_listed(one.toast.options)}",
            )
            for one in found[:_NAMED_MAX]
        ),
        remedies=(
            Remedy(
                text="If they are meant for both, repeat them for the TOAST relation.",
                commands=tuple(_command(one.table.name, one.lost, "toast.") for one in found[:_NAMED_MAX]),
                expected="Autovacuum treats the TOAST relation as the table.",
            ),
        ),
        refuted_by="The TOAST relation is meant to be vacuumed otherwise than its table.",
    )


def is_off(value: str) -> bool:
    """Return whether a switch is off; reloptions keep it as it was written (PostgreSQL, bool.c, parse_bool)."""
    word = value.strip().lower()
    is_short = word not in ("", "o") and any(no.startswith(word) for no in ("off", "false", "no"))
    return is_short or word == "0"


def _inheritable(table: Relation) -> dict[str, str]:
    """Return the parameters of a table that autovacuum would take for its TOAST relation too."""
    return {
        name: value
        for name, value in sorted(table.options.items())
        if name.startswith(_OF_AUTOVACUUM) and not name.startswith(_NOT_OF_TOAST)
    }


def _listed(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in options.items())


def _command(table: str, options: Mapping[str, str], prefix: str) -> str:
    listed = ", ".join(f"{prefix}{name} = {value}" for name, value in options.items())
    return f"ALTER TABLE {table} SET ({listed});"
