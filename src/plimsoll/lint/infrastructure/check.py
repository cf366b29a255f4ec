"""
Check declared databases against every rule, before and after the change.

Rule 1: a rule runs only if everything that it needs is known; otherwise a note says what is missing.
Rule 2: nothing is assumed that the file does not say. A finding with a price names the region.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.lint.infrastructure.monitoring import MONITORING
from plimsoll.lint.infrastructure.provisioned import PROVISIONED
from plimsoll.lint.infrastructure.rule import RuleEntry, RuleInput
from plimsoll.lint.infrastructure.steady import HISTORY_S_LEAST, STEADY, covered_s
from plimsoll.lint.infrastructure.storage import STORAGE
from plimsoll.model.infrastructure import (
    Attribute,
    ChangeEffect,
    DatabaseKind,
    DeclaredDatabase,
    DeclaredFinding,
    DeclaredState,
    LintRule,
)
from plimsoll.model.severity import SEVERITIES
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import format_duration

# A judgement: the first ones show the pattern, and a plan can have hundreds.
_LISTED_MAX = 3

_ENTRIES: tuple[RuleEntry, ...] = (*PROVISIONED, *STORAGE, *STEADY, *MONITORING)

RULES: tuple[LintRule, ...] = tuple(entry.rule for entry in _ENTRIES)
"""All rules, in the order in which findings of one severity are listed."""


def check_databases(
    databases: tuple[DeclaredDatabase, ...], catalog: Catalog, histories: Mapping[str, Snapshot] | None = None
) -> tuple[tuple[DeclaredFinding, ...], tuple[str, ...]]:
    """
    Return the findings, the most severe first, and notes on what could not be checked.

    Args:
        databases: from one or several files.
        catalog: limits and prices.
        histories: metrics by the address of their database.
    """
    found: list[DeclaredFinding] = []
    notes: dict[str, list[str]] = {}
    for database in databases:
        history = (histories or {}).get(database.address)
        found += _findings_of(database, catalog, history)
        for note in _notes_of(database, catalog, history):
            notes.setdefault(note, []).append(database.address)
    order = {rule.code: place for place, rule in enumerate(RULES)}
    found.sort(key=lambda f: (SEVERITIES.index(f.severity), order[f.code]))
    return tuple(found), tuple(f"{note} ({_listed(places)})" for note, places in notes.items())


def _listed(addresses: list[str]) -> str:
    """Return the first addresses, and the number of the others."""
    more = len(addresses) - _LISTED_MAX
    first = ", ".join(addresses[:_LISTED_MAX])
    return f"{first} and {more} more" if more > 0 else first


def _findings_of(database: DeclaredDatabase, catalog: Catalog, history: Snapshot | None) -> Iterator[DeclaredFinding]:
    is_new_storage = database.before is None or (database.before.instance.storage != database.after.instance.storage)
    for entry in _ENTRIES:
        if database.kind not in entry.kinds:
            continue
        before = (
            ()
            if database.before is None
            else _run(entry, database.kind, database.before, catalog, history, is_new_storage=False)
        )
        for one in _run(entry, database.kind, database.after, catalog, history, is_new_storage=is_new_storage):
            yield replace(
                one,
                address=database.address,
                file=database.file,
                line=database.line,
                effect=_effect(entry, database, one, before),
            )


def _run(
    entry: RuleEntry,
    kind: DatabaseKind,
    state: DeclaredState,
    catalog: Catalog,
    history: Snapshot | None,
    *,
    is_new_storage: bool,
) -> tuple[DeclaredFinding, ...]:
    if not state.knows(*entry.needs(state)) or (entry.needs_history and history is None):
        return ()
    return tuple(
        entry.check(RuleInput(kind=kind, state=state, catalog=catalog, history=history, is_new_storage=is_new_storage))
    )


def _effect(
    entry: RuleEntry, database: DeclaredDatabase, now: DeclaredFinding, before: tuple[DeclaredFinding, ...]
) -> ChangeEffect:
    if not database.has_before:
        return ChangeEffect.UNKNOWN
    was = database.before
    if was is None:
        return ChangeEffect.INTRODUCES
    if not was.knows(*entry.needs(was)):
        return ChangeEffect.UNKNOWN
    if not before:
        return ChangeEffect.INTRODUCES
    is_worse = now.excess > max(one.excess for one in before)
    return ChangeEffect.WORSENS if is_worse else ChangeEffect.KEEPS


def _notes_of(database: DeclaredDatabase, catalog: Catalog, history: Snapshot | None) -> Iterator[str]:
    state = database.after
    unchecked: dict[str, list[str]] = {}
    for entry in _ENTRIES:
        if database.kind not in entry.kinds or (entry.needs_history and history is None):
            continue
        for attribute in entry.needs(state):
            if attribute in state.unknown:
                unchecked.setdefault(state.unknown[attribute], []).append(entry.rule.code)
    by_codes: dict[tuple[str, ...], list[str]] = {}
    for reason, codes in unchecked.items():
        by_codes.setdefault(tuple(codes), []).append(reason)
    for together, reasons in by_codes.items():
        yield f"{', '.join(reasons)}; not checked: {', '.join(together)}"
    db_class = state.instance.db_class
    is_rated = database.kind is not DatabaseKind.AURORA_INSTANCE
    if is_rated and db_class is not None and state.knows(Attribute.DB_CLASS):
        if not catalog.knows(db_class):
            yield f"the catalog has no class '{db_class}', so its limits are not known"
        elif catalog.instance_limits(db_class).ebs_burst_ops_per_s is None:
            yield f"no EBS limits are documented for {db_class}"
    if history is not None and covered_s(history) < HISTORY_S_LEAST:
        yield (
            f"the history covers {format_duration(covered_s(history))}, and a "
            f"steady load needs {format_duration(HISTORY_S_LEAST)}"
        )
