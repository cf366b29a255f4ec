"""Find the partitioned table of each partition, and the partitioned index of each of its indexes."""

from collections.abc import Callable

import msgspec

from plimsoll.sources.postgres.connect import Rows
from plimsoll.sources.postgres.moment import ServerReading, replaced
from plimsoll.sources.postgres.statements.inspection import parents


def with_parents(part: Callable[[str, str], Rows | None], moment: ServerReading) -> ServerReading:
    """
    Return the reading with the name of its parent at each partition and each index of one.

    Args:
        part: asks one question; it notes what is refused.
        moment: the last one.
    """
    reading = moment.reading
    tables = {one.oid for one in reading.relations if one.kind == "partition"}
    if not tables:
        return moment
    indexes = {one.oid for one in reading.indexes if one.table_oid in tables}
    parent_of: dict[int, str] = dict(part("partitions", parents(sorted(tables | indexes))) or [])
    return replaced(
        moment,
        relations=tuple(
            msgspec.structs.replace(one, parent=parent_of[one.oid]) if one.oid in parent_of else one
            for one in reading.relations
        ),
        indexes=tuple(
            msgspec.structs.replace(one, parent=parent_of[one.oid]) if one.oid in parent_of else one
            for one in reading.indexes
        ),
    )
