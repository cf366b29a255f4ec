"""
Ask whether a table still has the rows of which its ledger says that they were loaded.

Rule 1: only files of this run count. A table that is emptied between loads of other files is nobody's question.
Rule 2: an empty table has none of them. A file of the table that is another one now (TRUNCATE, VACUUM FULL, CLUSTER,
        ALTER TABLE) proves nothing: rows of the same transactions in it do, because no other command keeps them.
Rule 3: what is not known is asked: status 2, with the statement for either answer. Rows that were deleted while others
        stay are the business of whoever did it.

Source:
    PostgreSQL documentation, "System Columns" (xmin), pg_relation_filenode; rewriteheap.c keeps xmin.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.sources.postgres.statements import loading
from plimsoll.sources.postgres.statements.loading import literal

# PostgreSQL's page as it is built by default; on others the sample is only larger or smaller.
_PAGE_BYTES = 8192
# Pages that are looked at for rows: 8 MiB, which a volume reads at its baseline within some seconds.
_SAMPLE_PAGES = 1000
# More partitions than these are not looked at one by one.
_LOOKS_MOST = 16
_NAMES_MOST = 5

Look = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]] | None]
"""Asks the server about the table; None if the role may not read it, or it takes too long."""


class Claim(Struct, frozen=True):
    """What an entry says to be in the table."""

    identity: str
    row_count: int
    stored_in: str
    """Relations and their files, `oid/node` with spaces between; empty if not known."""
    xid: str
    """The transaction that wrote it and its rows."""


class Leaf(Struct, frozen=True):
    """A relation that has rows of the table: itself, or a partition."""

    place: str
    """`oid/node`."""
    name: str
    """With its schema, quoted."""
    size_bytes: int | None
    estimate: int | None
    """Rows by the statistics; None if they say nothing."""

    @property
    def oid(self) -> str:
        """Return what stays if its file is exchanged."""
        return self.place.partition("/")[0]


class LoadedInto(Struct, frozen=True, kw_only=True):
    """What the questions name."""

    table: str
    """With its schema, quoted."""
    oid: int
    ledger: str
    is_partitioned: bool
    files: dict[str, str]
    """Names by identity."""

    @property
    def part(self) -> str:
        """Return what COPY fills."""
        return loading.part_of(self.table, is_partitioned=self.is_partitioned)

    def where(self, claims: Sequence[Claim]) -> str:
        """Return the condition for entries of the files."""
        found = {claim.identity for claim in claims}
        if len(found) > _NAMES_MOST:
            return f"target_oid = {self.oid}"
        names = ", ".join(literal(one) for one in sorted(found))
        return f"target = {literal(self.table)} AND identity IN ({names})"

    def named(self, claims: Sequence[Claim]) -> str:
        """Return rows and files in words."""
        names = [self.files[one] for one in dict.fromkeys(claim.identity for claim in claims)]
        more = f" and {len(names) - 1:,} more files" if len(names) > 1 else ""
        return f"{sum(claim.row_count for claim in claims):,} rows of '{names[0]}'{more}"


def check_kept(claims: Sequence[Claim], leaves: Sequence[Leaf], look: Look, of: LoadedInto) -> None:
    """
    Check that rows of the files are in the table, as far as it can be known.

    Args:
        claims: what the ledger says of the files, without entries of no row.
        leaves: the table, or its partitions.
        look: asks about the table.
        of: what the questions name.

    Raises:
        UsageError: they are not, or it is not known.
    """
    if not claims:
        return
    empty = _empty(leaves, look, of.part)
    if empty:
        raise _asked(
            f"{of.table} {empty}, but by the ledger {of.named(claims)} are in it",
            "Load all again with --truncate, or these alone after",
            f"DELETE FROM {of.ledger} WHERE {of.where(claims)};",  # noqa: S608 - printed
            claims,
            of,
        )
    now = {leaf.place for leaf in leaves}
    by_oid = {leaf.oid: leaf for leaf in leaves}
    absent: dict[str, list[Claim]] = {}
    for claim in claims:
        for place in set(claim.stored_in.split()) - now:
            absent.setdefault(place, []).append(claim)
    for number, (place, lost) in enumerate(sorted(absent.items())):
        leaf = by_oid.get(place.partition("/")[0])
        if leaf is None:
            raise _asked(
                f"a partition of {of.table} that has rows of '{of.files[lost[0].identity]}' was dropped or detached",
                "Other rows of the file may be in other partitions",
                "Load all again with --truncate.",
                lost,
                of,
            )
        if number >= _LOOKS_MOST or not _has_rows_of(lost, leaf, look):
            raise _rewritten(leaf, lost, of)


def _empty(leaves: Sequence[Leaf], look: Look, part: str) -> str:
    """Return in words that a table has no rows, and how that is known; nothing if it has some or it is not known."""
    size = sum(leaf.size_bytes or 0 for leaf in leaves)
    if not size:
        return "is empty"
    rows = look(loading.sample(part), ([], _percent(size)))
    if rows is None:
        estimates = [leaf.estimate for leaf in leaves if leaf.size_bytes]
        return "is empty by its statistics" if set(estimates) == {0} else ""
    if rows[0][0]:
        return ""
    found = look(loading.any_row(part), ())
    if found is None:
        return "has no row that was found within 10 s"
    return "" if found[0][0] else "is empty"


def _has_rows_of(claims: Sequence[Claim], leaf: Leaf, look: Look) -> bool:
    """Return whether a relation is seen to have rows of the transactions that wrote these entries."""
    part = loading.part_of(leaf.name, is_partitioned=False)
    xids = [claim.xid for claim in claims]
    rows = look(loading.sample(part), (xids, _percent(leaf.size_bytes or 0)))
    return bool(rows and rows[0][1])


def _percent(size_bytes: int) -> float:
    """Return the part of a table's pages to look at, in percent."""
    return min(100.0 * _SAMPLE_PAGES * _PAGE_BYTES / max(size_bytes, 1), 100.0)


def _rewritten(leaf: Leaf, claims: Sequence[Claim], of: LoadedInto) -> UsageError:
    files, where = of.named(claims), of.where(claims)
    there = f"UPDATE {of.ledger} SET stored_in = NULL WHERE {where};"  # noqa: S608 - printed
    again = (
        "load all again with --truncate."
        if of.is_partitioned
        else f"DELETE FROM {of.ledger} WHERE {where} AND stored_in <> {literal(leaf.place)};"  # noqa: S608 - printed
    )
    return _asked(
        f"{leaf.name} was emptied or rewritten since {files} were loaded, and whether they are in it is not known",
        f"Look into the table. If they are (VACUUM FULL, CLUSTER or ALTER TABLE rewrote it): {there}"
        " If they are not (TRUNCATE)",
        again,
        claims,
        of,
    )


def _asked(message: str, hint: str, statement: str, claims: Sequence[Claim], of: LoadedInto) -> UsageError:
    """Return the question, with what to do if the rows are gone on purpose."""
    gone = f"UPDATE {of.ledger} SET row_count = 0 WHERE {of.where(claims)};"  # noqa: S608 - printed
    return UsageError(message, f"{hint}: {statement} If they were removed on purpose and shall not come back: {gone}")
