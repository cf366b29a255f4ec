"""Events that come through Kafka are in the copy and in the index, whatever happens on the way."""

import signal
from datetime import UTC, datetime

from flow import (
    Indexer,
    Producing,
    asset,
    category,
    changed,
    deleted,
    product,
    query,
    supplier,
    wait_for,
    wait_until_quiet,
)

from search_service.admin.verify import compare
from search_service.database import connect
from search_service.engine import Engine
from search_service.settings import Settings


def documents_of(settings: Settings) -> dict[str, dict[str, object]]:
    with Engine(settings.engine_url) as engine:
        hits = engine.search(settings.alias, {"size": 1000})["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in hits if not hit["_source"]["is_deleted"]}


def test_a_product_is_found_with_words_of_four_entities(settings: Settings, producing: Producing, indexer: Indexer):
    """
    The document has the names of the supplier and of all categories above, and the assets' texts.
    """
    producing.send(changed(asset()), changed(product(category_id="c-2")))
    producing.send(changed(supplier()), changed(category(2, parent=1)), changed(category(name="All")))
    indexer.start()
    wait_until_quiet(settings)
    (document,) = documents_of(settings).values()

    assert "Alder & Sons 1" == document["supplier"]
    assert ["Boots 2", "All"] == document["categories"]
    assert ["Care"] == document["titles"]
    assert "Warm leather boots" == document["name"]
    assert indexer.end(signal.SIGTERM) == 0


def test_a_rename_of_a_supplier_reaches_its_products(settings: Settings, producing: Producing, indexer: Indexer):
    """All of them, page by page, and no other supplier's."""
    from msgspec.structs import replace

    small = replace(settings, fan_out_products=7)
    indexer.settings = small
    producing.send(changed(supplier()), changed(supplier(2)))
    producing.send(*(changed(product(n, supplier_id=f"s-{1 + n % 2}")) for n in range(40)))
    indexer.start()
    wait_until_quiet(settings)
    producing.send(changed(supplier(name="Birch"), 2))
    wait_until_quiet(settings)
    found = documents_of(settings)

    assert {"p-0", "p-38"} < {key for key, one in found.items() if one["supplier"] == "Birch"}
    assert 20 == sum(one["supplier"] == "Birch" for one in found.values())
    assert 20 == sum(one["supplier"] == "Alder & Sons 2" for one in found.values())


def test_a_deleted_product_stays_deleted_when_an_older_event_comes_late(
    settings: Settings, producing: Producing, indexer: Indexer
):
    """A tombstone is in the index, and a later version brings the product back."""
    producing.send(changed(product()), deleted("product", "p-1", 3), changed(product(), 2))
    indexer.start()
    wait_until_quiet(settings)
    gone = documents_of(settings)
    producing.send(changed(product(name="New boots"), 4))
    wait_until_quiet(settings)
    (document,) = documents_of(settings).values()

    assert gone == {}
    assert "New boots" == document["name"]


def test_bad_events_become_dead_letters_with_their_reason(settings: Settings, producing: Producing, indexer: Indexer):
    """The good events around them are applied."""
    from confluent_kafka import Consumer

    from search_service.consume import clients_of

    producing.send(changed(product()))
    producing.raw("product", b"p-2", b"{")
    producing.raw("product", b"p-2", None)
    producing.raw("product", b"other", b'{"event":"deleted","version":1,"at":"2026-01-01T00:00:00Z","type":"product","id":"p-2"}')  # fmt: skip
    producing.send(changed(product(3)))
    indexer.start()
    wait_until_quiet(settings)
    consumer = Consumer({**clients_of(settings), "group.id": "dead", "auto.offset.reset": "earliest"})
    consumer.subscribe([settings.dead_letter_topic])
    letters = [m for m in consumer.consume(3, 30) if m.error() is None]
    consumer.close()
    reasons = [dict(m.headers() or [])["reason"].decode() for m in letters]

    assert {"p-1", "p-3"} == set(documents_of(settings))
    assert 3 == len(letters)
    assert any("truncated" in reason for reason in reasons)
    assert any("no value" in reason for reason in reasons)
    assert any("not the id" in reason for reason in reasons)
    assert {settings.topic("product").encode()} == {dict(m.headers() or [])["topic"] for m in letters}


def test_the_same_events_again_change_nothing(settings: Settings, producing: Producing, indexer: Indexer):
    """Neither the versions of documents nor the number of rows."""
    events = [changed(product(n), 5) for n in range(5)]
    producing.send(*events)
    indexer.start()
    wait_until_quiet(settings)
    before = query(settings, "SELECT id, document_version FROM product ORDER BY id")
    producing.send(*events, *(changed(product(n, name="Old"), 4) for n in range(5)))
    wait_until_quiet(settings)

    assert before == query(settings, "SELECT id, document_version FROM product ORDER BY id")
    assert {"Warm leather boots"} == {one["name"] for one in documents_of(settings).values()}


def test_freshness_and_counts_are_measured(settings: Settings, producing: Producing, indexer: Indexer):
    """In the form that Prometheus reads; a document is fresh when a search finds it."""
    import contextlib
    import re
    import socket
    import urllib.request

    from msgspec.structs import replace

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    indexer.settings = replace(settings, metrics_port=port)
    address = f"http://127.0.0.1:{port}/metrics"
    indexer.start()
    producing.send(changed(product(), at=datetime.now(UTC)))
    producing.raw("product", b"p-2", b"{")
    text = ""

    def is_measured() -> bool:
        nonlocal text
        with contextlib.suppress(OSError), urllib.request.urlopen(address) as answer:
            text = answer.read().decode()
        return 'search_freshness_seconds_count{changed="product"} 1.0' in text

    wait_for("that the document is found", is_measured)
    # Nobody but the indexer has refreshed the index.
    found = documents_of(settings)

    assert 'search_events_applied_total{type="product"} 1.0' in text
    assert "search_events_dead_total 1.0" in text
    assert "search_documents_indexed_total 1.0" in text
    assert {"p-1"} == set(found)
    assert "search_lag_events 0.0" in text
    assert re.search(r'^search_phase_seconds_total{phase="bulk"} [0-9.e-]*[1-9]', text, re.MULTILINE)
    assert re.search(r"^search_apply_seconds_count [1-9]", text, re.MULTILINE)


def test_two_indexers_share_the_partitions(settings: Settings, producing: Producing, indexer: Indexer, tmp_path):
    """One is killed, and the other takes over what it had."""
    import sys

    producing.send(*(changed(product(n)) for n in range(50)))
    with Indexer(settings, tmp_path / "other.log", sys.executable) as other:
        indexer.start()
        other.start()
        wait_until_quiet(settings)
        other.end(signal.SIGKILL)
        producing.send(*(changed(product(n, name="Second"), 2) for n in range(50)))
        wait_until_quiet(settings)
    database = connect(settings.database_url)
    with Engine(settings.engine_url) as engine:
        compared = compare(database, engine, settings.alias)
    database.dispose()

    assert 50 == compared.copy.documents == compared.index.documents
    assert compared.copy.checksum == compared.index.checksum
    assert {"Second"} == {one["name"] for one in documents_of(settings).values()}
