"""Rebuilding, resharding, verifying and cleaning while events and searches go on."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flow import (
    Indexer,
    Producing,
    asset,
    changed,
    deleted,
    environment,
    product,
    query,
    supplier,
    wait_for,
    wait_until_quiet,
)
from msgspec.structs import replace

from search_service.cli import main
from search_service.engine import Engine, EngineError, Write
from search_service.mapping import index_body
from search_service.settings import Settings
from search_service.setup_command import set_up
from search_service.status_command import status_of

PRODUCTS = 300
BEHIND_MOST = 100
"""With more events than this not yet applied, the load waits."""


def admin(settings: Settings, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "search_service", "admin", *words],
        env=environment(settings),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def filled(settings: Settings, producing: Producing, indexer: Indexer) -> Settings:
    """A service with products and a running indexer."""
    producing.send(changed(supplier()), *(changed(product(n)) for n in range(PRODUCTS)))
    indexer.start()
    wait_until_quiet(settings)
    return settings


class Probe:
    """Searches again and again; counts failures and searches with too few hits."""

    def __init__(self, settings: Settings, least: int) -> None:
        self.searches = self.failures = self.incomplete = 0
        self._settings = settings
        self._least = least
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        with Engine(self._settings.engine_url) as engine:
            while not self._stop.is_set():
                self.searches += 1
                try:
                    found = engine.count(self._settings.alias, {"term": {"is_deleted": False}})
                except EngineError:
                    self.failures += 1
                    continue
                self.incomplete += found < self._least


@contextmanager
def loaded(settings: Settings, producing: Producing) -> Iterator[Probe]:
    """
    Events and searches all the time; afterwards everything is applied and indexed.

    Events come as fast as they are applied: a slow machine would need longer and longer to catch up afterwards.
    """
    stop = threading.Event()

    def load() -> None:
        version = 2
        while not stop.is_set():
            if status_of(settings).lag_events > BEHIND_MOST:
                time.sleep(0.1)
                continue
            producing.send(*(changed(product(n, price_cents=version), version) for n in range(0, PRODUCTS, 7)))
            producing.send(changed(supplier(name=f"Name {version}"), version), changed(asset(version), version))
            version += 1

    thread = threading.Thread(target=load)
    probe = Probe(settings, PRODUCTS)
    with probe.running():
        thread.start()
        try:
            yield probe
        finally:
            stop.set()
            thread.join()
        wait_until_quiet(settings)


def test_resharding_under_load_fails_no_search(filled: Settings, producing: Producing, indexer: Indexer):
    """
    Events are applied all the time; afterwards the new index is equal to the copy and the old one can go.
    """
    with loaded(filled, producing) as probe:
        built = [admin(replace(filled, batch_documents=20), "rebuild", "--shards", str(n)) for n in (3, 1)]
        dropped = admin(filled, "drop", f"{filled.prefix}-000001")
    verified = admin(filled, "verify")
    with Engine(filled.engine_url) as engine:
        live = engine.indexes_of(filled.alias)

    assert [0, 0, 0] == [one.returncode for one in (*built, dropped)], [one.stderr for one in built]
    assert (f"{filled.prefix}-000003",) == live
    assert probe.searches > 20
    assert (0, 0) == (probe.failures, probe.incomplete)
    assert 0 == verified.returncode, verified.stdout
    assert "equal" in verified.stdout


def test_a_mapping_is_changed_under_load(filled: Settings, producing: Producing, indexer: Indexer, tmp_path: Path):
    """
    From an index of an earlier version of the service, which lacks a field, to one with another analyzer.
    """
    # As if an earlier version had created the live index: its documents have no country.
    old = f"{filled.prefix}-000001"
    query(filled, "UPDATE generation SET body = body #- '{mappings,properties,country}'")
    ((body,),) = query(filled, "SELECT body FROM generation")
    with Engine(filled.engine_url) as engine:
        engine.delete_index(old)
        engine.create_index(old, body)
        engine.point_alias(filled.alias, old)
        admin(filled, "verify", "--repair")
        wait_until_quiet(filled)
        (before,) = engine.search(filled.alias, {"query": {"term": {"id": "p-1"}}})["hits"]["hits"]
        no_case = {"brand": {"type": "keyword", "normalizer": "lowercase"}}
        change = tmp_path / "mapping.json"
        change.write_text(json.dumps({"properties": no_case}))
        with loaded(filled, producing) as probe:
            words = ("rebuild", "--mapping", str(change))
            built = admin(replace(filled, batch_documents=20), *words)
        verified = admin(filled, "verify")
        found = engine.count(filled.alias, {"term": {"brand": "ALDER"}})
        (after,) = engine.search(filled.alias, {"query": {"term": {"id": "p-1"}}})["hits"]["hits"]

    assert 0 == built.returncode, built.stderr
    assert (0, 0) == (probe.failures, probe.incomplete)
    assert 0 == verified.returncode, verified.stdout
    assert "country" not in before["_source"]
    assert "DE" == after["_source"]["country"]
    assert PRODUCTS == found


@pytest.mark.parametrize(
    ("mapping", "sentence"),
    [
        ("{", "is not a JSON object"),
        ("[]", "is not a JSON object"),
        ('{"fields": {}}', "the mapping has 'fields'"),
        ('{"properties": {"color": {"type": "keyword"}}}', "'color' is no field of a document"),
        ('{"properties": {"version": {"type": "keyword"}}}', "'version' must stay as it is"),
        ('{"properties": {"brand": {"type": "colour"}}}', "colour"),
        (None, "cannot be read"),
    ],
)
def test_a_mapping_that_cannot_be_is_one_sentence(
    settings: Settings, tmp_path: Path, mapping: str | None, sentence: str
):
    """And a rebuild that was begun with another can be dropped."""
    file = tmp_path / "mapping.json"
    if mapping is not None:
        file.write_text(mapping)
    refused = admin(settings, "rebuild", "--mapping", str(file))
    again = admin(settings, "rebuild")
    begun = "is being built with another mapping" in again.stderr
    dropped = admin(settings, "drop", f"{settings.prefix}-000002") if begun else again

    assert 2 == refused.returncode
    assert sentence in refused.stderr
    assert "Traceback" not in refused.stderr
    assert 0 == dropped.returncode


def test_a_rebuild_that_was_killed_goes_on_where_it_was(filled: Settings, indexer: Indexer):
    """What was filled in is not filled in again, and what changed meanwhile is there."""
    slow = replace(filled, batch_documents=5)
    with subprocess.Popen(
        [sys.executable, "-m", "search_service", "admin", "rebuild", "--shards", "1"],
        env=environment(slow),
        stdout=subprocess.DEVNULL,
    ) as killed:
        progress = "SELECT after_product_id FROM generation WHERE state = 'building'"
        wait_for("progress", lambda: query(filled, progress) not in ([], [("",)]))
        killed.send_signal(signal.SIGKILL)
    ((reached,),) = query(filled, progress)
    wait_for("the end of the lock", lambda: admin(filled, "verify").returncode != 2)
    other = admin(slow, "rebuild", "--shards", "4")
    resumed = admin(slow, "rebuild", "--shards", "1")
    ((states,),) = query(filled, "SELECT string_agg(state, ' ' ORDER BY name) FROM generation")

    assert reached
    assert 2 == other.returncode
    assert "is being built with 1 shards" in other.stderr
    assert 0 == resumed.returncode, resumed.stderr
    assert "retired live" == states
    assert f"{PRODUCTS} of {PRODUCTS} products" in resumed.stdout


def test_a_crash_between_the_alias_and_the_database_is_mended(filled: Settings, indexer: Indexer):
    """
    Both indexes are written until the database says which one is live; the same command ends it.
    """
    admin(filled, "rebuild", "--shards", "1")
    old, new = f"{filled.prefix}-000001", f"{filled.prefix}-000002"
    statement = "UPDATE generation SET state = 'building' WHERE name = '{}' RETURNING 1"
    assert query(filled, statement.format(new))
    assert query(filled, f"UPDATE generation SET state = 'live' WHERE name = '{old}' RETURNING 1")
    done = admin(filled, "rebuild", "--shards", "1")

    assert 0 == done.returncode, done.stderr
    assert [(old, "retired"), (new, "live")] == query(filled, "SELECT name, state FROM generation ORDER BY name")


def test_differences_are_listed_and_repaired(filled: Settings, indexer: Indexer):
    """
    A document that is missing, one that is old, one that is too new, and one that nobody knows.
    """
    index = f"{filled.prefix}-000001"
    # The supplier's event may have come before the products or after them, which raises their versions.
    versions = dict(query(filled, "SELECT id, document_version FROM product"))
    with Engine(filled.engine_url) as engine:
        stranger = {"id": "stranger", "version": 3, "is_deleted": False, "name": "Stranger"}
        newer = {"id": "p-2", "version": 900, "is_deleted": False, "name": "From another life"}
        engine.bulk(
            [
                # As if somebody had removed it by hand: the engine remembers the next version for a minute.
                Write(index=index, id="p-1", version=versions["p-1"] + 1, document=None),
                Write(index=index, id="p-2", version=900, document=newer),
                Write(index=index, id="stranger", version=3, document=stranger),
            ]
        )
    found = admin(filled, "verify")
    admin(filled, "verify", "--repair")
    wait_until_quiet(filled)
    repaired = admin(filled, "verify")

    assert 1 == found.returncode
    assert "3 documents differ" in found.stdout
    assert f"p-1: the database has version {versions['p-1']}, the index nothing" in found.stdout
    assert f"p-2: the database has version {versions['p-2']}, the index version 900" in found.stdout
    assert "stranger: the database has nothing, the index version 3" in found.stdout
    assert 0 == repaired.returncode, repaired.stdout


def test_thousands_of_differences_are_repaired(filled: Settings, indexer: Indexer):
    """In transactions of bounded size: the index was emptied by hand."""
    statement = (
        "INSERT INTO product (id, version, is_deleted, at, sku, name, description, brand, price_cents, currency, "
        "category_id, supplier_id, attributes, document_version) SELECT 'q-' || n, 1, false, now(), 'q', 'Lamp', '', "
        "'', 1, 'EUR', 'c-1', 's-1', '{}', 1 FROM generate_series(1, 2500) n"
    )
    query(filled, statement)
    found = admin(filled, "verify", "--repair")
    wait_until_quiet(filled)
    repaired = admin(filled, "verify")

    assert "2500 documents differ" in found.stdout
    assert 0 == repaired.returncode, repaired.stdout


def test_verifying_under_load_finds_no_false_difference(filled: Settings, producing: Producing, indexer: Indexer):
    """What is on its way is no difference."""
    stop = threading.Event()

    def load() -> None:
        version = 2
        while not stop.is_set():
            producing.send(*(changed(product(n, price_cents=version), version) for n in range(50)))
            version += 1

    thread = threading.Thread(target=load)
    thread.start()
    found = [admin(filled, "verify") for _ in range(3)]
    stop.set()
    thread.join()

    assert [0, 0, 0] == [one.returncode for one in found], found[0].stdout


def test_tombstones_are_purged_and_stay_gone(filled: Settings, producing: Producing, indexer: Indexer):
    """
    A product that was deleted is not brought back by a late event, and a new version of it is found again.
    """
    producing.send(*(deleted("product", f"p-{n}", 5) for n in range(10)))
    wait_until_quiet(filled)
    purged = [admin(filled, "purge", "--days", "1").stdout for _ in range(2)]
    producing.send(changed(product(1, name="Late"), 4), changed(product(2, name="Again"), 6))
    wait_until_quiet(filled)
    with Engine(filled.engine_url) as engine:
        left = engine.count(filled.alias)
        (hit,) = engine.search(filled.alias, {"query": {"term": {"id": "p-2"}}})["hits"]["hits"]

    assert purged[0].startswith("10 tombstones removed")
    assert purged[1].startswith("0 tombstones removed")
    assert PRODUCTS - 9 == left
    assert "Again" == hit["_source"]["name"]
    assert 0 == admin(filled, "verify").returncode


def test_one_admin_command_at_a_time(filled: Settings, indexer: Indexer):
    from search_service.admin.rebuild import alone
    from search_service.database import connect

    database = connect(filled.database_url, size=1)
    with alone(database):
        refused = admin(filled, "verify")
    database.dispose()
    allowed = admin(filled, "verify")

    assert (2, 0) == (refused.returncode, allowed.returncode)
    assert "another admin command is running" in refused.stderr


def test_what_an_operator_must_not_do_is_refused(filled: Settings, indexer: Indexer):
    """Dropping what is live or unknown, impossible shards, an index that is not there."""
    live = f"{filled.prefix}-000001"
    tried = [
        admin(filled, "drop", live),
        admin(filled, "drop", "nothing"),
        admin(filled, "rebuild", "--shards", "0"),
        admin(filled, "verify", "--index", "nothing"),
        admin(filled, "rewind"),
    ]

    assert [2] * 5 == [one.returncode for one in tried]
    assert [2, 2, 1, 2, 2] == [len(one.stderr.splitlines()) for one in tried], [t.stderr for t in tried]


def test_a_new_copy_does_not_write_to_the_index_of_an_earlier_one(settings: Settings):
    """Its versions begin again, and the old documents would be newer."""
    query(settings, "DELETE FROM generation RETURNING 1")
    again = set_up(settings)

    assert f"{settings.prefix}-000002" == again


def test_a_late_write_does_not_bring_a_dropped_index_back(settings: Settings):
    """It is refused, and no index without mappings appears."""
    with Engine(settings.engine_url) as engine:
        engine.create_index("gone", index_body(shards=1))
        engine.delete_index("gone")
        (outcome,) = engine.bulk([Write(index="gone", id="1", version=1, document={"id": "1"})])
        found = engine.exists("gone") or engine.exists("gone-write")

    assert outcome.is_gone
    assert not outcome.is_done
    assert not found


def test_setting_up_twice_at_the_same_time_makes_one_index(settings: Settings):
    programs = [
        subprocess.Popen([sys.executable, "-m", "search_service", "setup"], env=environment(settings)) for _ in range(3)
    ]
    statuses = [program.wait(60) for program in programs]

    assert [0, 0, 0] == statuses
    assert [(f"{settings.prefix}-000001",)] == query(settings, "SELECT name FROM generation")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "required: COMMAND"),
        (("fly",), "invalid choice: 'fly'"),
        (("load", "--rate", "fast"), "--rate: invalid float value: 'fast'"),
        (("load", "--products", "0"), "--products must be from 1"),
    ],
)
def test_wrong_words_are_one_sentence(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str):
    assert 2 == main(words)
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("command", ["setup", "status", "indexer", "load", "admin"])
def test_servers_that_are_away_are_one_sentence(command: str, tmp_path):
    """Except for the indexer, which waits for them."""
    away = Settings(
        database_url="postgresql://nobody@127.0.0.1:1/none", kafka="127.0.0.1:1", engine_url="http://127.0.0.1:1"
    )
    words = {"load": ["--seconds", "1", "--products", "1"], "admin": ["verify"]}.get(command, [])
    with subprocess.Popen(
        [sys.executable, "-m", "search_service", command, *words],
        env=environment(away),
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        said = program.stderr.readline() if command == "indexer" else ""
        if command == "indexer":
            program.terminate()
        _, error = program.communicate(timeout=240)
    error = said + error

    assert "Traceback" not in error
    assert (0 if command == "indexer" else 2) == program.returncode
    assert "does not" in error
