"""`make up` and `make down`, and the commands that the README shows."""

import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import psycopg
import pytest
from servers import ROOT

from claims_pipeline.command import COMMANDS, Parser

README = (ROOT / "README.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.xdist_group("deploy")


def service(folder: Path, action: str, *options: str, **variables: str) -> subprocess.CompletedProcess:
    clean = {n: v for n, v in os.environ.items() if not n.startswith(("CLAIMS_", "AWS_"))}
    programs = {"CLAIMS_PROGRAMS": os.environ["CLAIMS_PROGRAMS"], "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, str(ROOT / "deploy/service.py"), action, "--folder", str(folder), *options],
        env={**clean, **programs, **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_servers_start_with_a_delivery_that_can_be_loaded_and_end(tmp_path: Path):
    """A second start is refused, and afterwards nothing answers."""
    folder = tmp_path / "run"
    started = service(folder, "up", "--beneficiaries", "40")
    assert 0 == started.returncode, started.stderr
    again = service(folder, "up")
    given = {}
    for line in (folder / "settings").read_text().splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        given[name] = shlex.split(value)[0]
    environment = {**os.environ, **given, "PYTHONPATH": str(ROOT / "src")}
    done = [
        subprocess.run(
            [sys.executable, "-m", "claims_pipeline", *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for words in (["transfer"], ["load", "A1001", "2023-01"], ["load", "A1001", "2023-02", "--path", "old"])
    ]
    with psycopg.connect(given["CLAIMS_DATABASE_URL"]) as connection:
        found = connection.execute("SELECT count(*), count(DISTINCT kind) FROM claims.files").fetchone()
    ended = service(folder, "down")

    assert [0, 0, 0] == [one.returncode for one in done], done
    assert (12, 6) == found
    assert (2, 0) == (again.returncode, ended.returncode)
    assert "error: the servers run already" in again.stderr
    assert not folder.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(given["CLAIMS_DATABASE_URL"], connect_timeout=5)


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"PLIMSOLL": "no-such-command"}, "CLAIMS_DATABASE_URL is not set"),
        ({"PLIMSOLL": "false"}, "the servers did not start: it gave no reason"),
        ({"CLAIMS_PORT": "1"}, "CLAIMS_PORT is no setting"),
    ],
)
def test_what_cannot_start_is_one_sentence(variables: dict[str, str], sentence: str, tmp_path: Path):
    started = service(tmp_path / "run", "up", **variables)
    said = [line for line in started.stderr.splitlines() if not line.startswith("starting ")]

    assert 2 == started.returncode
    assert said[0].startswith(f"error: {sentence}")
    assert ["hint"] == [line.partition(":")[0] for line in said[1:]]


def lines(first: str) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    found = [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in found if line.startswith(first)]


def test_commands_of_the_readme_are_understood():
    """Every command and option exists."""
    shown = [shlex.split(line)[1:] for line in lines(".venv/bin/claims-pipeline")]
    for name, *words in shown:
        parser = Parser(prog=name)
        import_module(COMMANDS[name][0]).add(parser)
        parser.parse_args(words)

    assert {words[0] for words in shown} >= {"transfer", "load"}
