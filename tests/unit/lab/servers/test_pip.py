"""Environments of servers: made by pip from the lock, whole or not at all."""

import os
import sys
from pathlib import Path

import pytest

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.servers import pip
from plimsoll_lab.servers.account import ServerAccount
from plimsoll_lab.servers.package import PipPackage
from plimsoll_lab.servers.store import ServerStore
from programs import script

LOCK = "small==1.0 --hash=sha256:00\n"


class Locked(PipPackage):
    """A package whose lock is a line of the test."""

    lock = LOCK

    @property
    def requirements(self) -> str:
        return self.lock


SMALL = Locked(name="small", title="Small", version="1.0", size_bytes=1_200_000)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `pip3` that says what pip says, and leaves a file in the environment."""
    says = "echo '  Downloading small-1.0-py3-none-any.whl (1.2 MB)'; touch ${2%/bin/python}/done"
    client = script(tmp_path / "bin/pip3", says)
    monkeypatch.setenv("PATH", f"{client.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(pip, "find_spec", lambda _name: None)
    monkeypatch.setattr(pip, "unprivileged_account", ServerAccount)
    return client


def test_an_environment_is_made_once_and_counted(tmp_path: Path, client: Path):
    """The second time no client is needed."""
    store, counted = ServerStore(tmp_path / "cache"), []
    home = store.get(SMALL, lambda come, total: counted.append((come, total)))
    client.unlink()

    assert [(1_200_000, 1_200_000)] == counted
    assert (home / "done").exists()
    assert os.access(home / "bin/python", os.X_OK)
    assert home == store.get(SMALL)


def test_links_are_left_as_they_are(tmp_path: Path, client: Path):
    """The Python of an environment is a link to one that is not ours to change."""
    before = Path(sys.executable).resolve().stat().st_mode
    home = ServerStore(tmp_path / "cache").get(SMALL)

    assert (home / "bin/python").is_symlink()
    assert before == Path(sys.executable).resolve().stat().st_mode


@pytest.mark.parametrize("what", ["lock", "python"])
def test_an_environment_that_is_of_no_use_is_made_again(
    tmp_path: Path, client: Path, what: str, monkeypatch: pytest.MonkeyPatch
):
    """The lock has changed since, or somebody has removed the Python that it ran."""
    store = ServerStore(tmp_path / "cache")
    home = store.get(SMALL)
    (home / "done").unlink()
    if what == "lock":
        monkeypatch.setattr(Locked, "lock", LOCK.replace("00", "01"))
    else:
        (home / "bin/python").unlink()
        (home / "bin/python").symlink_to(tmp_path / "removed")

    assert store.find(SMALL) is None
    assert home == store.get(SMALL)
    assert (home / "done").exists()


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "is not one that was locked"),
        ("ERROR: No matching distribution", r"could not bring Small 1\.0: No matching"),
        ("killed", r"could not bring Small 1\.0: killed"),
    ],
)
def test_pip_that_fails_is_quoted_and_nothing_is_kept(tmp_path: Path, client: Path, says: str, sentence: str):
    script(client, f"echo '{says}'; exit 1")
    store = ServerStore(tmp_path / "cache")

    with pytest.raises(SourceError, match=sentence):
        store.get(SMALL)
    assert store.find(SMALL) is None
    assert [".small.lock"] == [path.name for path in (tmp_path / "cache/servers").iterdir()]


def test_without_pip_the_package_of_debian_is_named(tmp_path: Path, client: Path):
    client.unlink()
    os.environ["PATH"] = str(tmp_path)

    with pytest.raises(UsageError, match="pip is not installed") as raised:
        ServerStore(tmp_path / "cache").get(SMALL)
    assert "sudo apt-get install -y python3-pip" in raised.value.hint


def test_a_python_that_the_account_cannot_run_is_passed_over(monkeypatch: pytest.MonkeyPatch):
    """The system's is taken, and without it the sentence names the account."""
    refused = {Path(sys.executable).resolve()}

    class Account(ServerAccount):
        name = "nobody"

        def refusal(self, program: Path, *arguments: str) -> Exception | None:
            return PermissionError() if program in refused else None

    monkeypatch.setattr(pip, "unprivileged_account", Account)
    monkeypatch.setattr(pip, "SYSTEM_PYTHON", Path("/bin/sh"))

    assert Path("/bin/sh") == pip.find_python(SMALL)
    refused.add(Path("/bin/sh"))
    with pytest.raises(UsageError, match=r"the user nobody can run no Python 3\.11"):
        pip.find_python(SMALL)
