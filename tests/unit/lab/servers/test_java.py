"""A Java is found and new enough, or the sentence says which."""

from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll.fleet.spark.java import find_java, version_of
from plimsoll_lab.servers.java import last_error
from programs import script


def java(folder: Path, says: str) -> Path:
    """A program `bin/java` that says its version, on standard error as Java does."""
    return script(folder / "bin/java", f"echo '{says}' >&2")


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ('java version "1.8.0_402"', 8),
        ("no Java here", None),
    ],
)
def test_the_version_is_the_first_number_that_counts(tmp_path: Path, says: str, version: int | None):
    """Up to 8 it stood after a 1."""
    assert version == version_of(str(java(tmp_path, says)))


def test_the_home_that_is_set_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    java(tmp_path, 'openjdk version "21.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert tmp_path.resolve() == find_java()


@pytest.mark.parametrize(
    ("says", "sentence"), [('openjdk version "11.0.2"', "is Java 11, and the server needs 17"), ("", "is not a Java")]
)
def test_what_does_not_do_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, sentence: str):
    java(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(UsageError, match=sentence) as raised:
        find_java()
    assert "apt-get install -y openjdk-17-jre-headless" in raised.value.hint


def test_no_java_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UsageError, match="this machine has no Java"):
        find_java()


def test_the_cause_of_a_log_is_its_deepest():
    """A stack has the cause last; a log without one has its last line."""
    stack = "x ERROR failed\nException in thread main\n  at a\nCaused by: no space left\n  at b\n"

    assert "no space left" == last_error(stack)
    assert "two" == last_error("one\ntwo\n\n")
    assert "it gave no reason" == last_error("")
