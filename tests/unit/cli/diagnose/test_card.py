"""`diagnose --card`, as it is typed."""

import sys

import pytest

from contract.tree import ROOT
from plimsoll.cli.main import main

CLAIMS = str(ROOT / "examples" / "claims-pipeline")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """The command line in this process, in an empty folder: exit status and standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["plimsoll", "diagnose", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        return int(stopped.value.code or 0), capsys.readouterr().err

    return call


def test_a_card_is_written_beside_the_report(run, tmp_path):
    """
    The status is that of the report, and the file is named on standard error.
    """
    status, errors = run(CLAIMS, "--brief", "--card", "card.png")

    assert (1, "card written to card.png\n") == (status, errors)
    assert (tmp_path / "card.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((CLAIMS, "--card", "card.svg"), "'card.svg' does not end in .png"),
        ((CLAIMS, "--card", "card"), "'card' does not end in .png"),
        ((CLAIMS, "--card", "no/card.png"), "unable to write 'no/card.png'"),
        (("rds:*", "--card", "card.png"), "'rds:*' matches several instances; --png, --card"),
        (("rds:a", "--watch", "1m", "--card", "card.png"), "--watch prints brief reports"),
    ],
)
def test_what_does_not_fit_is_refused(run, arguments, message, tmp_path):
    """
    One sentence and status 2, before anything is read or written.
    """
    status, errors = run(*arguments)

    assert 2 == status
    assert errors.startswith(f"error: {message}"), errors
    assert not list(tmp_path.iterdir())
