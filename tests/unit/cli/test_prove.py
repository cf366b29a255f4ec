"""`plimsoll prove`, as it is called, as far as no server is needed."""

import sys

import pytest

from plimsoll.cli.main import main

NOWHERE = "host=127.0.0.1 port=1 dbname=orders password=hidden-word"


@pytest.fixture
def run(monkeypatch, capsys):
    """The command line in this process: exit status and what it said."""

    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["plimsoll", "prove", "toast", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out + printed.err

    return call


def test_a_sample_needs_a_table(run):
    """Updates of which table? Nothing is connected to before that is known."""
    status, result = run(NOWHERE, "--decode", "5s")

    assert 2 == status
    assert "--decode needs --table" in result


def test_a_sample_is_no_longer_than_a_minute(run):
    """A slot holds things back, so a longer time is refused."""
    status, result = run(NOWHERE, "--table", "public.docs", "--decode", "2m")

    assert 2 == status
    assert "longer than 60 s" in result


def test_a_server_that_is_not_there_is_named_without_a_password(run):
    """The message says which server did not answer, and keeps the secret."""
    status, result = run(NOWHERE)
    wrong_status, wrong = run("hidden-word is no connection string")

    assert (2, 2) == (status, wrong_status)
    assert "did not answer" in result
    assert "not a PostgreSQL connection string" in wrong
    assert "hidden-word" not in result + wrong
