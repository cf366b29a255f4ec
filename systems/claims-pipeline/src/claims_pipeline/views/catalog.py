"""What the database's catalog says about views: what each is made from, and how it can be refreshed."""

from dataclasses import dataclass
from graphlib import TopologicalSorter

from psycopg import Connection

# A view is a rule that rewrites queries; the rule depends on all that the view selects from. Whoever selects from one
# partition depends on changes of the whole table.
_EDGES = """
SELECT DISTINCT rule.ev_class, coalesce(pg_partition_root(depends.refobjid)::oid, depends.refobjid)
  FROM pg_depend AS depends
  JOIN pg_rewrite AS rule ON rule.oid = depends.objid
  JOIN pg_class AS source ON source.oid = depends.refobjid
 WHERE depends.classid = 'pg_rewrite'::regclass AND depends.refclassid = 'pg_class'::regclass
   AND depends.refobjid <> rule.ev_class AND source.relkind IN ('r', 'p', 'f', 'm', 'v')
"""
# REFRESH … CONCURRENTLY wants a unique index over plain columns and all rows, that is valid and checked at once.
_RELATIONS = """
SELECT relation.oid, relation.relkind::text, relation.relispopulated,
       CASE WHEN relation.relnamespace = 'claims'::regnamespace THEN relation.relname
            ELSE relation.relnamespace::regnamespace::text || '.' || relation.relname END,
       relation.relnamespace = 'claims'::regnamespace,
       EXISTS (SELECT FROM pg_index AS index
                WHERE index.indrelid = relation.oid AND index.indisunique AND index.indisvalid AND index.indimmediate
                  AND index.indpred IS NULL AND index.indexprs IS NULL)
  FROM pg_class AS relation
 WHERE relation.relkind IN ('r', 'p', 'f', 'm', 'v')
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A materialized view of the schema `claims`."""

    name: str
    sources: tuple[str, ...]
    """Tables and materialized views it is made from, directly or through ordinary views, by name."""
    is_populated: bool
    has_unique_index: bool
    """Whether REFRESH … CONCURRENTLY can use an index of it."""


def views_of(connection: Connection) -> list[View]:
    """
    Return the materialized views, each after those that it is made from.

    There is always such an order: PostgreSQL creates a view only over what exists already.
    """
    relations = {row[0]: row for row in connection.execute(_RELATIONS).fetchall()}
    edges: dict[int, set[int]] = {}
    for view, source in connection.execute(_EDGES).fetchall():
        edges.setdefault(view, set()).add(source)

    def sources_of(view: int) -> set[int]:
        found = set()
        for source in edges.get(view, ()):
            is_ordinary_view = source in relations and relations[source][1] == "v"
            found |= sources_of(source) if is_ordinary_view else {source}
        return found & relations.keys()

    found = {}
    for oid, kind, is_populated, name, is_ours, has_unique_index in relations.values():
        if kind == "m" and is_ours:
            found[name] = View(
                name=name,
                sources=tuple(sorted(relations[source][3] for source in sources_of(oid))),
                is_populated=is_populated,
                has_unique_index=has_unique_index,
            )
    graph = {view.name: [name for name in view.sources if name in found] for view in found.values()}
    # The sorter keeps the order in which it is given what depends on nothing: by name, so that runs are alike.
    order = TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)}).static_order()
    return [found[name] for name in order]
