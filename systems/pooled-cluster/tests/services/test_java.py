"""What the programs of the services need of this machine."""

import shutil

import pytest
from services.ground import wait_for

from pooled_cluster.services import Services
from pooled_cluster.services.errors import UnavailableError, UsageError
from pooled_cluster.services.java import SOURCES, build, check_jars, find_java


def program(folder, name, text):
    """Write a program that prints a text to standard error."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    path.chmod(0o755)
    return path


def test_without_java_the_hint_installs_it(monkeypatch, tmp_path):
    """A machine without Java is told in one sentence."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UsageError) as error:
        find_java()

    assert error.value.sentence == "this machine has no Java, which the services need"
    assert "apt-get install" in error.value.hint


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11, and the services need 17"),
        ('java version "1.8.0_402"', "is Java 8, and the services need 17"),
        ("nothing", "is not a Java that can be run"),
    ],
)
def test_a_wrong_java_is_named(monkeypatch, tmp_path, said, sentence):
    """A Java that is too old, or none, is named with its path."""
    java = program(tmp_path, "bin/java", said)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(UsageError) as error:
        find_java()

    assert f"'{java}' {sentence}" == error.value.sentence


def test_without_maven_the_hint_installs_it(monkeypatch, tmp_path):
    """Services that are not built yet need Maven."""
    shutil.copytree(SOURCES, tmp_path / "services", ignore=shutil.ignore_patterns("target"))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UsageError) as error:
        build(tmp_path / "services")

    assert error.value.sentence == "Maven is not installed, and it builds the services"


def test_a_build_that_fails_leaves_nothing(tmp_path):
    """An error of the compiler is one sentence, and is not kept as a build."""
    sources = tmp_path / "services"
    shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns("target"))
    (sources / "src/main/java/pooled/Main.java").write_text("package pooled; class Main {")

    with pytest.raises(UnavailableError) as error:
        build(sources)

    assert error.value.sentence.startswith("Maven could not build the services: ")
    assert [path.name for path in (sources / "target").iterdir()] == ["lock"]


def test_a_kept_build_needs_no_maven(monkeypatch, tmp_path):
    """What was built stays until a source changes."""
    kept = build()
    monkeypatch.setenv("PATH", str(tmp_path))

    assert kept == build()


def test_a_jar_that_was_not_locked_is_refused(tmp_path):
    """A changed, a missing and an additional jar are named."""
    lock = SOURCES / "jars.sha256"
    shutil.copytree(build() / "lib", tmp_path / "lib")
    check_jars(tmp_path / "lib", lock)
    for change in (
        lambda jar: jar.write_bytes(b"other"),
        lambda jar: jar.unlink(),
        lambda jar: jar.with_name("another.jar").write_bytes(b""),
    ):
        shutil.copytree(build() / "lib", tmp_path / "lib", dirs_exist_ok=True)
        change(tmp_path / "lib" / "HikariCP-7.0.2.jar")
        with pytest.raises(UnavailableError) as error:
            check_jars(tmp_path / "lib", lock)
        assert error.value.sentence.endswith(".jar' is not the file that was locked")


def test_a_service_that_runs_out_of_memory_says_so():
    """A heap that is too small ends the service, and the hint names the setting."""
    services = Services("127.0.0.1", 9, services=1, instances=1000, pool=1, heap_mb=8)

    with pytest.raises(UnavailableError) as error, services:
        wait_for("the end", lambda: services.counts() is None)

    assert error.value.sentence.startswith("the service checkout ended: ")
    assert error.value.hint == "Give the JVMs more memory with heap_mb."
