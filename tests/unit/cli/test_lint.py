"""`plimsoll lint terraform` and `plimsoll lint cloudformation`, as they are called."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from contract.tree import ROOT
from plimsoll.cli.commands import app

FIXTURES = ROOT / "tests/fixtures/infrastructure"
PLAN = str(ROOT / "examples/infrastructure/plan.json")
TEMPLATE = str(ROOT / "examples/infrastructure/template.yaml")
CLAIMS = str(ROOT / "examples/claims-pipeline")


def call(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["lint", *arguments], input=stdin)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("terraform", PLAN), 1),
        (("terraform", PLAN, "--fail-on", "critical"), 0),
        (("terraform", PLAN, "--fail-on", "note"), 1),
        (("terraform", str(FIXTURES / "sound.json"), "--fail-on", "note"), 0),
        (("terraform", str(FIXTURES / "mixed.json"), "--fail-on", "critical"), 1),
        (("cloudformation", TEMPLATE), 1),
        (("cloudformation", TEMPLATE, "--parameter", "Iops=12000"), 0),
    ],
)
def test_the_exit_status_follows_the_severity(arguments: tuple[str, ...], status: int):
    """1 from --fail-on on, a warning by default."""
    assert status == call(*arguments).exit_code


def test_secrets_of_a_plan_are_not_printed(tmp_path: Path):
    """A plan has passwords in clear text: in variables, in the values and in the state."""
    secret = "canary-4c1d"
    assert secret in Path(PLAN).read_text(encoding="utf-8")

    for form in ("text", "json", "markdown", "sarif"):
        page = tmp_path / "report.html"
        printed = call("terraform", PLAN, "--format", form, "--html", str(page))
        assert secret not in printed.output + page.read_text(encoding="utf-8")


def test_the_ending_chooses_sarif(tmp_path: Path):
    """`-o plimsoll.sarif` is SARIF without --format."""
    file = tmp_path / "plimsoll.sarif"
    assert 1 == call("terraform", PLAN, "-o", str(file)).exit_code

    assert "2.1.0" == json.loads(file.read_text(encoding="utf-8"))["version"]


def test_several_files_are_one_report():
    """A pre-commit hook gives all changed files at once."""
    found = json.loads(call("terraform", PLAN, str(FIXTURES / "sound.json"), "--format", "json").output)

    assert 2 == len(found["files"])
    assert ["IOPSBeyondInstance"] == [f["code"] for f in found["findings"]]


def test_a_file_without_a_database_says_so(tmp_path: Path):
    """Nothing found in nothing is not the same as nothing found."""
    file = tmp_path / "plan.json"
    file.write_text('{"format_version": "1.2", "resource_changes": []}')
    result = call("terraform", str(file))

    assert 0 == result.exit_code
    assert result.output.startswith("No database found.")


def test_a_history_is_of_one_database(tmp_path: Path):
    """The batch of the claims pipeline spent the burst of db.m5.xlarge; on average it stayed below the baseline."""
    assert 1 == call("terraform", PLAN, "--history", CLAIMS, "--format", "json").exit_code
    named = f"aws_db_instance.search={CLAIMS}"
    assert 1 == call("terraform", PLAN, "--history", named).exit_code


def test_a_plan_can_be_piped_in():
    """The report and SARIF name standard input, not a device of this machine."""
    plan = Path(PLAN).read_bytes()

    text = call("terraform", "-", stdin=plan)
    sarif = call("terraform", "-", "--format", "sarif", stdin=plan)

    assert (1, 1) == (text.exit_code, sarif.exit_code)
    assert "aws_db_instance.search · standard input" in text.output
    assert '"uri": "stdin"' in sarif.output
    assert "/dev/stdin" not in text.output + sarif.output
