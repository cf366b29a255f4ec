"""`plimsoll fleet` ingests and ranks; its first word is `ingest` or a lake."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from plimsoll.cli.commands import app

RUN = CliRunner()


def called(*words: str, status: int) -> str:
    result = RUN.invoke(app, ["fleet", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception

    assert status == result.exit_code, result.output
    return result.output


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = str(tmp_path_factory.mktemp("cli") / "lake")
    called("ingest", "examples/search-service", found, status=0)
    called("ingest", "examples/quiet", found, status=0)
    return found


def test_a_window_in_which_no_limit_was_reached_ends_with_0(lake: str):
    text = called(lake, "--no-plan", "--processes", "1", "--last", "2d", "--format", "csv", status=0)

    assert ["instance", "quiet"] == [line.split(",")[2] for line in text.splitlines()]


def test_one_instance_has_its_usual_report(lake: str):
    assert "212.9 MB/s" in called(lake, "--explain", "search-service", "--no-plan", status=1)


def test_every_form_has_the_same_headline(lake: str, tmp_path: Path):
    page = tmp_path / "fleet.html"
    told = "1 of 2 instances reached a limit, 0 of them at the end"
    same = (lake, "--no-plan", "--processes", "1")

    marked = called(*same, "--format", "markdown", "--html", str(page), status=1)
    assert marked.startswith(f"# {told}")
    assert told in page.read_text(encoding="utf-8").replace("\u00a0", " ")
    called(*same, "-o", str(tmp_path / "fleet.json"), status=1)
    document = json.loads((tmp_path / "fleet.json").read_text())
    assert ("plimsoll.fleet/1", told) == (document["schema"], document["headline"])


def test_tags_of_an_answer_of_aws_become_groups(tmp_path: Path):
    """From the file of `describe-db-instances` to the group: the last description has the tags."""
    answer = [
        {
            "DBInstanceIdentifier": "search-service",
            "DBInstanceClass": "db.r5.2xlarge",
            "Engine": "postgres",
            "TagList": [{"Key": "team", "Value": "search"}],
        }
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "instances.json").write_text(json.dumps({"DBInstances": answer}))
    lake = str(tmp_path / "lake")
    called("ingest", "examples/search-service", lake, status=0)
    called("ingest", "examples/quiet", lake, status=0)
    called("ingest", str(tmp_path / "in"), lake, status=0)
    words = (lake, "--no-plan", "--processes", "1", "--by", "tag:team", "--format", "json")
    [grouping] = json.loads(called(*words, status=1))["groupings"]

    assert [("search", 1), (None, 1)] == [
        (group["name"], group["totals"]["instance_count"]) for group in grouping["groups"]
    ]


def test_changes_since_a_file(lake: str, tmp_path: Path):
    file = tmp_path / "old.parquet"
    window = ("--from", "2021-03-09T18:00Z", "--to", "2021-03-10T18:00Z")
    same = (lake, "--no-plan", "--processes", "1")
    called(*same, "--last", "1d", "-o", str(file), status=0)

    compared = called(*same, *window, "--compare", str(file), status=1)
    assert "NEW: 1" in compared
    assert "GONE: 1" in compared
