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
    BEFORE, moment_s=12.0, transaction_count=1500, rollback_count=14, read_bytes=8192 * 101, written_bytes=16384
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


TRANSACTIONS = {Metric.TRANSACTIONS_PER_S: 250, Metric.ROLLBACKS_PER_S: 2}
BYTES = {Metric.DATABASE_READ_BYTES_PER_S: 8192 * 50, Metric.DATABASE_WRITE_BYTES_PER_S: 8192}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, TRANSACTIONS | BYTES),
        # A dropped database or reset statistics make the sums incomparable, even where they grew.
        ({"transaction_epoch": "2 2026-11-20"}, BYTES),
        ({"transaction_epoch": "3 2026-11-21"}, BYTES),
        ({"transaction_count": 999}, BYTES),
        # pg_stat_io is reset by itself.
        ({"io_epoch": "2026-11-21"}, TRANSACTIONS),
    ],
)
def test_rates_are_differences_per_second_and_gaps_across_a_reset(change, expected):
    """Transactions and bytes count up; the rate is the difference over the time between."""
    assert expected == rates_between(BEFORE, replace(AFTER, **change))


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
    assert {"connection_count", "active_session_count", "waiting_session_count"} == {gap.metric for gap in gaps}
    assert () == gaps_of(FACTS)


@pytest.mark.parametrize(
    ("version", "missing", "has", "has_not"),
    [
        (180006, [], "read_bytes", "op_bytes"),
        (170011, ["database_write_bytes_per_s"], "reads * op_bytes", None),
        (150018, ["database_read_bytes_per_s", "database_write_bytes_per_s"], "", "pg_stat_io"),
    ],
)
def test_each_version_is_asked_what_its_views_have(version, missing, has, has_not):
    """Before 16 there is no pg_stat_io; before 18 it has no WAL, and op_bytes left with 18."""
    query = recording.reading_query(version)

    assert missing == [gap.metric for gap in gaps_of(replace(FACTS, version_number=version))]
    assert has in query
    assert has_not is None or has_not not in query


@pytest.mark.parametrize(
    ("dsn", "password"),
    [
        ("host=h password=s3cret%x", "s3cret%x"),
        ("postgresql://me:s3cret%25x@h/db", "s3cret%25x"),
        ("postgresql://me:s3cret%25x@h/db", "s3cret%x"),
        pytest.param("host=h", "hunter2", id="libpq reads PGPASSWORD by itself"),
    ],
)
def test_a_password_is_struck_out_of_what_a_server_says(dsn: str, password: str, monkeypatch):
    """In every form in which it could be quoted."""
    monkeypatch.setenv("PGPASSWORD", "hunter2")

    assert "bad ******** here" == without_password(f"bad {password} here", dsn)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        # A UNIX socket has no address and is always this machine.
        *((address, True) for address in ("", "127.0.0.1", "::1", "/run/postgresql")),
        # 203.0.113.0/24 and 2001:db8::/32 are nobody's.
        *((address, False) for address in ("203.0.113.7", "2001:db8::7")),
    ],
)
def test_loopback_and_sockets_are_here(address: str, expected):
    assert expected is is_here(address)


@pytest.mark.parametrize(
    "dsn", ["host=h s3cret", "postgresql://me:s3cret@[::1/db", "s3cret", "postgresql://me:pass@s3cret@127.0.0.1/db"]
)
def test_a_dsn_that_cannot_be_read_is_not_repeated(dsn: str):
    """libpq would quote the part it stumbled over, which may be the password."""
    with pytest.raises(UsageError) as raised:
        DatabaseProbe(dsn, lambda: 0.0).open()

    assert "s3cret" not in raised.value.message + raised.value.hint
    assert None is raised.value.__cause__
    assert "s3cret" not in without_password("s3cret", dsn)
