"""Placed orders go through a real Kafka to the consumer."""

import psycopg
import pytest
from services.ground import Server, is_over, wait_for

from pooled_cluster.services import Services


@pytest.fixture(scope="module")
def kafka():
    server = Server("kafka")
    yield server.address
    server.stop()


def test_every_placed_order_is_notified(database, kafka):
    """Each order that checkout places is told once to Kafka, and its customer is notified."""
    notified = "SELECT count(DISTINCT order_id) FROM order_events WHERE kind = 'notified'"
    before = database.count(notified)
    with Services(
        database.host, database.port, services=1, instances=2, pool=2, kafka=kafka, **database.target
    ) as services:
        assert ["notification", "checkout"] == list(services.counts_by_service())
        services.set(rate=50)
        wait_for("orders", lambda: services.counts().done >= 30)
        services.set(rate=0)
        wait_for("the end of all", lambda: is_over(services.counts()))
        done = services.counts().done
        wait_for("the events", lambda: services.counts().events_consumed >= done)
        counts = services.counts()

    assert (done, done) == (counts.events_published, counts.events_consumed)
    assert before + done == database.count(notified)
    # 32 to 34 of checkout, and 5 of the consumer.
    assert 37 * done <= counts.queries <= 39 * done


def test_an_event_is_not_lost_with_its_consumer(database, kafka):
    """A consumer that ends in the middle of its work leaves its events to the next one."""
    notified = "SELECT count(DISTINCT order_id) FROM order_events WHERE kind = 'notified'"
    before = database.count(notified)
    target = {"services": 1, "instances": 1, "pool": 2, "kafka": kafka, **database.target}
    with psycopg.connect(database.address) as connection:
        connection.execute("LOCK TABLE notifications")
        with Services(database.host, database.port, **target) as services:
            services.set(rate=50)
            wait_for("orders", lambda: services.counts().done >= 20)
            services.set(rate=0)
            wait_for("the end of all", lambda: is_over(services.counts()))
            done = services.counts().done
            wait_for("the events", lambda: services.counts().events_published == done)
            assert services.counts().events_consumed == 0
    with Services(database.host, database.port, **target):
        wait_for("the notifications", lambda: database.count(notified) == before + done)
