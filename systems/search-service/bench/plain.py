"""
The same work as the service does, one row at a time: an event is a transaction, a row, and a request to the index.

This is what such an indexer looks like before anybody has measured it: no batches, the whole row each time, a document
made anew and sent for each event, one request each. It is right while one process runs and nothing fails: versions
are compared, and the index has external versions. It stands here for comparison and is used by nothing.
"""

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import psycopg
from confluent_kafka import Consumer
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from search_service.consume import clients_of
from search_service.document import Parts, document_of, tombstone_of
from search_service.entities import Asset, Category, Product, Supplier
from search_service.events import TYPES, BadEventError, Changed, Event, decode, type_of
from search_service.settings import Settings, settings_of

DEPTH_MOST = 20
EMPTY: dict[str, dict[str, Any]] = {
    "supplier": {"name": "", "country": ""},
    "category": {"name": "", "parent_id": None},
    "asset": {"product_id": None, "title": "", "text": "", "views": 0},
    "product": {
        "sku": "",
        "name": "",
        "description": "",
        "brand": "",
        "price_cents": 0,
        "currency": "",
        "category_id": None,
        "supplier_id": None,
        "attributes": Jsonb({}),
    },
}


def run(settings: Settings, index: str, seconds: float) -> dict[str, float]:
    """Apply and index events one by one for so long, or until there are no more."""
    types = {settings.topic(name): name for name in TYPES}
    consumer = Consumer(
        {
            **clients_of(settings),
            "group.id": settings.group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": 2**23,
        }
    )
    consumer.subscribe(list(types))
    events = documents = 0
    began = end = 0.0
    with (
        psycopg.connect(settings.database_url, row_factory=dict_row) as database,
        httpx.Client(base_url=settings.engine_url, timeout=30) as engine,
    ):
        while True:
            message = consumer.poll(3)
            now = time.monotonic()
            if message is None or (began and now - began > seconds):
                break
            # Joining the group is not counted.
            began = began or now
            try:
                event = decode(message.value(), topic_type=types[message.topic()], key=message.key())
            except BadEventError:
                continue
            changed = _apply(database, event)
            for product_id in changed:
                _index(database, engine, index, product_id)
            consumer.commit(message, asynchronous=False)
            events += 1
            documents += len(changed)
            end = time.monotonic()
    consumer.close()
    return {"events": events, "documents": documents, "seconds": end - began}


def _apply(database: psycopg.Connection[Any], event: Event) -> list[str]:
    """Write the row of an event in a transaction of its own; return the products whose documents show it."""
    table = type_of(event)
    with database.transaction(), database.cursor() as cursor:
        found = cursor.execute(f"SELECT * FROM {table} WHERE id = %s", (event.id,)).fetchone()
        if found and found["version"] >= event.version:
            return []
        values = dict(EMPTY[table])
        if isinstance(event, Changed):
            values = msgspec.structs.asdict(event.entity)
            values.pop("id")
            if "attributes" in values:
                values["attributes"] = Jsonb(values["attributes"])
        values |= {"version": event.version, "at": event.at}
        values["is_deleted"] = not isinstance(event, Changed)
        names = ", ".join(["id", *values])
        marks = ", ".join(["%s"] * (1 + len(values)))
        updates = ", ".join(f"{name} = excluded.{name}" for name in values)
        cursor.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET {updates}",
            (event.id, *values.values()),
        )
        return [*_products_of(cursor, table, event.id, values)]


def _products_of(cursor: Any, table: str, row_id: str, values: dict[str, Any]) -> Iterator[str]:
    """Mark the products that show a row, and yield their ids."""
    if table == "supplier":
        where, arguments = "supplier_id = %s", (row_id,)
    elif table == "category":
        below = "WITH RECURSIVE b(id) AS (SELECT %s UNION SELECT c.id FROM category c JOIN b ON c.parent_id = b.id)"
        where, arguments = f"category_id IN ({below} SELECT id FROM b)", (row_id,)
    else:
        where, arguments = "id = %s", (row_id if table == "product" else values["product_id"],)
    cursor.execute(f"UPDATE product SET document_version = document_version + 1 WHERE {where} RETURNING id", arguments)
    yield from (row["id"] for row in cursor.fetchall())


def _index(database: psycopg.Connection[Any], engine: httpx.Client, index: str, key: str) -> None:
    """Read what a document is made of, row by row, and send it in a request of its own."""
    with database.transaction(), database.cursor() as cursor:
        row = cursor.execute("SELECT * FROM product WHERE id = %s", (key,)).fetchone()
        if row is None:
            return
        version = row["document_version"]
        document = tombstone_of(key, version) if row["is_deleted"] else document_of(_parts(cursor, row), version)
    answer = engine.put(
        f"/{index}/_doc/{key}",
        params={"version": version, "version_type": "external"},
        content=msgspec.json.encode(document),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code in {200, 201, 409}, answer.text


def _parts(cursor: Any, row: dict[str, Any]) -> Parts:
    supplier = cursor.execute(
        "SELECT * FROM supplier WHERE id = %s AND NOT is_deleted", (row["supplier_id"],)
    ).fetchone()
    path: list[Category] = []
    category_id = row["category_id"]
    while category_id and len(path) < DEPTH_MOST:
        found = cursor.execute("SELECT * FROM category WHERE id = %s AND NOT is_deleted", (category_id,)).fetchone()
        if found is None:
            break
        path.append(_entity(Category, found))
        category_id = found["parent_id"]
    assets = cursor.execute("SELECT * FROM asset WHERE product_id = %s AND NOT is_deleted", (row["id"],)).fetchall()
    return Parts(
        product=_entity(Product, row),
        categories=path,
        supplier=_entity(Supplier, supplier) if supplier else None,
        assets=[_entity(Asset, asset) for asset in assets],
    )


def _entity(kind: type[Any], row: dict[str, Any]) -> Any:
    return kind(**{name: row[name] for name in kind.__struct_fields__})


if __name__ == "__main__":
    found = run(settings_of(os.environ), sys.argv[1], float(sys.argv[2]))
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
