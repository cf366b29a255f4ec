"""`make up` and `make down`, and the commands that the README shows."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import httpx
import psutil
import pytest
from flow import query, wait_for

from search_service.cli import COMMANDS, Parser
from search_service.settings import PREFIX, Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def service(folder: Path, action: str, *options: str, **variables: str) -> subprocess.Popen[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return subprocess.Popen(
        [sys.executable, str(ROOT / "deploy/service.py"), action, "--folder", str(folder), *options],
        env={**clean, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_running(pid: int) -> bool:
    """Whether a process runs."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def is_open(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(("engine", "version"), [("opensearch", "2."), ("elasticsearch", "8.")])
def test_the_service_starts_answers_and_ends(tmp_path: Path, engine: str, version: str):
    """With servers of its own; a second start is refused, and afterwards nothing listens."""
    port = free_port()
    folder = tmp_path / "run"
    started = service(folder, "up", "--engine", engine, SEARCH_API_PORT=str(port))
    output, error = started.communicate(timeout=400)
    assert 0 == started.returncode, error
    given = dict(line.removeprefix("export ").split("=", 1) for line in (folder / "settings").read_text().splitlines())
    token = shlex.split(given["SEARCH_API_TOKENS"])[0]
    url = f"http://127.0.0.1:{port}/v1/search"
    answer = httpx.get(url, headers={"Authorization": f"Bearer {token}"}).json()
    engine_url = shlex.split(given["SEARCH_ENGINE_URL"])[0]
    nodes = httpx.get(f"{engine_url}/_nodes").json()["nodes"]
    again = service(folder, "up")
    _, refusal = again.communicate(timeout=60)
    broker = int(given["SEARCH_KAFKA"].rpartition(":")[2])
    was_open = is_open(broker)
    ended = service(folder, "down")
    said, _ = ended.communicate(timeout=120)

    assert f"http://127.0.0.1:{port}" in output
    assert 200 == answer["total"]
    assert all(node["version"].startswith(version) for node in nodes.values())
    assert (2, 0) == (again.returncode, ended.returncode)
    assert "runs already" in refusal
    assert said == "ended: api, indexer, servers\n"
    assert was_open
    wait_for("the end of the broker", lambda: not is_open(broker))
    assert not is_open(port)
    assert not folder.exists()


def test_a_port_that_is_taken_ends_what_was_started(settings: Settings, tmp_path: Path):
    """One sentence, status 2, and no program stays; servers that were named are left alone."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        started = service(
            tmp_path / "run",
            "up",
            SEARCH_API_PORT=str(port),
            SEARCH_PREFIX=settings.prefix,
            SEARCH_DATABASE_URL=settings.database_url,
            SEARCH_KAFKA=settings.kafka,
            SEARCH_ENGINE_URL=settings.engine_url,
        )
        _, error = started.communicate(timeout=120)

    assert 2 == started.returncode
    assert f"error: SEARCH_API_PORT is {port}, which cannot be used" in error
    assert 2 == len(error.splitlines())
    assert not (tmp_path / "run").exists()


def test_a_program_that_ends_is_named_with_its_reason(settings: Settings, tmp_path: Path):
    """What was started is ended, and the log that the message names is there."""
    before = query(settings, "DELETE FROM generation RETURNING 1")
    query(settings, "DROP TABLE fan_out")
    query(settings, "CREATE VIEW fan_out AS SELECT 1 AS nothing")
    started = service(
        tmp_path / "run",
        "up",
        SEARCH_API_PORT=str(free_port()),
        SEARCH_PREFIX=settings.prefix,
        SEARCH_DATABASE_URL=settings.database_url,
        SEARCH_KAFKA=settings.kafka,
        SEARCH_ENGINE_URL=settings.engine_url,
    )
    _, error = started.communicate(timeout=400)
    logs = re.findall(r"The log is (.*)\.$", error, re.MULTILINE)

    assert before
    assert 2 == started.returncode
    assert "the first products cannot be searched" in error
    assert Path(logs[0]).exists()
    assert not (tmp_path / "run/programs.json").exists()


# How long after the start of its first program Ctrl-C is pressed, and how often.
@pytest.mark.parametrize(("after_s", "times"), [(0, 1), (1, 3), (4, 1)])
def test_an_interrupted_start_leaves_nothing(tmp_path: Path, after_s: float, times: int):
    """Also when Ctrl-C is pressed again because ending takes a while."""
    folder = tmp_path / "run"
    servers = tmp_path / "servers"
    servers.write_text("#!/bin/sh\nexec sleep 1000\n")
    servers.chmod(0o700)
    started = service(folder, "up", PLIMSOLL=str(servers))
    wait_for("the first program", (folder / "programs.json").exists)
    ((_, pid, _),) = json.loads((folder / "programs.json").read_text())
    time.sleep(after_s)
    for _ in range(times):
        started.send_signal(signal.SIGINT)
        time.sleep(0.05)
    started.communicate(timeout=120)

    assert 130 == started.returncode
    assert not folder.exists()
    assert not is_running(pid)


def test_an_interrupted_start_ends_real_servers(tmp_path: Path):
    """While they start."""
    folder = tmp_path / "run"
    started = service(folder, "up")
    wait_for("the first program", (folder / "programs.json").exists)
    ((_, pid, _),) = json.loads((folder / "programs.json").read_text())
    wait_for("a server", lambda: bool(psutil.Process(pid).children(recursive=True)))
    below = psutil.Process(pid).children(recursive=True)
    started.send_signal(signal.SIGINT)
    started.communicate(timeout=120)
    wait_for("the end of what it started", lambda: not any(one.is_running() for one in below))

    assert 130 == started.returncode
    assert not folder.exists()


@pytest.mark.parametrize(
    ("variables", "word"),
    [
        ({"PLIMSOLL": "no-such-command"}, "SEARCH_DATABASE_URL"),
        ({"PLIMSOLL": "false"}, "did not start: it gave no reason"),
        ({"SEARCH_API_PORT": "many"}, "SEARCH_API_PORT is 'many'"),
        ({"SEARCH_PORT": "1"}, "SEARCH_PORT is no setting"),
        (
            {
                "SEARCH_DATABASE_URL": "postgresql://x@127.0.0.1:1/x",
                "SEARCH_KAFKA": "127.0.0.1:1",
                "SEARCH_ENGINE_URL": "http://127.0.0.1:1",
            },
            "the database does not answer",
        ),
    ],
)
def test_servers_that_are_missing_are_one_sentence(variables: dict[str, str], word: str, tmp_path: Path):
    started = service(tmp_path / "run", "up", **{"SEARCH_API_PORT": str(free_port()), **variables})
    _, error = started.communicate(timeout=300)

    assert 2 == started.returncode
    said = [line for line in error.splitlines() if not line.startswith("starting ")]
    assert ["error"] + ["hint"] * (len(said) - 1) == [line.partition(":")[0] for line in said]
    assert len(said) <= 2
    assert word in error
    assert "Traceback" not in error


def test_what_was_not_started_is_not_ended(tmp_path: Path):
    """A process that has got the number of ours later is somebody else's."""
    folder = tmp_path / "run"
    folder.mkdir()
    with subprocess.Popen(["sleep", "60"]) as other:
        (folder / "programs.json").write_text(f'[["api", {other.pid}, "1"]]')
        ended = service(folder, "down")
        said, _ = ended.communicate(timeout=60)
        is_alive = other.poll() is None
        other.kill()

    assert "nothing was running\n" == said
    assert is_alive


def lines(first: str) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    found = [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in found if line.startswith(first)]


def test_commands_of_the_readme_are_understood():
    """Every command and option exists."""
    shown = [shlex.split(line)[1:] for line in lines(".venv/bin/search-service")]
    for name, *words in shown:
        parser = Parser(prog=name)
        import_module(COMMANDS[name][0]).add(parser)
        parser.parse_args(words)

    assert {words[0] for words in shown} >= {"status", "load", "admin"}


def test_targets_of_the_readme_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = {word for line in lines("make") for word in line.split()[-1:]}

    assert shown
    assert shown <= targets


def test_settings_of_the_readme_are_all_of_them():
    shown = set(re.findall(r"`(SEARCH_[A-Z_]+)`", README))

    assert {PREFIX + name.upper() for name in Settings.__struct_fields__} == shown
