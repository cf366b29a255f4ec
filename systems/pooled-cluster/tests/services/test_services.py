"""What services do to a real PostgreSQL, and what they count."""

import threading
import time
from contextlib import suppress

import psycopg
import pytest
from services.conftest import calm
from services.ground import is_over, is_running, wait_for

from pooled_cluster.services import Services
from pooled_cluster.services.errors import UsageError


def counted(services):
    """Return a function that returns what was counted since now."""
    before = services.counts()
    return lambda: services.counts() - before


def test_every_kind_has_30_to_35_queries(database):
    """Each business transaction has 30 to 35 queries, and changes and adds rows."""
    tables = ("orders", "payments", "shipments", "notifications", "stock_movements", "order_events")
    rows = {name: database.count(f"SELECT count(*) FROM {name}") for name in tables}
    with Services(database.host, database.port, services=4, instances=1, pool=2, **database.target) as services:
        services.set(rate=80)
        wait_for("20 of each", lambda: min(c.done for c in services.counts_by_service().values()) >= 20)
        services.set(rate=0)
        wait_for("the end of all", lambda: is_over(services.counts()))
        found = services.counts_by_service()

    assert ["checkout", "fulfilment", "account", "inventory"] == list(found)
    for counts in found.values():
        assert counts.arrivals == counts.done == counts.attempts
        assert counts.queries == counts.queries_useful
        assert 30 <= counts.queries / counts.done <= 35
    assert rows["orders"] + found["checkout"].done == database.count("SELECT count(*) FROM orders")
    for name in tables:
        assert database.count(f"SELECT count(*) FROM {name}") > rows[name], name


def test_the_server_has_seen_every_transaction(database, services):
    """PostgreSQL counts as many commits as the services."""
    commits = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    # The server adds up what an idle session did after at most a second.
    since = counted(services)
    services.set(rate=50)
    wait_for("50 done", lambda: since().done >= 50)
    services.set(rate=0)
    wait_for("the end of all", lambda: is_over(services.counts()))

    assert since().transactions == 3 * since().done
    wait_for("the counters", lambda: database.count(commits) >= services.counts().transactions)


def test_arrivals_do_not_wait_for_the_database(database, services):
    """
    While nothing is answered, business transactions arrive as before, and their clients leave.
    """
    since = counted(services)
    with psycopg.connect(database.address) as connection:
        connection.execute("LOCK TABLE customers")
        services.set(rate=100, answer_s=0.5, queue=10)
        wait_for("100 given up", lambda: sum(since().failed.values()) >= 100)
        stalled = since()
        services.set(rate=0)
        wait_for("all to leave", lambda: sum(since().failed.values()) == since().arrivals)

    assert stalled.done == 0
    assert {"no_answer", "refused"} == set(stalled.failed)
    assert stalled.refused == stalled.failed["refused"] > 0
    assert stalled.now.waiting > 0
    wait_for("the work for clients that have left", lambda: since().late > 0)
    assert since().queries_useful == 0 < since().queries


@pytest.mark.parametrize(("retry", "attempts"), [("none", 1), ("immediate", 4), ("backoff", 4)])
def test_a_client_tries_again_as_often_as_it_may(database, services, retry, attempts):
    """A failed business transaction is one of several attempts."""
    since = counted(services)
    with psycopg.connect(database.address) as connection:
        connection.execute("LOCK TABLE customers")
        services.set(rate=40, answer_s=0.2, retry=retry, retries=3)
        wait_for("20 given up", lambda: sum(since().failed.values()) >= 20)
        services.set(rate=0)
        wait_for("all to give up", lambda: sum(since().failed.values()) == since().arrivals)

    assert attempts * since().arrivals == since().attempts
    assert (attempts - 1) * since().arrivals == since().retries


def test_a_leak_holds_idle_connections(database, services):
    """
    Leaked connections stay idle at the server, more and more, and a repaired service gives them back.
    """
    services.set(pool=12, min_idle=0, rate=40, leak=0.3)
    wait_for("a leak", lambda: services.counts().now.leaked >= 20)
    services.set(rate=0)
    wait_for("idle connections", lambda: database.sessions("idle") >= 20)
    assert services.counts().now.active >= 20

    services.set(leak=0)

    wait_for("its end", lambda: services.counts().now.active == 0)


def test_a_full_leak_leaves_nothing_for_others(services):
    """When all connections are leaked, requests end because the pool has none."""
    since = counted(services)
    services.set(rate=40, leak=1, connection_timeout_s=0.25)
    wait_for("timeouts", lambda: since().failed.get("pool_timeout", 0) > 0)
    services.set(connection_timeout_s=30)

    wait_for("all connections", lambda: services.counts().now.leaked == 16)


def test_open_transactions_are_seen_by_the_server(database, services):
    """With a hold, sessions are idle in transaction."""
    services.set(rate=20, hold_ms=2000)

    wait_for("idle in transaction", lambda: database.sessions("idle in transaction") >= 4)


def test_aborted_transactions_are_seen_by_the_server(database, services):
    """
    With an ignored error, sessions are idle in an aborted transaction, and the business transaction fails.
    """
    since = counted(services)
    services.set(rate=20, abort=1, abort_s=2)

    wait_for("aborted", lambda: database.sessions("idle in transaction (aborted)") >= 2)
    wait_for("failures", lambda: since().failed.get("other", 0) > 0)
    assert "division by zero" in services.counts().last_errors["other"]


def test_a_pool_grows_and_shrinks(database, services):
    """A changed pool is what the server sees, in both directions."""
    for pool in (7, 2, 4):
        services.set(pool=pool)
        wait_for(f"4 pools of {pool}", lambda most=4 * pool: database.sessions() == most)
        wait_for("the same", lambda most=4 * pool: services.counts().now.connections == most)


def test_a_pool_shrinks_while_it_grows(services):
    """A connection that was being opened when the pool became smaller is closed too."""
    for _ in range(6):
        services.set(pool=12, rate=200, hold_ms=300)
        wait_for("growth", lambda: services.counts().now.connections > 18)
        calm(services)
        # What was being opened comes now; it is closed soon, and would otherwise stay.
        time.sleep(0.5)
        wait_for("no more than allowed", lambda: services.counts().now.connections == 16)


def test_a_connection_lost_in_a_statement_is_replaced(database, services):
    """
    When the server ends sessions that run a statement, these fail, and what comes after is done.
    """
    since = counted(services)
    with psycopg.connect(database.address) as connection:
        connection.execute("LOCK TABLE customers")
        services.set(rate=30)
        wait_for("statements that wait", lambda: database.end_sessions("wait_event_type = 'Lock'"))
        wait_for("failures", lambda: since().failed.get("connection", 0) > 0)
    done = since().done

    wait_for("more", lambda: since().done > done + 10)


def test_a_connection_lost_before_commit_is_replaced(database, services):
    """
    When a transaction finds at its COMMIT that the server has ended its session, the outcome counts as unknown.
    """
    since = counted(services)
    services.set(rate=30, hold_ms=2000)
    # Between two statements a transaction is in this state for a moment, and in its hold for seconds.
    in_hold = "state = 'idle in transaction' AND state_change < clock_timestamp() - interval '200 ms'"

    def is_lost_before_commit():
        # On a busy machine a pause between two statements may be as long.
        database.end_sessions(in_hold)
        return since().failed.get("unknown_outcome", 0) > 0

    wait_for("an unknown outcome", is_lost_before_commit)
    services.set(hold_ms=0)
    done = since().done

    wait_for("more", lambda: since().done > done + 10)


def test_a_full_server_refuses(database):
    """Pools that are larger than the server are refused, and counted."""
    with Services(database.host, database.port, services=1, instances=15, pool=10, **database.target) as services:
        wait_for("refusals", lambda: services.counts().connections_failed.get("too_many_clients", 0) > 0)
        said = services.counts().last_errors["too_many_clients"]
        assert services.connections_most == 150

    assert "too many clients" in said or "reserved" in said


def test_a_wrong_setting_is_refused_and_changes_nothing(services):
    """A setting that does not exist, or a value out of range, is an error of the caller."""
    for changes, said in (
        ({"speed": 1}, "there is no setting 'speed'"),
        ({"pool": 0}, "pool must be 1 to 10,000 connections"),
        ({"pool": 2.5}, "pool must be a whole number"),
        ({"pool": 4_294_967_297}, "pool must be a whole number"),
        ({"rate": "many"}, "rate must be a number"),
        ({"rate": None}, "rate must be a number"),
        ({"retry": "often"}, "retry must be none, immediate or backoff"),
    ):
        with pytest.raises(UsageError) as error:
            services.set(**changes)
        assert said == error.value.sentence

    assert services.counts().now.connections == 16


def test_metrics_are_those_of_micrometer_and_hikari(services):
    """Prometheus gets the pools by HikariCP's own names, and the latency as a histogram."""
    found = services.metrics()

    assert ["checkout", "fulfilment"] == list(found)
    assert 'hikaricp_connections_max{pool="checkout-2",service="checkout"} 4.0' in found["checkout"]
    assert "orders_latency_seconds_bucket" in found["checkout"]
    assert 'orders_failed_total{reason="too_many_clients",service="checkout"}' in found["checkout"]


def test_nothing_is_left(database):
    """
    After the block no JVM runs, and no session is left, also if business transactions were on their way.
    """
    with (
        suppress(KeyboardInterrupt),
        Services(database.host, database.port, services=1, instances=1, pool=3, **database.target) as services,
    ):
        services.set(rate=50, hold_ms=500)
        wait_for("work", lambda: services.counts().done > 0)
        pids = services.pids
        raise KeyboardInterrupt

    assert not any(map(is_running, pids))


def test_services_start_without_a_database():
    """Services start while their database is away, and count that it is."""
    with Services("127.0.0.1", 9, services=1, instances=1, pool=1, rate=20, connection_timeout_s=0.25) as services:
        wait_for("failures", lambda: services.counts().failed.get("connection", 0) > 0)
        counts = services.counts()

    assert counts.done == 0
    assert {"connection"} == set(counts.connections_failed)


def test_two_processes_use_one_build():
    """Who builds at the same time waits for the other, and gets the same folder."""
    from pooled_cluster.services.java import build

    found = []
    threads = [threading.Thread(target=lambda: found.append(build())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found[0] == found[1]
    assert (found[0] / "services.jar").is_file()
