"""PostgreSQL's counters become rates; passwords stay where they are."""

from dataclasses import replace

import pytest

from plimsoll.errors import UsageError
from plimsoll.model.metric import Metric
from plimsoll.sources.postgres.pg_stat import (
    DatabaseCounters,
    DatabaseProbe,
    ServerFacts,
    gaps_of,
    is_here,
    levels_of,
    rates_between,
    without_password,
)
from plimsoll.sources.postgres.statements import recording

BEFORE = DatabaseCounters(
    moment_s=10.0,
    transaction_count=1000,
    rollback_count=10,
    transaction_epoch="3 2026-11-20",
    read_bytes=8192,
    written_bytes=0,
    io_epoch="2026-11-20",
    connection_count=12,
    active_count=3,
    waiting_count=1,
)
AFTER = replace(
    BEFORE,
    moment_s=12.0,
    transaction_count=1500,
    rollback_count=14,
    read_bytes=8192 * 101,
    written_bytes=16384,
)
FACTS = ServerFacts(
    place="localhost:5432/orders",
    role="app",
    version="18.6",
    version_number=180006,
    connection_max=100,
    data_directory=None,
    sees_all_sessions=True,
    is_here=True,
)


def test_rates_are_differences_per_second():
    """Transactions and bytes count up; the rate is the difference over the time between."""
    rates = rates_between(BEFORE, AFTER)

    expected = {
        Metric.TRANSACTIONS_PER_S: 250,
        Metric.ROLLBACKS_PER_S: 2,
        Metric.DATABASE_READ_BYTES_PER_S: 8192 * 50,
        Metric.DATABASE_WRITE_BYTES_PER_S: 8192,
    }
    assert expected == rates


@pytest.mark.parametrize(
    "change",
    [
        {"transaction_epoch": "2 2026-11-20"},
        {"transaction_epoch": "3 2026-11-21"},
        {"transaction_count": 999},
    ],
)
def test_transactions_across_a_reset_are_a_gap(change):
    """A dropped database or reset statistics make the sums incomparable, even where they grew."""
    rates = rates_between(BEFORE, replace(AFTER, **change))

    assert Metric.TRANSACTIONS_PER_S not in rates
    assert Metric.DATABASE_READ_BYTES_PER_S in rates


def test_bytes_across_a_reset_are_a_gap():
    """pg_stat_io is reset by itself."""
    rates = rates_between(BEFORE, replace(AFTER, io_epoch="2026-11-21"))

    assert {Metric.TRANSACTIONS_PER_S: 250, Metric.ROLLBACKS_PER_S: 2} == rates


def test_what_is_hidden_is_not_zero():
    """A role that may not see sessions gives no count of them."""
    hidden = replace(BEFORE, connection_count=None, active_count=None, waiting_count=None)

    assert {} == levels_of(hidden)
    assert 12 == levels_of(BEFORE)[Metric.CONNECTION_COUNT]
    assert 1 == levels_of(BEFORE)[Metric.WAITING_SESSION_COUNT]


def test_a_missing_right_names_its_grant():
    """The remedy can be pasted; a role that needs quotes gets them."""
    gaps = gaps_of(replace(FACTS, sees_all_sessions=False, role='Odd "One'))

    assert {'GRANT pg_monitor TO "Odd ""One";'} == {gap.remedy for gap in gaps}
    assert {"connection_count", "active_session_count", "waiting_session_count"} == {
        gap.metric for gap in gaps
    }
    assert () == gaps_of(FACTS)


def test_an_old_server_says_what_it_cannot_count():
    """Before 16 there is no pg_stat_io; before 18 it has no WAL."""
    of_15 = gaps_of(replace(FACTS, version="15.18", version_number=150018))
    of_17 = gaps_of(replace(FACTS, version="17.11", version_number=170011))

    assert ["database_read_bytes_per_s", "database_write_bytes_per_s"] == [g.metric for g in of_15]
    assert ["database_write_bytes_per_s"] == [g.metric for g in of_17]


def test_each_version_is_asked_what_its_views_have():
    """op_bytes left pg_stat_io with 18, the view came with 16."""
    assert "op_bytes" not in recording.reading_query(180006)
    assert "read_bytes" in recording.reading_query(180006)
    assert "reads * op_bytes" in recording.reading_query(170011)
    assert "pg_stat_io" not in recording.reading_query(150018)


@pytest.mark.parametrize(
    ("dsn", "text"),
    [
        ("host=h password=s3cret%x", "bad s3cret%x here"),
        ("postgresql://me:s3cret%25x@h/db", "bad s3cret%25x here"),
        ("postgresql://me:s3cret%25x@h/db", "bad s3cret%x here"),
    ],
)
def test_a_password_is_struck_out_of_what_a_server_says(dsn: str, text: str):
    """In every form in which it could be quoted."""
    assert "bad ******** here" == without_password(text, dsn)


def test_a_password_of_the_environment_is_struck_out_too(monkeypatch):
    """libpq reads PGPASSWORD by itself."""
    monkeypatch.setenv("PGPASSWORD", "hunter2")

    assert "no ********" == without_password("no hunter2", "host=h")


@pytest.mark.parametrize(
    "dsn",
    [
        "host=h s3cret",
        "postgresql://me:s3cret@[::1/db",
        "s3cret",
        "postgresql://me:pass@s3cret@127.0.0.1/db",
    ],
)
def test_a_dsn_that_cannot_be_read_is_not_repeated(dsn: str):
    """libpq would quote the part it stumbled over, which may be the password."""
    with pytest.raises(UsageError) as raised:
        DatabaseProbe(dsn, lambda: 0.0).open()

    assert "s3cret" not in raised.value.message + raised.value.hint
    assert None is raised.value.__cause__
    assert "s3cret" not in without_password("s3cret", dsn)


@pytest.mark.parametrize("address", ["", "127.0.0.1", "::1", "/run/postgresql"])
def test_loopback_and_sockets_are_here(address: str):
    """A UNIX socket has no address and is always this machine."""
    assert is_here(address)


def test_an_address_of_documentation_is_elsewhere():
    """203.0.113.0/24 and 2001:db8::/32 are nobody's."""
    assert not is_here("203.0.113.7")
    assert not is_here("2001:db8::7")
