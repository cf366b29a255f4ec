"""A real PostgreSQL in which one thing makes the load: the message that a webhook gets, and what it never has."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

import watched
from fixtures.receivers.doubles import Recorder
from live.counted import flush_statistics
from live.installed import NEWEST, postgres_binaries
from live.prometheus_server import wait_for
from live.share_cases import PARTS, SETTINGS, SETUP, Work
from live.working import working
from plimsoll.app.watched_databases import databases_of, load_of
from plimsoll.errors import UsageError
from plimsoll.watch.config import InspectionSettings, TargetSettings, WatchSettings, open_receivers
from plimsoll.watch.delivery import Delivery
from plimsoll.watch.inspecting import DatabaseWatch, DatabaseWatches
from plimsoll.watch.law.rulebook import RuleTables
from plimsoll.watch.law.rules.bound import BoundSettings
from plimsoll.watch.law.rules.cause import CauseSettings
from plimsoll.watch.receivers.settings import WebhookSettings
from plimsoll.watch.targets import Computations
from plimsoll_lab.servers.postgres import Postgres
from scenes import RECEIVER, Scene

pytestmark = pytest.mark.live

WINDOW_S = 4
OTHERS = (
    "select application_name, state from pg_stat_activity "
    "where backend_type = 'client backend' and pid <> pg_backend_pid()"
)
TARGET = TargetSettings(target=f"rds:{watched.NAME}", dsn_env="DSN")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server with small buffers on which nothing runs by itself."""
    with Postgres(SETTINGS, binaries=postgres_binaries(NEWEST)) as started:
        with psycopg.connect(started.dsn, autocommit=True) as connection:
            for statement in SETUP:
                connection.execute(statement.encode())
            flush_statistics(connection)
        yield started


def work_and_count(work: Work) -> Callable[[psycopg.Connection, int], None]:
    """The work, counted each time."""

    def one(connection: psycopg.Connection, _turn: int) -> None:
        work(connection)
        flush_statistics(connection)

    return one


class Watched:
    """A scene whose instance has a real database, inspected when the test says so."""

    def __init__(self, folder: Path, server: Postgres, hook: Recorder) -> None:
        settings = WatchSettings(
            targets=(TARGET,),
            receivers=(WebhookSettings(name=RECEIVER, url=hook.url),),
            inspection=InspectionSettings(window_s=WINDOW_S),
            rules=RuleTables(bound=BoundSettings(is_on=False), cause=CauseSettings(for_minutes=30, clear_minutes=30)),
        )
        self.scene = Scene(folder, "." * 300, settings=settings)
        (observe,) = databases_of(TARGET, settings, {"DSN": server.dsn}).values()
        self.database = DatabaseWatch(
            watched.NAME,
            observe,
            interval_s=900.0,
            may_read=lambda: True,
            steady_s=self.scene.clock.steady_s,
            log=self.scene.log,
        )
        databases = DatabaseWatches({(self.scene.target.name, watched.NAME): self.database}, load_of)
        self.ledger = self.scene.open()
        self.watch = self.scene.watch(self.ledger)
        self.watch._judge._computations = Computations(
            diagnose=self.scene.diagnose,
            advise=lambda *_: ("Buy a larger class",),
            draw=lambda *_: b"",
            weigh=load_of,
            load=databases.load,
        )
        (self.receiver,) = open_receivers(settings, {})

    def play(self, minutes: int) -> None:
        """Let so many minutes pass for the metrics, with a turn of the loop in each."""
        for _ in range(minutes):
            self.scene.play(1, self.watch, self.ledger)
            now_s = self.scene.clock.now_s
            Delivery(self.receiver, self.ledger, now_s=now_s, log=self.scene.log).send_due()


def played(folder: Path, server: Postgres, work: Work, hook: Recorder) -> tuple[list[dict[str, Any]], Watched]:
    """Three inspections a quarter of an hour apart while the work runs, and two after it."""
    one = Watched(folder, server, hook)
    one.scene.send = lambda _ledger: None  # type: ignore[method-assign]
    with one.ledger:
        with working(server.dsn, work_and_count(work)):
            for _ in range(3):
                one.database.inspect()
                one.play(15)
        for _ in range(4):
            one.database.inspect()
            one.play(15)
    return [sent.json for sent in hook.sent], one


@pytest.mark.parametrize(
    ("name", "words"),
    [("values out of line", "rewritten TOAST values of public.docs.body"), ("index scan", "one statement")],
)
def test_a_cause_is_named_with_its_share_and_what_to_do(server: Postgres, tmp_path: Path, name: str, words: str):
    """One message half an hour after it was first seen, one an hour after it ended; no text of a statement in either."""
    with Recorder() as hook:
        got, one = played(tmp_path, server, PARTS[name].work, hook)

    assert [(m["rule"], m["state"], m["number"]) for m in got] == [("cause", "bound", 2), ("cause", "ok", 3)], (
        one.scene.lines
    )
    first = got[0]
    assert first["ceiling"] == words
    assert f" of its load: {words}, " in first["title"]
    assert first["advice"]
    assert first["advice"][0] != "Buy a larger class"
    assert first["severity"] == "warning"
    assert "no longer has one cause for most of its load" in got[1]["title"]
    text = str(got).lower()
    assert "select " not in text.replace("explain (analyze", "")
    assert "where id" not in text


def test_a_database_that_refuses_hinders_nothing(server: Postgres, tmp_path: Path):
    """A wrong role: said once, the rule is unknown, and the loop judges the storage as before."""
    settings = WatchSettings(targets=(TARGET,), inspection=InspectionSettings(window_s=WINDOW_S))
    (observe,) = databases_of(TARGET, settings, {"DSN": f"{server.dsn} user=nobody"}).values()
    scene = Scene(tmp_path)
    database = DatabaseWatch(
        watched.NAME, observe, interval_s=900.0, may_read=lambda: True, steady_s=scene.clock.steady_s, log=scene.log
    )
    databases = DatabaseWatches({(scene.target.name, watched.NAME): database}, load_of)
    database.inspect()
    database.inspect()
    with scene.open() as ledger:
        watch = scene.watch(ledger)
        watch._judge._computations = replace(watch._judge._computations, load=databases.load)
        scene.play(120, watch, ledger)
        states = [s for s in watch._memory.standings(watched.INSTANCE) if s.subject.rule == "cause"]

    assert [m.state.value for m in scene.book.got] == ["bound", "ok"]
    assert len(scene.events("database not inspected")) == 1
    assert databases.load(scene.target.name, watched.NAME, watched.diagnosis()).missing.startswith(  # type: ignore[union-attr]
        "could not be inspected: "
    )
    assert all(s.unknown_since_s for s in states)


def test_an_observation_leaves_nothing_and_uses_one_connection(server: Postgres):
    """It is as harmless as 'plimsoll inspect': one session, read only, closed at its end."""
    settings = WatchSettings(targets=(TARGET,), inspection=InspectionSettings(window_s=2))
    (observe,) = databases_of(TARGET, settings, {"DSN": server.dsn}).values()
    seen: list[tuple[str, str]] = []
    with psycopg.connect(server.dsn, autocommit=True) as connection:

        def looked(seconds: float) -> None:
            threading.Event().wait(seconds)
            seen.extend(connection.execute(OTHERS).fetchall())

        observe(looked)
        wait_for("its end", lambda: not connection.execute(OTHERS).fetchall())

    assert {state for _, state in seen} == {"idle"}
    assert len({name for name, _ in seen}) == 1


@pytest.mark.parametrize(
    ("target", "cause"),
    [
        (TargetSettings(target="rds:*", dsn_env="DSN"), "the target 'rds:*' names several instances"),
        (TargetSettings(target="prom:http://p", dsn_env="DSN"), "the target 'prom:http://p' is a s"),
        (TargetSettings(target="rds:orders", dsn_env="ABSENT"), "target 'rds:orders': instance"),
        (TargetSettings(target="rds:orders", dsn_env="WRONG"), "target 'rds:orders': instance"),
        (TargetSettings(target="rds:orders", dsn_env="A", dsn_file="b"), "target 'rds:orders': i"),
    ],
)
def test_a_dsn_that_cannot_be_used_is_refused_before_anything_starts(target: TargetSettings, cause: str):
    """One sentence, without the DSN."""
    with pytest.raises(UsageError) as refused:
        databases_of(target, WatchSettings(targets=(target,)), {"DSN": "", "WRONG": "pass=word@x"})

    assert refused.value.message.startswith(cause)
    assert "word" not in refused.value.message
