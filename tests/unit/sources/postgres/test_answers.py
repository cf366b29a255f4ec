"""A server that stops answering: every wait has an end; real sockets, no server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from msgspec.structs import replace
from psycopg.rows import tuple_row

from fixtures.stalled_server import Stall, StalledServer
from plimsoll.errors import Unreachable
from plimsoll.sources.postgres import answers, session
from plimsoll.sources.postgres.answers import Session, SilentServerError
from plimsoll.sources.postgres.pg_stat import refusal
from plimsoll.sources.postgres.session import open_session
from plimsoll.sources.postgres.statements import terms
from plimsoll.sources.postgres.statements.terms import RECORDING

SHORT = replace(RECORDING, answer_s=1)
STALLS = pytest.mark.parametrize("stall", Stall, ids=lambda one: one.value)


@contextmanager
def connected(stall: Stall, **changes: object) -> Iterator[tuple[Session, str]]:
    """A session that stalls, with deadlines of a moment, and its DSN."""
    with StalledServer(stall) as server:
        dsn = f"host=127.0.0.1 port={server.port} user=u dbname=d"
        with open_session(dsn, SHORT, tuple_row) as connection:
            for name, value in {"answer_s": 0.3, **changes}.items():
                setattr(connection, name, value)
            yield connection, dsn


@STALLS
def test_an_answer_that_does_not_come_ends(stall: Stall):
    """In silence, with a byte now and then, and in the middle of a row; nothing waits for that connection again."""
    with connected(stall) as (connection, _):
        with pytest.raises(SilentServerError, match="no answer within"):
            connection.execute("select 1")

        assert connection.closed


@STALLS
@pytest.mark.parametrize(
    "act",
    [
        lambda c: c.cursor(binary=True).execute("select 1"),
        lambda c: c.execute("select %s", (1,)),
        lambda c: c.cursor().executemany("select %s", [(1,), (2,)]),
        lambda c: c.cursor().copy("copy t from stdin").__enter__(),
        lambda c: c.rollback() if not c.autocommit else c.execute("rollback"),
    ],
    ids=["binary", "parameters", "many", "copy", "rollback"],
)
def test_every_way_to_ask_ends(stall: Stall, act: Callable[[Session], object]):
    """In the simple and the extended protocol, in a pipeline, at the beginning of a copy, and of a rollback."""
    with connected(stall) as (connection, _), pytest.raises(SilentServerError):
        act(connection)


def test_it_is_no_error_that_is_tried_again():
    """Operational errors are; a silent server would be awaited again as often."""
    assert not issubclass(SilentServerError, psycopg.OperationalError)


def test_the_sentence_names_the_silence():
    """The server let us in, so host and port are right."""
    with connected(Stall.SILENT) as (connection, dsn):
        with pytest.raises(SilentServerError) as caught:
            connection.execute("select 1")
        found = refusal(caught.value, dsn)

    assert isinstance(found, Unreachable)
    assert found.message.startswith("PostgreSQL stopped answering: no answer within")
    assert "paused" in found.hint


def test_a_long_wait_asks_whether_the_server_answers_at_all(monkeypatch: pytest.MonkeyPatch):
    """A statement may take an hour; a server that answers nobody is not awaited so long."""
    monkeypatch.setattr(answers, "PATIENCE_S", 0.2)
    monkeypatch.setattr(session, "RECORDING", SHORT)
    with connected(Stall.SILENT, answer_s=3600.0) as (connection, _), pytest.raises(SilentServerError):
        connection.execute("select 1")


def test_a_long_wait_goes_on_while_the_server_answers(monkeypatch: pytest.MonkeyPatch):
    """The second time it does not."""
    monkeypatch.setattr(answers, "PATIENCE_S", 0.1)
    told = iter([True, True, False])
    with (
        connected(Stall.SILENT, answer_s=None, does_server_answer=lambda: next(told)) as (connection, _),
        pytest.raises(SilentServerError),
    ):
        connection.execute("select 1")

    assert [] == list(told)


@pytest.mark.parametrize("one", terms.ALL, ids=lambda one: one.statements[0])
def test_the_server_ends_a_statement_first(one: terms.Terms):
    """So that its own sentence is the one that people read."""
    assert one.answer_s >= (one.statement_s or 0) + 5
