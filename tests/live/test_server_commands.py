"""Small servers for real: SFTP, etcd, Prometheus and Alertmanager answer their clients, and end with us."""

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from live.machine import clean_environment
from live.prometheus_server import wait_for
from live.served import ENDINGS, StartedCommand, accounts, kept_log, listening, offline
from plimsoll.errors import SourceError
from plimsoll_lab.servers.etcd import Etcd
from plimsoll_lab.servers.package import PACKAGES, PROMETHEUS
from plimsoll_lab.servers.pip import PYTHON
from plimsoll_lab.servers.prometheus import Alertmanager, Prometheus
from plimsoll_lab.servers.sftp import USER, SftpServer
from plimsoll_lab.servers.store import ServerStore, default_store

SMALL = ("sftp", "etcd", "prometheus", "alertmanager")


@pytest.fixture(scope="module")
def sftp() -> Iterator[SftpServer]:
    with SftpServer() as running:
        letter = running.data_directory / "letter"
        letter.write_text("how do you do")
        running.account.own(letter)
        yield running


@pytest.fixture(scope="module")
def etcd() -> Iterator[Etcd]:
    with Etcd() as running:
        yield running


@pytest.fixture(scope="module")
def alertmanager() -> Iterator[Alertmanager]:
    with Alertmanager() as running:
        yield running


@pytest.fixture(scope="module")
def prometheus() -> Iterator[Prometheus]:
    """A Prometheus that scrapes itself: its port is known only once it runs, so it is found in a file."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        targets = Path(name) / "targets.json"
        scrapes = [{"job_name": "self", "file_sd_configs": [{"files": [str(targets)]}]}]
        every = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        with Prometheus({"global": every, "scrape_configs": scrapes}) as running:
            targets.write_text(json.dumps([{"targets": [running.address.rpartition("/")[2]]}]))
            yield running


def ask(url: str, body: Any = None) -> Any:
    request = Request(
        url, data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=20) as answer:
        text = answer.read()
    return json.loads(text) if text else None


# Run by the environment of the server, which has asyncssh.
SFTP_CLIENT = """
import asyncio, asyncssh, sys
port, user, known, key, script = sys.argv[1:]
async def main():
    how = {"client_keys": [key]} if key else {"client_keys": None, "password": "guess"}
    async with asyncssh.connect(
        "127.0.0.1", int(port), username=user, known_hosts=known, agent_path=None, config=None, **how
    ) as connection:
        async with connection.start_sftp_client() as sftp:
            await eval("(lambda: " + script + ")()", {"sftp": sftp})
try:
    asyncio.run(main())
except (asyncssh.Error, OSError) as error:
    sys.exit(type(error).__name__ + ": " + str(error))
"""


def run_client(
    server: SftpServer, script: str, folder: Path, *, user: str = USER, has_key: bool = True
) -> subprocess.CompletedProcess[str]:
    known = folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{server.port} {server.host_key}\n")
    key = str(server.private_key) if has_key else ""
    return subprocess.run(
        [server._home / PYTHON, "-c", SFTP_CLIENT, str(server.port), user, known, key, script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": os.defpath, "HOME": str(folder)},
    )


def test_files_go_both_ways_by_key(sftp: SftpServer, tmp_path: Path):
    """The host is known by its key; the folder of the server is the root of all paths."""
    (tmp_path / "answer").write_text("very well")
    got = run_client(sftp, f"sftp.get('/letter', '{tmp_path}/letter')", tmp_path)
    put = run_client(sftp, f"sftp.put('{tmp_path}/answer', '/answer')", tmp_path)

    assert (0, 0) == (got.returncode, put.returncode), got.stderr + put.stderr
    assert "how do you do" == (tmp_path / "letter").read_text()
    assert "very well" == (sftp.data_directory / "answer").read_text()


@pytest.mark.parametrize(
    ("user", "has_key", "reason"), [(USER, False, "PermissionDenied"), ("root", True, "PermissionDenied")]
)
def test_neither_a_password_nor_another_user_gets_in(
    sftp: SftpServer, tmp_path: Path, user: str, has_key: bool, reason: str
):
    done = run_client(sftp, "sftp.listdir('/')", tmp_path, user=user, has_key=has_key)

    assert 1 == done.returncode
    assert done.stderr.startswith(reason)


def test_no_path_leads_out_of_the_folder(sftp: SftpServer, tmp_path: Path):
    """Neither dots nor a link that a client makes."""
    made = run_client(sftp, "sftp.symlink('/etc', '/out')", tmp_path)
    done = [
        run_client(sftp, f"sftp.get('{path}', '{tmp_path}/out')", tmp_path)
        for path in ("/../../../etc/hostname", "/etc/hostname", "/out/hostname")
    ]

    assert 0 == made.returncode, made.stderr
    assert [1, 1, 1] == [one.returncode for one in done]
    assert not (tmp_path / "out").exists()


def test_a_key_of_ones_own_is_enough(sftp: SftpServer, tmp_path: Path):
    """Then the server makes none."""
    assert sftp.private_key is not None
    public = Path(f"{sftp.private_key}.pub").read_text()
    with SftpServer(public_key=public) as other:
        other_key, other_home = other.private_key, other._directory
        made = sorted(path.name for path in other_home.glob("*key*"))

    assert other_key is None
    assert ["client_key.pub", "host_key", "host_key.pub"] == made


def test_etcd_keeps_what_was_put(etcd: Etcd):
    """Over its own HTTP API, in which keys and values are base64."""
    key, value = (base64.b64encode(word).decode() for word in (b"leader", b"node1"))
    ask(f"{etcd.address}/v3/kv/put", {"key": key, "value": value})
    (found,) = ask(f"{etcd.address}/v3/kv/range", {"key": key})["kvs"]

    assert value == found["value"]
    assert etcd.version.startswith(ask(f"{etcd.address}/version")["etcdserver"])


def test_prometheus_answers_a_query_about_what_it_scraped(prometheus: Prometheus):
    def scraped() -> Any:
        return ask(f"{prometheus.address}/api/v1/query?query=up")["data"]["result"]

    # The first scrape of a busy machine may fail.
    wait_for("a scrape", lambda: scraped() and "1" == scraped()[0]["value"][1])

    assert prometheus.version.startswith(
        ask(f"{prometheus.address}/api/v1/status/buildinfo")["data"]["version"].partition("+")[0]
    )


def test_alertmanager_takes_an_alert(alertmanager: Alertmanager):
    """It is active, and goes to the receiver of the configuration that does nothing."""
    labels = {"alertname": "ByteBalanceZero", "db": "orders"}
    ask(f"{alertmanager.address}/api/v2/alerts", [{"labels": labels}])

    def active() -> Any:
        return ask(f"{alertmanager.address}/api/v2/alerts?active=true")

    (alert,) = wait_for("the alert", active)

    assert labels == alert["labels"]
    assert [{"name": "nobody"}] == alert["receivers"]


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (lambda: Etcd({"no-such": "1"}), r"etcd did not start: .*not defined: -no-such"),
        (lambda: Prometheus({"globl": {}}), r"Prometheus did not start: .*globl"),
        (lambda: Alertmanager({"rout": {}}), r"Alertmanager did not start: .*rout"),
    ],
    ids=SMALL[1:],
)
def test_a_configuration_that_is_refused_is_the_reason(server: Any, reason: str):
    """The sentence has the server's own words, and the log is where the hint says."""
    with pytest.raises(SourceError, match=reason) as raised:
        server().__enter__()

    assert raised.value.message.rpartition(" ")[2] in kept_log(raised.value)


@pytest.mark.parametrize("names", [SMALL, ("s3",), ("aws",), ("kafka",), ("patroni", "pgpool")], ids=" ".join)
@pytest.mark.parametrize(("sent", "status"), ENDINGS)
def test_servers_are_ours_alone_and_end_with_the_command_that_started_them(
    names: tuple[str, ...], sent: signal.Signals, status: int, tmp_path: Path
):
    """
    They listen on loopback, and do not run as root; neither Ctrl-C nor kill -9 leaves a process or a folder.

    They start although no registry is there.
    """
    for name in names:
        default_store().get(PACKAGES[name])
    with StartedCommand(*names, environment=offline(tmp_path)) as command:
        assert list(names) == [line.partition(" ")[0] for line in command.lines]
        assert {"127.0.0.1"} == {address.removeprefix("::ffff:") for address in listening(command.processes)}
        assert 0 not in accounts(command.processes)
        assert len(names) <= len(command.folders)
        assert status == command.end(sent)
        assert command.has_left_nothing()


def get(name: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "plimsoll", "lab", "servers", "--get", name],
        env={**clean_environment(), "PLIMSOLL_CACHE": str(cache), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("name", "sentence", "hint"),
    [
        ("prometheus", "this machine has no apt-get, and Prometheus comes from", "on Debian or"),
        ("kafka", "Maven is not installed, and Apache Kafka comes from", "install -y maven"),
    ],
)
def test_a_machine_without_the_client_is_told(tmp_path: Path, name: str, sentence: str, hint: str):
    """One sentence, one hint, status 2, and nothing is left."""
    (tmp_path / "bin").mkdir()
    done = get(name, tmp_path / "cache", PATH=str(tmp_path / "bin"))

    assert 2 == done.returncode
    assert f"error: {sentence}" in done.stderr
    assert hint in done.stderr.rpartition("hint: ")[2]
    assert "Traceback" not in done.stderr


def test_a_machine_without_package_lists_is_told(tmp_path: Path):
    """The real apt-get, with a folder of lists that is empty."""
    for folder in ("lists/partial", "cache"):
        (tmp_path / folder).mkdir(parents=True)
    places = f'Dir::State::lists "{tmp_path}/lists"; Dir::Cache "{tmp_path}/cache";\n'
    (tmp_path / "apt.conf").write_text(places)
    done = get("prometheus", tmp_path / "servers", APT_CONFIG=str(tmp_path / "apt.conf"))

    assert 2 == done.returncode
    assert "error: apt-get does not know 'prometheus', the package of Prometheus" in done.stderr
    assert "hint: Run 'sudo apt-get update', and try again." in done.stderr


def test_a_program_that_was_changed_since_is_not_started(tmp_path: Path):
    """One byte more at its end: the sentence names the file."""
    home = default_store().get(PROMETHEUS)
    copy = ServerStore(tmp_path).folder / "servers" / home.name
    for path in ("usr/bin", "etc"):
        (copy / path).mkdir(parents=True)
    (copy / "files.csv").write_text((home / "files.csv").read_text())
    for path in home.rglob("*"):
        if path.is_file() and path.name != "files.csv":
            target = copy / path.relative_to(home)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)
    changed = copy / "usr/bin/promtool"
    changed.unlink()
    changed.write_bytes(b"another program")

    with pytest.raises(SourceError, match="promtool' of Prometheus is not the file that was"):
        Prometheus(store=ServerStore(tmp_path))
