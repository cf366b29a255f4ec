"""Every report has every form: text, Markdown and JSON on standard output, and a page."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contract.tree import ROOT
from plimsoll.cli.commands import app
from plimsoll.errors import UsageError

PLANS = ROOT / "examples" / "plans"
COMMANDS = {
    "limits": "limits db.t3.xlarge --engine postgres --storage gp2 --size-gib 1024",
    "lint": f"lint pooler {ROOT}/examples/pooled-cluster/pgpool.conf --version 4.1.2",
    "infrastructure": f"lint terraform {ROOT}/examples/infrastructure/plan.json",
    "pool-size": "pool-size --services 12 --containers 4 --pool 20 --vcpus 8",
    "explain": f"explain compare {PLANS}/normal.json {PLANS}/slow.json",
    "pace": f"pace {ROOT}/examples/claims-pipeline",
    "compare": f"compare {ROOT}/examples/search-service {ROOT}/examples/search-service-after",
}


def output_of(name: str, form: str, *more: str) -> str:
    """What a command prints in a form, on standard output alone."""
    result = CliRunner().invoke(app, [*COMMANDS[name].split(), "--format", form, *more])
    assert result.exit_code in {0, 1}
    return result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_form_says_the_same_headline(name: str, tmp_path: Path):
    """
    The first sentence of the text is the title of the Markdown and of the page. The page has one script of
    its own and loads nothing: it is read where it was sent, by whoever gets it.
    """
    page = tmp_path / "report.html"
    marked = output_of(name, "markdown", "--html", str(page))
    title = marked.splitlines()[0].removeprefix("# ").replace("\\", "")
    written = page.read_text(encoding="utf-8")

    text = " ".join(output_of(name, "text", "--width", "120").split())
    assert text.startswith(title)
    assert title in written.replace("\u00a0", " ").replace("&#39;", "'")
    assert json.loads(output_of(name, "json"))
    assert "default-src 'none'" in written
    assert 1 == written.count("<script")
    assert 'src="' not in written


@pytest.mark.parametrize(("name", "start"), [("r.json", "{"), ("r.md", "# "), ("r.txt", "")])
def test_a_report_goes_to_a_file_in_the_form_of_its_name(name: str, start: str, tmp_path: Path):
    """It gets what would be printed, and standard output nothing."""
    file = tmp_path / name
    forms = {".json": "json", ".md": "markdown", ".txt": "text"}
    printed = output_of("limits", forms[file.suffix], "--width", "100")

    result = CliRunner().invoke(app, [*COMMANDS["limits"].split(), "-o", str(file), "--width", "100"])

    assert (0, "") == (result.exit_code, result.stdout)
    assert f"report written to {file}\n" == result.stderr
    assert file.read_text(encoding="utf-8") == printed
    assert printed.startswith(start)


def test_a_form_that_is_named_goes_before_the_ending(tmp_path: Path):
    file = tmp_path / "r.txt"
    output_of("limits", "json", "-o", str(file))

    assert json.loads(file.read_text(encoding="utf-8"))


def test_a_dash_is_standard_output():
    assert output_of("limits", "json") == output_of("limits", "json", "-o", "-")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("more", "cause"),
    [
        (["-o", "no/such/r.json"], "unable to write 'no/such/r.json': there is no folder"),
        (["--html", "/tmp"], "unable to write '/tmp': it is a folder"),
        (["-o", "r.html"], "-o writes text, JSON or Markdown, and 'r.html' is a page"),
        (["-o", "r.png"], "-o writes text, JSON or Markdown, and 'r.png' is a PNG picture"),
        (["-o", "r.JSON.gz"], "-o writes text, JSON or Markdown, and 'r.JSON.gz' is a gzip file"),
        (["--html", "r.md"], "--html writes a page, and 'r.md' is a Markdown file"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(name, more, cause):
    """Nothing is read or measured for it."""
    result = CliRunner().invoke(app, [*COMMANDS[name].split(), *more])

    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(cause)
    assert "" == result.stdout


@pytest.mark.parametrize("name", ["report", "orders-2026.11.20", "r.log", "r.JSON"])
def test_an_ending_that_names_no_other_kind_of_file_is_taken(name: str, tmp_path: Path):
    """What follows the last full stop of a date is not a kind of file."""
    output_of("limits", "text", "-o", str(tmp_path / name))

    assert (tmp_path / name).exists()
