"""Bad ground for the pooled cluster: each is one sentence with a hint and status 2, and nothing is left."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from live.left_behind import Ours
from plimsoll.errors import SourceError
from plimsoll_lab.servers import pgbouncer, pgpool
from plimsoll_lab.servers.pgbouncer import PgBouncer
from plimsoll_lab.servers.pgpool import Pgpool

COMMAND = [sys.executable, "-m", "plimsoll", "lab", "run", "pooled-cluster", "--quick"]


def path_without(folder: Path, *names: str) -> str:
    """A PATH with all programs but these."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            if program.name not in names and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return str(folder)


@pytest.mark.parametrize(
    ("absent", "message", "hint"),
    [
        (("java",), "error: this machine has no Java", "apt-get install"),
        (
            ("apt-get", "apt-cache", "dpkg-deb"),
            "error: this machine has no apt-get, and etcd comes from Debian",
            "hint: Run the command on Debian or Ubuntu.",
        ),
    ],
)
def test_a_program_that_is_missing_is_one_sentence(tmp_path: Path, absent: tuple[str, ...], message: str, hint: str):
    """Before a server is started; with the command that installs it."""
    build = tmp_path / "pgpool"
    build.touch()
    ours = Ours(tmp_path)
    environment = {k: v for k, v in ours.environment.items() if k != "JAVA_HOME"}
    done = subprocess.run(
        [*COMMAND, "--with-defect", build, "--html", tmp_path / "page.html"],
        # No server was downloaded before.
        env=environment | {"PATH": path_without(tmp_path / "bin", *absent), "PLIMSOLL_CACHE": str(tmp_path / "c")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    errors = [x for x in done.stderr.splitlines() if x.startswith(("error:", "hint:"))]

    assert 2 == done.returncode, done.stderr
    assert errors[0].startswith(message)
    assert hint in errors[1]
    assert "Traceback" not in done.stderr
    assert set() == ours.left()


@pytest.mark.parametrize("module", [pgpool, pgbouncer], ids=["Pgpool-II", "PgBouncer"])
def test_a_port_that_is_taken_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module):
    """Another program takes it each time; the sentence names the pooler, and the hint its log."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tmp_path.chmod(0o711)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = (taken.getsockname()[1], taken.getsockname()[1])
        monkeypatch.setattr(module, "free_ports", lambda count: ports[:count])
        server: Pgpool | PgBouncer
        server = (
            Pgpool([5432], user="x", password="x") if module is pgpool else PgBouncer([5432], user="x", password="x")
        )
        with pytest.raises(SourceError) as raised:
            server.__enter__()

    assert raised.value.message == (f"{server.title} did not start: another program takes its port, whichever it is")
    assert ".log" in raised.value.hint
    assert [] == list(tmp_path.glob("plimsoll-*"))
