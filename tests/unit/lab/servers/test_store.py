"""Files of servers are there whole and as they were locked, or not at all."""

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.servers.layout import lay_out
from plimsoll_lab.servers.package import LockedFile, MavenPackage, ServerModule
from plimsoll_lab.servers.store import ServerStore, default_store
from programs import script

JAR = b"a jar"


class Locked(MavenPackage):
    """A package whose lock file is a line of the test."""

    @property
    def files(self) -> tuple[LockedFile, ...]:
        return (LockedFile("small.jar", len(JAR), hashlib.sha256(JAR).hexdigest()),)


SMALL = Locked(name="small", title="Small", version="1.0", artifacts=("group:small:1.0",))


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `mvn` that copies what is in a folder, and says so as Maven does."""
    brought = tmp_path / "registry"
    brought.mkdir()
    (brought / "small.jar").write_bytes(JAR)
    programs = script(
        tmp_path / "bin/mvn",
        'for word; do case "$word" in -DoutputDirectory=*) to="${word#*=}";; esac; done\n'
        f'mkdir -p "$to" && cp {brought}/* "$to"\n'
        "echo '[INFO] Downloaded from central: scheme://host/group/small/1.0/small.jar (5 B at 1 kB/s)'",
    ).parent
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return brought


def test_a_package_is_downloaded_once_and_counted(tmp_path: Path, maven: Path):
    """The second time nothing is asked for: it is there without a network."""
    store, counted = ServerStore(tmp_path / "cache"), []
    home = store.get(SMALL, lambda come, total: counted.append((come, total)))
    (maven / "small.jar").unlink()

    assert [(len(JAR), len(JAR))] == counted
    assert JAR == (home / "lib/small.jar").read_bytes()
    assert home == store.get(SMALL)
    assert home == store.find(SMALL)


def test_a_file_that_was_not_locked_is_refused_and_nothing_is_kept(tmp_path: Path, maven: Path):
    """One changed byte: the sentence names the file, and the folder of the package does not exist."""
    (maven / "small.jar").write_bytes(b"A jar")
    store = ServerStore(tmp_path / "cache")

    with pytest.raises(SourceError, match="is not the file that was locked"):
        store.get(SMALL)
    assert store.find(SMALL) is None
    assert [".small.lock"] == [path.name for path in (tmp_path / "cache/servers").iterdir()]


def test_a_file_that_did_not_come_is_named(tmp_path: Path, maven: Path):
    """Maven ended well and brought something else."""
    (maven / "small.jar").rename(maven / "other.jar")

    with pytest.raises(SourceError, match=r"Maven did not bring 'small\.jar'"):
        ServerStore(tmp_path / "cache").get(SMALL)


def test_without_maven_the_package_of_debian_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The hint is one command."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UsageError, match="Maven is not installed") as raised:
        ServerStore(tmp_path / "cache").get(SMALL)
    assert "sudo apt-get install -y maven" in raised.value.hint


def test_maven_that_fails_is_quoted(tmp_path: Path, maven: Path):
    """Its first error is the reason."""
    script(tmp_path / "bin/mvn", "echo '[ERROR] Could not resolve small'\necho '[ERROR] more'\nexit 1")

    with pytest.raises(SourceError, match=r"could not bring Small 1\.0: Could not resolve small"):
        ServerStore(tmp_path / "cache").get(SMALL)


def test_a_folder_that_is_a_file_is_one_sentence(tmp_path: Path, maven: Path):
    """The hint names the variable that chooses another."""
    (tmp_path / "cache").write_text("")

    with pytest.raises(UsageError, match="cannot be used") as raised:
        ServerStore(tmp_path / "cache").get(SMALL)
    assert "PLIMSOLL_CACHE" in raised.value.hint


def test_an_archive_is_unpacked_without_its_top_and_gets_its_modules(tmp_path: Path):
    """Programs stay programs, a path that leaves the folder is left out, and a module is described."""
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "plug.jar").write_bytes(JAR)
    with zipfile.ZipFile(jars / "engine.zip", "w") as packed:
        program = zipfile.ZipInfo("engine-1.0/bin/engine")
        program.external_attr = 0o100755 << 16
        packed.writestr(program, "#!/bin/sh\n")
        packed.writestr("engine-1.0/lib/core.jar", "core")
        packed.writestr("engine-1.0/../../outside", "no")
    package = MavenPackage(
        name="engine",
        title="Engine",
        version="1.0",
        artifacts=(),
        archive="engine.zip",
        modules=(ServerModule("plug", "org.Plug", ("plug.jar",)),),
    )
    lay_out(package, jars, tmp_path / "home")

    assert os.access(tmp_path / "home/bin/engine", os.X_OK)
    assert not os.access(tmp_path / "home/lib/core.jar", os.X_OK)
    assert not (tmp_path / "outside").exists()
    described = (tmp_path / "home/modules/plug/plugin-descriptor.properties").read_text()
    assert "classname=org.Plug\n" in described
    assert JAR == (tmp_path / "home/modules/plug/plug.jar").read_bytes()


def test_an_archive_that_is_none_is_one_sentence(tmp_path: Path):
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars/engine.zip").write_bytes(b"no archive")
    package = MavenPackage(name="engine", title="Engine", version="1.0", artifacts=(), archive="engine.zip")

    with pytest.raises(SourceError, match="is not a zip archive"):
        lay_out(package, tmp_path / "jars", tmp_path / "home")


def test_the_variable_chooses_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLIMSOLL_CACHE", str(tmp_path))

    assert tmp_path == default_store().folder
