"""Which partitioned table each partition belongs to, and which partitioned index each of its indexes."""

from collections.abc import Callable, Iterable

import msgspec

from plimsoll.sources.postgres.connect import Rows
from plimsoll.sources.postgres.moment import Moment, replaced


def parents(oids: Iterable[int]) -> str:
    """The topmost parent of each partition among the relations, quoted by the server."""
    listed = ",".join(str(int(oid)) for oid in oids)
    return f"""
select c.oid, pg_catalog.format('%I.%I', n.nspname, r.relname)
from pg_catalog.pg_class c
join pg_catalog.pg_class r on r.oid = pg_catalog.pg_partition_root(c.oid)
join pg_catalog.pg_namespace n on n.oid = r.relnamespace
where c.relispartition and c.oid = any('{{{listed}}}'::pg_catalog.oid[])
"""  # noqa: S608 - numbers


def with_parents(part: Callable[[str, str], Rows | None], moment: Moment) -> Moment:
    """
    The reading with the name of its parent at each partition and each index of one.

    Args:
        part: asks one question; it notes what is refused.
        moment: the last one.
    """
    reading = moment.reading
    tables = {one.oid for one in reading.relations if one.kind == "partition"}
    if not tables:
        return moment
    indexes = {one.oid for one in reading.indexes if one.table_oid in tables}
    told: dict[int, str] = dict(part("partitions", parents(sorted(tables | indexes))) or [])
    return replaced(
        moment,
        relations=tuple(
            msgspec.structs.replace(one, parent=told[one.oid]) if one.oid in told else one
            for one in reading.relations
        ),
        indexes=tuple(
            msgspec.structs.replace(one, parent=told[one.oid]) if one.oid in told else one
            for one in reading.indexes
        ),
    )
