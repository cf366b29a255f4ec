"""
Let a load use a ledger only if none of its code is of others.

Rule 1: whoever may create in a schema may make a relation with the name of the ledger. A trigger, rule, policy, default,
        constraint, index or type of it would run with the rights of the load, and its rows decide what is skipped.
Rule 2: a lock comes first, then the look at the catalogs, in each transaction that reads or writes the ledger.
        While the lock is held, nobody changes what was seen.
Rule 3: the owner of the table is trusted, and so is the owner of its schema, who may exchange the table: their triggers
        run in a load as well.
"""

from typing import Any, NamedTuple

from plimsoll.errors import UsageError
from plimsoll.load.copy.refused import printable
from plimsoll.sources.postgres.statements import loading


class LedgerState(NamedTuple):
    """What is known of a ledger that a load may use."""

    is_old: bool
    """Whether an earlier version made it, without the column for the places of rows."""
    is_ours: bool
    """Whether the role may change it."""


def hold_ledger(connection: Any, ledger: str, table_oid: int, *, is_alone: bool = False) -> LedgerState:
    """
    Lock the ledger for the rest of the transaction, and check that a load may use it.

    Args:
        connection: of psycopg, in a transaction.
        ledger: name with its schema, quoted.
        table_oid: of the table that is loaded.
        is_alone: whether to keep all others away, to change the ledger.

    Raises:
        UsageError: it was dropped, is no table of ours, or has code of others.
    """
    connection.execute(loading.ledger_locked(ledger, is_alone=is_alone).encode())
    return check_ledger(connection, ledger, table_oid)


def check_ledger(connection: Any, ledger: str, table_oid: int) -> LedgerState:
    """
    Check that a load may use a ledger, as `hold_ledger` does, which is what counts.

    Raises:
        UsageError: it was dropped, is no table of ours, or has code of others.
    """
    names = {"ledger": ledger, "table": table_oid}
    row = connection.execute(loading.LEDGER_STATE.encode(), names).fetchone()
    if row is None:
        raise UsageError(
            f"the ledger {ledger} was dropped while the load ran",
            "What was loaded is not known any more: check the table before you load again.",
        )
    faults, owner, table_owner, is_old, is_ours = row
    known = zip(loading.LEDGER_FAULTS, faults, strict=True)
    fault = next((text for text, is_so in known if is_so), None)
    if fault is not None:
        raise UsageError(
            f"{ledger} is no ledger for a load: {fault.format(owner=printable(owner))}",
            f"Nothing of it was used. It must belong to your role, a superuser or the owner of the table ({table_owner}),"
            " and have nothing that Plimsoll did not make. Find out who made or changed it. If it is dropped, Plimsoll"
            " makes a new one, in which nothing is loaded.",
        )
    return LedgerState(is_old=bool(is_old), is_ours=is_ours)
