"""An observation whose connection is lost, or whose statement is canceled, at any question."""

from collections.abc import Iterator

import psycopg
import pytest

from live.installed import NEWEST, VERSIONS, postgres_binaries
from plimsoll.causes.inspect import inspect
from plimsoll.errors import PlimsollError
from plimsoll.sources.postgres.connect import NoAnswer, Rows, ServerConnection
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.live

CANCELED = NoAnswer("canceling statement due to statement timeout", "57014")
LOST = NoAnswer("the connection is lost", is_connection_lost=True)


@pytest.fixture(scope="module", params=[VERSIONS[0], NEWEST])
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    with Postgres({"fsync": "off"}, binaries=postgres_binaries(request.param)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            connection.execute("create table kept as select generate_series(1, 1000) n")
        yield running


@pytest.mark.parametrize("fault", [CANCELED, LOST], ids=["canceled", "lost"])
def test_a_fault_at_any_question_is_an_answer_or_one_sentence(
    server: Postgres, fault: NoAnswer, monkeypatch: pytest.MonkeyPatch
):
    """Each of the questions fails once; what was read is judged, or an error of ours says why not."""
    real = ServerConnection.ask
    asked = 0
    failing = -1

    def ask(self: ServerConnection, *statements: str, lock: str = "") -> list[Rows]:
        nonlocal asked
        asked += 1
        if asked == failing:
            raise fault
        return real(self, *statements, lock=lock)

    monkeypatch.setattr(ServerConnection, "ask", ask)
    inspect(observe(server.dsn, duration_s=0.1, every_s=0.1))
    count = asked
    refused = []
    for number in range(1, count + 1):
        asked, failing = 0, number
        try:
            inspect(observe(server.dsn, duration_s=0.1, every_s=0.1))
        except PlimsollError as error:
            refused.append(str(error))

    assert count > 10
    # Without its first answers there is nothing to judge; later ones are gaps.
    assert 0 < len(refused) < count / 2, refused
    assert all(fault.reason in line for line in refused)
