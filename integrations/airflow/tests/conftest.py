"""A double of AWS, a PostgreSQL and an Airflow, started once."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from account import BUSY, IDLE, KEYS, CountingProxy, create, put
from webhook import Webhook
from world import start_servers

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, str]]:
    """Addresses of a PostgreSQL and of a double of AWS."""
    command, found = start_servers("postgres", "aws")
    yield found
    # Not SIGINT: a job in the background of a shell ignores it, and so do its children.
    command.terminate()
    command.communicate(timeout=60)


@pytest.fixture(scope="session")
def aws(servers: dict[str, str]) -> Iterator[CountingProxy]:
    """
    The double behind a proxy that counts: `busy` has few credits, `idle` has all, `waiting` and `crowd` are busy.
    """
    proxy = CountingProxy(servers["aws"])
    for name in ("busy", "idle", "waiting", "crowd"):
        create(servers["aws"], name)
        rates, balance = (IDLE, 99.0) if name == "idle" else (BUSY, 22.0)
        # The minutes to come belong to the tests that take longer than metrics stay fresh.
        put(servers["aws"], name, rates, balance, range(2 if name in ("waiting", "crowd") else -10, 240))
    yield proxy
    proxy.close()


@pytest.fixture(scope="session")
def webhook() -> Iterator[Webhook]:
    """A chat that takes messages."""
    server = Webhook()
    yield server
    server.close()


@pytest.fixture(scope="session")
def connections(servers: dict[str, str], aws: CountingProxy, webhook: Webhook) -> Iterator[dict[str, str]]:
    """Environment with connections, for this process and for Airflow's."""
    extra = {"target": "rds:idle", "region": KEYS["AWS_DEFAULT_REGION"], "dsn_conn_id": "claims"}
    environment = {
        **KEYS,
        "AWS_ENDPOINT_URL": aws.address,
        "AIRFLOW_CONN_PLIMSOLL_DEFAULT": json.dumps({"conn_type": "plimsoll", "extra": extra}),
        "AIRFLOW_CONN_CLAIMS": servers["postgres"].replace("postgresql://", "postgres://"),
        "AIRFLOW_CONN_CHAT": json.dumps({"conn_type": "generic", "password": webhook.url}),
    }
    before = dict(os.environ)
    os.environ.update(environment)
    yield environment
    os.environ.clear()
    os.environ.update(before)
