"""Statements by their waiting for storage: what counts as I/O, shares, and the comparison."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from plimsoll.catalog.load import catalog
from plimsoll.causes.session_load import meaning_of, statement_load
from plimsoll.model.session_load import MOST_KEYS, SessionLoad, StorageWait, StretchKind, WaitLoad
from session_loads import COPY, SELECT, UPDATE, key, session_load, span

POSTGRES = catalog().wait_rules("postgres")


def test_the_bundled_load_is_divided_as_it_was_made():
    """Statements, users and hosts with their shares of the waiting, the largest first."""
    found = statement_load(session_load((0, 3600), (3600, 7200)), POSTGRES)

    assert pytest.approx(6.1) == found.io_sessions
    assert pytest.approx(7.5) == found.sessions
    assert [COPY, UPDATE, SELECT] == [use.text for use in found.statements]
    assert pytest.approx([3.5 / 6.1, 1.9 / 6.1, 0.7 / 6.1]) == [u.io_share for u in found.statements]
    assert pytest.approx(1.0) == found.listed_share
    assert [0.0, 0.0, 0.05] == [use.outside_io_sessions for use in found.statements]
    assert ["etl", "app"] == [use.text for use in found.users]


@pytest.mark.parametrize(
    ("engine", "kind", "name", "expected"),
    [
        ("postgres", "IO", "DataFileRead", (StorageWait.YES, "data reads")),
        ("aurora-postgresql", "IO", "IO:DataFileRead", (StorageWait.YES, "data reads")),
        ("postgres", "", "IO:WALWrite", (StorageWait.YES, "log")),
        ("postgres", "IO", "SLRURead", (StorageWait.YES, "other I/O")),
        ("postgres", "LWLock", "LWLock:BufferIO", (StorageWait.YES, "data reads")),
        ("postgres", "Lock", "transactionid", (StorageWait.NO, "")),
        ("postgres", "CPU", "CPU", (StorageWait.NO, "")),
        ("mariadb", "io", "io/file/innodb/innodb_data_file", (StorageWait.YES, "data")),
        ("mysql", "io", "wait/io/file/sql/binlog", (StorageWait.YES, "log")),
        ("aurora-mysql", "io", "io/redo_log_flush", (StorageWait.YES, "log")),
        ("mysql", "io", "io/table/sql/handler", (StorageWait.UNCLEAR, "storage engine")),
        ("mysql", "io", "io/socket/sql/client_connection", (StorageWait.NO, "network")),
        ("oracle-se2", "User I/O", "db file sequential read", (StorageWait.YES, "data")),
        ("oracle-ee", "Commit", "log file sync", (StorageWait.YES, "log")),
        ("custom-oracle-ee", "Concurrency", "latch free", (StorageWait.NO, "")),
        ("sqlserver-se", "Buffer IO", "PAGEIOLATCH_SH", (StorageWait.YES, "data reads")),
        ("sqlserver-web", "Network IO", "ASYNC_NETWORK_IO", (StorageWait.NO, "network")),
    ],
)
def test_wait_events_mean_what_the_engine_says(engine, kind, name, expected):
    """The most specific row counts, whether the type stands in the name or beside it."""
    wait = WaitLoad(type=kind, name=name, sessions=1.0)

    assert expected == meaning_of(wait, catalog().wait_rules(engine))


def test_an_engine_without_rows_is_not_judged():
    """What is I/O is then not known, and no share is invented."""
    assert () == catalog().wait_rules("db2-se")
    assert statement_load(session_load((0, 3600), None), ()) is None


def test_a_statement_that_is_missing_from_a_full_list_has_a_bound():
    """Of 25 statements the smallest bounds what is not listed; a shorter list is complete."""
    many = {f"SELECT {n}": {"IO:DataFileRead": 0.1 + n} for n in range(MOST_KEYS)}
    load = SessionLoad(why=StretchKind.CEILING, during=span(0, 60), outside=span(60, 120, many))
    found = statement_load(load, POSTGRES)

    assert (0.1, True) == (found.statements[0].outside_io_sessions, found.statements[0].outside_is_bound)
    few = statement_load(replace(load, outside=span(60, 120, {})), POSTGRES)
    assert (0.0, False) == (few.statements[0].outside_io_sessions, few.statements[0].outside_is_bound)


def test_statements_that_did_not_wait_are_left_out():
    """A statement that only used the CPU is not named for I/O."""
    made = span(0, 60, {"SELECT 1": {"CPU:CPU": 5.0}, COPY: {"IO:WALWrite": 1.0}})
    found = statement_load(SessionLoad(why=StretchKind.CEILING, during=made), POSTGRES)

    assert [COPY] == [use.text for use in found.statements]
    assert (6.0, 1.0) == (found.sessions, found.io_sessions)


@given(
    st.dictionaries(
        st.text(max_size=20), st.dictionaries(st.text(max_size=20), st.floats(0, 1e6), max_size=4), max_size=6
    )
)
def test_any_names_give_shares_between_zero_and_one(statements):
    """Whatever a server calls its waits and statements, sums stay sums and shares stay shares."""
    during = replace(span(0, 60, statements), users=tuple(key(t, s) for t, s in statements.items()))
    found = statement_load(SessionLoad(why=StretchKind.WAITING, during=during, outside=during), POSTGRES)

    assert found.io_sessions <= found.sessions * (1 + 1e-9)
    assert all(0 <= use.io_share <= 1 for use in (*found.statements, *found.users))
