"""
Decide which statements may be run for EXPLAIN: those that only read.

Rule 1: this refuses early and by name; what holds is the server's read-only transaction.
Rule 2: what a rollback does not undo is refused by name too, for no read-only transaction does.
"""

import re

from plimsoll.model.explain import without_literals

READS = ("select", "values", "table")
WRITES = ("insert", "update", "delete", "merge")

_QUOTED = re.compile(r'"(?:""|[^"])*"')
_WORD = re.compile(r"[()]|[A-Za-z_]\w*")
_WRITING_PART = re.compile(r"\bas\s+(?:not\s+)?(?:materialized\s+)?\(\s*(insert|update|delete|merge)\b", re.IGNORECASE)
_LOCKING = re.compile(r"\bfor\s+(?:no\s+key\s+update|update|key\s+share|share)\b", re.IGNORECASE)
_PARAMETER = re.compile(r"'(?:''|[^'])*'|\"(?:\"\"|[^\"])*\"|\$(\d+)")

# `lateral` and `rows from (…)` name no table themselves.
_FROM = re.compile(
    r"\b(?:from|join|table)\s+(?:(?:only|lateral)\s+)?(?!rows\s+from\b)\(?\s*([a-z_\"][\w.\"]*)", re.IGNORECASE
)
# extract(epoch from stats_reset) reads no table of that name.
_EXTRACT = re.compile(r"\bextract\s*\(\s*\S+\s+from\b", re.IGNORECASE)
_NAMED_PART = re.compile(
    r"(?:\bwith|\brecursive|,)\s+(\w+)\s*(?:\([^)]*\)\s*)?as\s+(?:not\s+)?(?:materialized\s+)?\(", re.IGNORECASE
)
_SYSTEM = ("pg_", "plimsoll_", "information_schema.")
_NO_TABLES = {"unnest", "generate_series", "select", "values"}
# Of any session: `pg_temp_3.f()`. In U&"…" letters can be written as numbers.
_TEMPORARY = re.compile(r"pg_(?:toast_)?temp|\bu&\"", re.IGNORECASE)

# Functions whose effect outlives the transaction (PostgreSQL documentation, "System Administration
# Functions", "Sequence Manipulation Functions", `dblink`), by the beginning of their names; and those
# that write large objects, which a read-only transaction allowed before 16.
LASTING = (
    *("pg_terminate_backend", "pg_cancel_backend", "pg_reload_conf", "pg_rotate_logfile"),
    *("pg_switch_wal", "pg_promote", "pg_create_", "pg_drop_replication", "pg_copy_"),
    *("pg_replication_slot_advance", "pg_replication_origin", "pg_logical_"),
    *("pg_stat_reset", "pg_stat_statements_reset", "pg_backup_", "pg_start_backup"),
    *("pg_stop_backup", "pg_wal_replay_", "pg_advisory_", "pg_try_advisory_", "pg_file_"),
    *("pg_prewarm", "pg_buffercache_evict", "dblink", "setval"),
    *("lo_import", "lo_export", "lo_creat", "lo_unlink", "lo_put", "lo_from_bytea", "lo_truncate"),
    "lowrite",
)


def refusal(statement: str, *, allows_writes: bool) -> str:
    """
    Return the reason why a statement is not run; empty if it may run.

    Args:
        statement: as it was given, one statement.
        allows_writes: whether changes that are rolled back are wanted.
    """
    text = _QUOTED.sub('""', without_literals(statement)).strip().rstrip(";").rstrip()
    kind = kind_of(text)
    if ";" in text:
        return "it is more than one statement"
    if kind in WRITES and not allows_writes:
        return f"it is {'an' if kind[0] in 'iu' else 'a'} {kind.upper()}"
    if kind not in (*READS, *WRITES):
        return f"it is no SELECT, VALUES or TABLE, but begins with '{kind or text[:20]}'"
    lasting = _lasting(text)
    if lasting:
        return f"it calls {lasting}, which does more than a rollback is sure to undo"
    if allows_writes:
        return ""
    if part := _WRITING_PART.search(text):
        return f"a part of it is {part[1].upper()}"
    if _LOCKING.search(text):
        return "it locks rows"
    if "into" in _outside_brackets(text):
        return "it makes a table"
    return ""


def reads_tables(statement: str) -> bool:
    """Return whether it may run and reads more than the system's own views, as we and other watchers do."""
    if refusal(statement, allows_writes=False):
        return False
    text = _EXTRACT.sub("", without_literals(statement))
    no_tables = _NO_TABLES | {name.lower() for name in _NAMED_PART.findall(text)}
    names = (name.lower().replace('"', "") for name in _FROM.findall(text))
    return any(
        name not in no_tables and not name.startswith(_SYSTEM) and not name.rpartition(".")[2].startswith("pg_")
        for name in names
    )


def names_temporary(statement: str) -> bool:
    """Return whether it may name a temporary object, which is found by the name of its schema alone."""
    return _TEMPORARY.search(statement) is not None


def kind_of(statement: str) -> str:
    """Return the command word of a statement in lower case; for WITH that of its main part."""
    words = _WORD.findall(without_literals(statement))
    first = next((word.lower() for word in words if word != "("), "")
    if first != "with":
        return first
    known = (*READS, *WRITES)
    return next((word for word in _outside_brackets(statement) if word in known), "with")


def parameter_count(statement: str) -> int:
    """Return the highest number of `$1`, `$2` …; 0 if there is none."""
    return max((int(m[1]) for m in _PARAMETER.finditer(statement) if m[1]), default=0)


def _outside_brackets(statement: str) -> list[str]:
    depth, found = 0, []
    for word in _WORD.findall(without_literals(statement)):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0 and word != ")":
            found.append(word.lower())
    return found


def _lasting(text: str) -> str:
    for match in re.finditer(r"\b([A-Za-z_]\w*)\s*\(", text):
        name = match[1].lower()
        if name.startswith(LASTING):
            return f"{name}()"
    return ""
