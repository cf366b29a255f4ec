"""A Patroni cluster for real, with Pgpool-II in front: its leader is killed, and writes go on."""

import contextlib
from collections.abc import Iterator

import psutil
import psycopg
import pytest

from live.prometheus_server import wait_for
from live.served import kept_log
from plimsoll.errors import SourceError
from plimsoll_lab.servers.patroni import PatroniCluster
from plimsoll_lab.servers.pgpool import Pgpool

NODES = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[PatroniCluster]:
    with PatroniCluster(NODES) as running:
        yield running


@pytest.fixture(scope="module")
def pgpool(cluster: PatroniCluster) -> Iterator[Pgpool]:
    """In front of all nodes, with a table to write to."""
    with Pgpool(cluster.ports, user=cluster.user, password=cluster.password) as running:
        with psycopg.connect(running.address, autocommit=True) as connection:
            connection.execute("CREATE TABLE written (number int)")
        yield running


def write(address: str, number: int) -> bool:
    """Whether a row was written."""
    with contextlib.suppress(psycopg.Error), psycopg.connect(address, autocommit=True, connect_timeout=5) as connection:
        return connection.execute("INSERT INTO written VALUES (%s)", [number]).rowcount == 1
    return False


def test_one_node_leads_and_the_others_follow(cluster: PatroniCluster):
    leader = cluster.await_leader()
    others = {name for name in cluster.nodes if name != leader.name}

    def do_others_follow() -> bool:
        with psycopg.connect(leader.address) as connection:
            sql = "SELECT application_name FROM pg_stat_replication"
            return others == {name for (name,) in connection.execute(sql)}

    wait_for("the others to follow", do_others_follow)
    assert [leader.name] == [n.name for n in cluster.nodes.values() if n.takes_writes()]


def test_pgpool_sends_queries_to_the_nodes(cluster: PatroniCluster, pgpool: Pgpool):
    """It knows all of them, and which one takes writes."""
    with psycopg.connect(pgpool.address, autocommit=True) as connection:
        cursor = connection.execute("SHOW POOL_NODES")
        assert cursor.description is not None
        names = [column.name for column in cursor.description]
        nodes = [dict(zip(names, row, strict=True)) for row in cursor]

    leader = cluster.await_leader()
    assert {str(port) for port in cluster.ports} == {node["port"] for node in nodes}
    assert [str(leader.port)] == [n["port"] for n in nodes if n["role"] == "primary"]
    assert write(pgpool.address, 0)


def test_a_killed_leader_is_replaced_and_comes_back_as_a_follower(cluster: PatroniCluster, pgpool: Pgpool):
    """Its Patroni, its PostgreSQL and all their processes are killed; another node takes writes, through Pgpool-II too."""
    killed = cluster.await_leader()
    assert write(pgpool.address, 1)
    assert killed._keeper is not None
    processes = psutil.Process(killed._keeper.pid).children(recursive=True)
    names = {process.name() for process in processes}
    killed.kill()
    assert {"postgres"} <= names
    assert len(processes) > len(names)
    assert not [process for process in processes if process.is_running()]

    def is_written_elsewhere() -> bool:
        # On a busy machine a new leader may lose its place to the other follower, which then takes the write.
        leader = cluster.await_leader()
        return leader.name != killed.name and write(leader.address, 2)

    wait_for("a write on another node", is_written_elsewhere)
    wait_for("a write through Pgpool-II", lambda: write(pgpool.address, 3))
    cluster.start_again(killed)
    with psycopg.connect(killed.address) as connection:
        (is_follower,) = connection.execute("SELECT pg_is_in_recovery()").fetchone() or (None,)
    assert is_follower


def test_a_cluster_that_does_not_start_says_why_and_leaves_nothing():
    """The reason is PostgreSQL's, the log is Patroni's, and etcd ends too."""
    cluster = PatroniCluster(1, settings={"shared_preload_libraries": "no_such_library"})
    with pytest.raises(SourceError, match="Patroni did not start: ") as raised, cluster:
        pass

    assert "no_such_library" in raised.value.message
    assert "Failed to bootstrap cluster" in kept_log(raised.value)
    assert cluster.etcd._keeper is None
    assert not cluster.etcd._directory.exists()
