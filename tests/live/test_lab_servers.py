"""Kafka, OpenSearch and Elasticsearch for real: they answer when they are said to run, and end with us."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psycopg
import pytest

from live.prometheus_server import wait_for
from live.served import kept_log
from plimsoll.errors import SourceError
from plimsoll_lab.servers.kafka import Kafka
from plimsoll_lab.servers.postgres import Postgres
from plimsoll_lab.servers.search import Elasticsearch, OpenSearch, SearchServer
from plimsoll_lab.servers.server import HOST

DOCUMENT = {"name": "Running shoes", "maker": "Übel & Söhne"}


@pytest.fixture(scope="module", params=[OpenSearch, Elasticsearch], ids=lambda kind: kind.kind)
def engine(request: pytest.FixtureRequest) -> Iterator[SearchServer]:
    """An engine with one document."""
    with request.param() as running:
        ask(running, "PUT", "products/_doc/1?refresh=true", DOCUMENT)
        yield running


def ask(server: SearchServer, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    request = Request(
        f"{server.address}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_an_engine_indexes_and_finds(engine: SearchServer):
    """It is of the version that was locked, and finds words whatever their case."""
    found = ask(engine, "GET", "products/_search?q=name:SHOES")

    assert [engine.version] == [node["version"] for node in ask(engine, "GET", "_nodes")["nodes"].values()]
    assert [DOCUMENT] == [hit["_source"] for hit in found["hits"]["hits"]]


def test_an_engine_listens_on_loopback_only(engine: SearchServer):
    """Every address that it publishes is this machine's own."""
    (node,) = ask(engine, "GET", "_nodes/http,transport")["nodes"].values()
    addresses = node["http"]["bound_address"] + node["transport"]["bound_address"]

    assert [HOST] * 2 == [address.rpartition(":")[0] for address in addresses]


def test_opensearch_has_the_modules_that_its_archive_lacks(engine: SearchServer):
    """Stemming in English, and reindexing into an index of other shards."""
    if engine.kind != OpenSearch.kind:
        assert not engine.package.modules
        return
    words = ask(engine, "POST", "_analyze", {"analyzer": "english", "text": "running shoes"})
    ask(engine, "PUT", "wider", {"settings": {"number_of_shards": 3, "number_of_replicas": 0}})
    places = {"source": {"index": "products"}, "dest": {"index": "wider"}}
    copied = ask(engine, "POST", "_reindex?refresh=true", places)

    assert ["run", "shoe"] == [token["token"] for token in words["tokens"]]
    assert 1 == copied["created"] == ask(engine, "GET", "wider/_count")["count"]


def test_a_setting_that_an_engine_refuses_is_its_reason():
    """The sentence has the engine's own words, and the log is where the hint says."""
    with pytest.raises(SourceError, match=r"OpenSearch did not start: .*no\.such") as raised:
        OpenSearch({"no.such.setting": "1"}).__enter__()
    assert "no.such.setting" in kept_log(raised.value)


def test_a_setting_that_kafka_refuses_is_its_reason():
    with pytest.raises(SourceError, match=r"Kafka did not start: .*log\.retention") as raised:
        Kafka({"log.retention.hours": "soon"}).__enter__()
    assert "log.retention.hours" in kept_log(raised.value)


def test_the_address_of_a_database_is_enough_to_connect():
    """It has the user, the password and the database."""
    with Postgres() as server, psycopg.connect(server.address) as connection:
        (version,) = connection.execute("SHOW server_version").fetchone() or ("",)

    assert server.version == version.split()[0]


def server_process(server: Postgres) -> int:
    assert server._keeper is not None
    keeper = server._keeper.pid
    (child,) = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    return int(child)


def count(server: Postgres) -> int | None:
    try:
        with psycopg.connect(server.address) as connection:
            (rows,) = connection.execute("SELECT count(*) FROM kept").fetchone() or (None,)
    except psycopg.OperationalError:
        return None
    return rows


def test_a_database_that_is_killed_comes_back_with_its_data():
    """As often as it is killed, at the same address."""
    server = Postgres()
    server.restart_s = 60
    with server:
        with psycopg.connect(server.address) as connection:
            connection.execute("CREATE TABLE kept AS SELECT generate_series(1, 10)")
        killed = []
        for _ in range(2):
            killed.append(server_process(server))
            os.kill(killed[-1], signal.SIGKILL)
            assert wait_for("the database", lambda: count(server) == 10)

    assert len(set(killed)) == 2


def test_a_server_that_is_not_to_be_restarted_stays_away():
    with Postgres() as server:
        os.kill(server_process(server), signal.SIGKILL)
        assert server._keeper is not None
        assert server._keeper.wait(30) == 1
