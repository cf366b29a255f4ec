"""`diagnose --brief` and `--card`, as they are typed."""

import sys
from pathlib import Path

import pytest

from contract.tree import ROOT
from plimsoll.cli.main import main
from plimsoll.reports.render.brief import LINES_MAX

EXAMPLES = ROOT / "examples"
CLAIMS = str(EXAMPLES / "claims-pipeline")


@pytest.fixture
def run(monkeypatch, capsys):
    """The command line in this process: exit status, standard output and standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["plimsoll", *(str(a) for a in arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return call


@pytest.mark.parametrize("name", ["claims-pipeline", "quiet"])
def test_the_status_is_that_of_the_whole_report(run, name):
    """A brief report ends as the whole one does, and is much shorter."""
    whole, brief = (run("diagnose", EXAMPLES / name, *more) for more in ((), ("--brief",)))

    assert whole[0] == brief[0]
    assert len(brief[1].splitlines()) <= LINES_MAX < len(whole[1].splitlines())
    assert name in brief[1]


def test_a_plan_adds_its_price(run):
    """With --plan the brief report ends with the recommended change and its price."""
    status, out, _ = run("diagnose", EXAMPLES / "claims-pipeline", "--brief", "--plan")

    assert 1 == status
    assert out.splitlines()[-1].startswith("Way past    db.")
    assert "a day" in out.splitlines()[-1]


@pytest.mark.parametrize("command", ["plan", "compare"])
def test_plans_and_comparisons_have_one_too(run, command):
    """One screen, with the status of the whole report."""
    targets = [EXAMPLES / "search-service"]
    targets += [EXAMPLES / "search-service-after"] if command == "compare" else []
    status, out, _ = run(command, *targets, "--brief")

    assert (0 if command == "compare" else 1) == status
    assert len(out.splitlines()) <= LINES_MAX
    assert "SIMULATED DATA" in out


@pytest.mark.parametrize("more", [("--format", "json"), ("-o", "x.md")])
def test_other_forms_have_no_brief_report(run, more, monkeypatch, tmp_path: Path):
    """JSON and Markdown are refused in one sentence, before anything is read."""
    monkeypatch.chdir(tmp_path)
    status, out, err = run("diagnose", "nowhere", "--brief", *more)

    assert (2, "") == (status, out)
    assert err.startswith("error: --brief prints text, not ")
    assert not list(tmp_path.iterdir())


def test_a_card_is_written_beside_the_report(run, monkeypatch, tmp_path):
    """The status is that of the report, and the file is named on standard error."""
    monkeypatch.chdir(tmp_path)
    status, _, errors = run("diagnose", CLAIMS, "--brief", "--card", "card.png")

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
def test_a_card_that_does_not_fit_is_refused(run, arguments, message, monkeypatch, tmp_path):
    """One sentence and status 2, before anything is read or written."""
    monkeypatch.chdir(tmp_path)
    status, _, errors = run("diagnose", *arguments)

    assert 2 == status
    assert errors.startswith(f"error: {message}"), errors
    assert not list(tmp_path.iterdir())


def test_several_instances_keep_their_table(run, tmp_path):
    """With --brief a folder of two instances is the table that it is without."""
    for name in ("quiet", "claims-pipeline"):
        (tmp_path / f"{name}.json").write_bytes((EXAMPLES / name / "snapshot.json").read_bytes())
    whole, brief = (
        run("diagnose", tmp_path, "--identifier", "*", *more) for more in ((), ("--brief",))
    )

    assert whole[:2] == brief[:2]
    assert "quiet" in whole[1]
