"""A PostgreSQL of the tests' own, filled once."""

import pytest
from services.ground import Database, Server, is_over, wait_for

from pooled_cluster.services import Services, fill


@pytest.fixture(scope="session")
def database():
    server = Server("postgres")
    found = Database(server.address)
    fill(found.address, customers=500, products=200, orders=1000)
    yield found
    server.stop()


@pytest.fixture(scope="module")
def running(database):
    """Two services with two instances each."""
    with Services(database.host, database.port, services=2, instances=2, pool=4, **database.target) as services:
        yield services


CALM = {
    "rate": 0, "pool": 4, "min_idle": -1, "threads": 0, "queue": 100, "answer_s": 30, "retry": "none",
    "retries": 3, "think_ms": 0, "hold_ms": 0, "leak": 0, "abort": 0, "abort_s": 30,
}  # fmt: skip


@pytest.fixture
def services(running):
    """Return services at rest, with the first settings."""
    calm(running)
    yield running
    calm(running)


def calm(services):
    """Set the first settings, and wait until nothing of earlier ones goes on."""

    def is_calm():
        counts = services.counts()
        return is_over(counts) and (16, 16) == (counts.now.connections, counts.now.idle)

    services.set(**CALM)
    wait_for("rest", is_calm)
