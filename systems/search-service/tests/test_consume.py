"""What an indexer says and does when Kafka, its topics or an event are not as they should be."""

import re
import signal

from flow import Indexer, Producing, changed, product, query, wait_for, wait_until_quiet
from msgspec.structs import replace

from search_service.consume import MESSAGE_MOST
from search_service.settings import Settings


def said(indexer: Indexer) -> str:
    return indexer.log.read_text() if indexer.log.exists() else ""


def test_a_broker_that_is_away_is_said(settings: Settings, indexer: Indexer):
    """Once, while the indexer waits for it."""
    indexer.settings = replace(settings, kafka="127.0.0.1:1")
    indexer.start()
    wait_for("that the indexer says so", lambda: "Kafka at 127.0.0.1:1 does not answer" in said(indexer))
    status = indexer.end(signal.SIGTERM)

    assert 0 == status
    assert 1 == said(indexer).count("does not answer")
    assert "Traceback" not in said(indexer)


def test_topics_that_are_missing_are_said(settings: Settings, indexer: Indexer):
    """The service was not set up on this broker."""
    indexer.settings = replace(settings, prefix="nothing")
    indexer.start()
    wait_for("that the indexer says so", lambda: "does not have the topic nothing." in said(indexer))

    assert 0 == indexer.end(signal.SIGTERM)


def test_a_topic_that_was_made_anew_ends_the_indexer(settings: Settings, producing: Producing, indexer: Indexer):
    """
    Its events have the offsets of others that were applied, and would be skipped without a word.
    """
    producing.send(*(changed(product(n)) for n in range(20)))
    rows = ", ".join(f"('{settings.topic('product')}', {n}, 1000)" for n in range(settings.partitions))  # fmt: skip
    query(settings, f"INSERT INTO applied_offset VALUES {rows} RETURNING 1")
    indexer.start()
    wait_for("the end of the indexer", lambda: indexer._program.poll() is not None)

    assert 2 == indexer._program.returncode
    assert "has fewer events than the database has applied" in said(indexer)
    assert "Traceback" not in said(indexer)


def test_an_event_that_the_database_refuses_is_a_dead_letter(
    settings: Settings, producing: Producing, indexer: Indexer
):
    """With the database's reason; those around it are applied, each once."""
    query(settings, "ALTER TABLE product ADD CHECK (sku <> 'refused')")
    one = replace(settings, batch_events=50)
    indexer.settings = one
    producing.send(*(changed(product(n, sku="refused" if n == 7 else f"S-{n}")) for n in range(20)))
    producing.raw("product", b"p-1", b"{")
    indexer.start()
    wait_until_quiet(settings)
    letters = letters_of(settings, 2)
    found = {row[0] for row in query(settings, "SELECT id FROM product WHERE version = 1")}

    assert {f"p-{n}" for n in range(20) if n != 7} == found
    assert {b"p-1", b"p-7"} == set(letters)
    assert "product_sku_check" in letters[b"p-7"]


def test_indexers_come_and_go_while_events_flow(settings: Settings, producing: Producing, indexer: Indexer, tmp_path):
    """Partitions change hands again and again: every event is applied, and none twice."""
    import sys
    from contextlib import ExitStack

    indexer.start()
    version = 0
    with ExitStack() as stack:
        others = [stack.enter_context(Indexer(settings, tmp_path / f"other-{n}.log", sys.executable)) for n in range(2)]
        for turn in range(6):
            others[turn % 2].start()
            for _ in range(10):
                version += 1
                producing.send(*(changed(product(n, price_cents=version), version) for n in range(30)))
            # Before it has come to know the signal, the signal ends it.
            assert others[turn % 2].end(signal.SIGTERM) in {0, -signal.SIGTERM}
        wait_until_quiet(settings)
        logs = [one.log.read_text() for one in others]
    prices = query(settings, "SELECT version, price_cents, document_version FROM product")
    ledger = query(settings, f"SELECT sum(next_offset) FROM applied_offset WHERE topic = '{settings.topic('product')}'")  # fmt: skip

    assert {(version, version)} == {row[:2] for row in prices}
    assert [(30 * version,)] == [(int(row[0]),) for row in ledger]
    assert {True} == {row[2] <= version for row in prices}
    assert all("Traceback" not in log for log in [*logs, said(indexer)])


def test_topics_are_compacted_and_dead_letters_are_kept(topics: Settings):
    """The key of an event is the id of its entity."""
    from confluent_kafka.admin import AdminClient, ConfigResource

    from search_service.consume import clients_of
    from search_service.events import TYPES

    names = [*(topics.topic(name) for name in TYPES), topics.dead_letter_topic]
    resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
    admin = AdminClient(clients_of(topics))
    found = admin.describe_configs(resources)
    configs = {one.name: answer.result() for one, answer in found.items()}
    policies = {name: config["cleanup.policy"].value for name, config in configs.items()}

    assert {*(topics.topic(name) for name in TYPES)} == {
        name for name, policy in policies.items() if policy == "compact"
    }
    assert {str(MESSAGE_MOST)} == {config["max.message.bytes"].value for config in configs.values()}
    assert int(configs[topics.dead_letter_topic]["retention.ms"].value) >= 30 * 86_400_000


def letters_of(settings: Settings, count: int) -> dict[bytes, str]:
    """The reasons of dead letters, by key."""
    from confluent_kafka import Consumer, TopicPartition

    from search_service.consume import clients_of

    reader = Consumer({**clients_of(settings), "group.id": "letters"})
    reader.assign([TopicPartition(settings.dead_letter_topic, 0, 0)])
    found: dict[bytes, str] = {}

    def has_all() -> bool:
        for message in reader.consume(count, 0.5):
            if message.error() is None:
                found[message.key()] = dict(message.headers())["reason"].decode()
        return len(found) == count

    wait_for(f"{count} dead letters", has_all)
    reader.close()
    assert all(re.search(r"\w", reason) for reason in found.values())
    return found
