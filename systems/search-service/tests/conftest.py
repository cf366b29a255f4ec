"""Real servers for the tests: started once, with a database, topics and indexes of its own for each test."""

import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flow import Indexer, Producing
from searching import Api, fill
from sqlalchemy import Engine as Database
from sqlalchemy import text

from search_service.consume import create_topics
from search_service.database import connect, prepare
from search_service.engine import Engine
from search_service.settings import Settings
from search_service.setup_command import set_up

# A job that a script starts in the background has Ctrl-C ignored, and so has all that it starts: servers that tests
# end with it would stay.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ENGINES = ("opensearch", "elasticsearch")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which search engine the tests use."""
    parser.addoption("--engine", choices=(*ENGINES, "both"), default="both")
    parser.addoption("--rounds", type=int, default=12, help="how often the crash test kills something")
    parser.addoption("--worlds", type=int, default=1, help="how many crash tests, each with servers of its own")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what needs a search engine with each of them, and what has a seed in each world."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(1, metafunc.config.getoption("--worlds") + 1))
    if "engine_name" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--engine")
        names = ENGINES if chosen == "both" else (chosen,)
        metafunc.parametrize("engine_name", names, scope="session")


# Before xdist's own hook, which reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what shares servers on one worker."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        shared = "stores" if "stores" in item.fixturenames else item.path.stem
        group = parameters.get("engine_name") or f"{shared}{parameters.get('seed', '')}"
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """
    End the run where xdist is asked to group tests and does not: each worker would start every engine.
    """
    lost = [name for name in ids if "@" not in name]
    if node.config.option.dist == "loadgroup" and lost:
        pytest.exit(f"pytest-xdist does not group {lost[0]}: see requirements/dev.in", returncode=2)


def start(*names: str, restart: bool = False) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """
    Start servers with the command that gets and starts real servers, and return their addresses.
    """
    program = os.environ.get("PLIMSOLL") or shutil.which("plimsoll")
    assert program, "set PLIMSOLL to the command that starts servers"
    options = [word for name in names for word in ("--start", name)]
    command = subprocess.Popen(
        [*program.split(), "lab", "servers", *options, *(["--restart"] * restart)], stdout=subprocess.PIPE, text=True
    )
    assert command.stdout is not None
    found = {}
    for line in command.stdout:
        name, _, rest = line.partition(" ")
        found[name] = rest.rpartition(" ")[2].strip()
        if len(found) == len(names):
            return command, found
    raise AssertionError(f"the servers did not start: status {command.wait()}")


def stop(command: subprocess.Popen[str]) -> None:
    """End servers as Ctrl-C does."""
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=60)


@pytest.fixture(scope="session")
def stores() -> Iterator[dict[str, str]]:
    """A database and a broker."""
    command, found = start("postgres", "kafka")
    yield found
    stop(command)


@pytest.fixture(scope="session")
def engine_url(engine_name: str) -> Iterator[str]:
    """A search engine."""
    command, found = start(engine_name)
    yield found[engine_name]
    stop(command)


@pytest.fixture
def stored(stores: dict[str, str]) -> Iterator[Settings]:
    """Settings with a database and topics of their own, and no search engine."""
    name = f"t{uuid.uuid4().hex[:12]}"
    admin = connect(stores["postgres"], size=1)
    with admin.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    settings = Settings(
        database_url=f"{stores['postgres'].rpartition('/')[0]}/{name}",
        kafka=stores["kafka"],
        engine_url="http://127.0.0.1:1",
        prefix=name,
        group=name,
        partitions=2,
        api_tokens="secret",
    )
    yield settings
    with admin.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture
def database(stored: Settings) -> Iterator[Database]:
    """The copy, with its tables."""
    found = connect(stored.database_url)
    prepare(found)
    yield found
    found.dispose()


@pytest.fixture
def topics(stored: Settings) -> Settings:
    """Settings whose topics exist."""
    create_topics(stored)
    return stored


@pytest.fixture
def settings(stored: Settings, engine_url: str) -> Settings:
    """Settings of a service that is set up."""
    from msgspec.structs import replace

    found = replace(stored, engine_url=engine_url)
    set_up(found)
    return found


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    """The search engine."""
    with Engine(settings.engine_url) as found:
        yield found


@pytest.fixture
def producing(stored: Settings) -> Producing:
    """A producer of events."""
    return Producing(stored)


@pytest.fixture
def indexer(settings: Settings, tmp_path: Path) -> Iterator[Indexer]:
    """An indexer that runs as a program."""
    with Indexer(settings, tmp_path / "indexer.log", sys.executable) as found:
        yield found
    # Shown if the test failed.
    print(found.log.read_text() if found.log.exists() else "the indexer was not started")


@pytest.fixture(scope="session")
def searchable(engine_url: str) -> Iterator[Api]:
    """The API as a program, over an index with the products of the relevance cases."""
    settings = Settings(engine_url=engine_url, prefix="searched", api_tokens="other,secret")
    with Engine(engine_url) as engine:
        fill(engine, settings)
    with Api(settings, sys.executable) as api:
        yield api
