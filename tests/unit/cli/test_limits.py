"""`plimsoll limits`, as it is called."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from plimsoll.cli.commands import app

STORAGE = ["--engine", "postgres", "--storage", "gp2", "--size-gib", "1000"]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["limits", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_a_class_alone_is_enough():
    """Without storage the limits of the class are shown, and that is said."""
    assert "only the limits of the instance class are shown" in " ".join(run("db.r5.2xlarge").split())


def test_json_is_one_document():
    """The JSON names its schema, and a row has both rates and what binds."""
    document = json.loads(run("db.r5.2xlarge", *STORAGE, "--format", "json"))

    assert document["schema"] == "plimsoll.limits/1"
    assert document["rows"][0] == {
        "io_size_bytes": 8192.0,
        "baseline": {"bytes_per_s": 24_576_000.0, "ops_per_s": 3000.0, "binding": "volume_iops"},
        "burst": {"bytes_per_s": 98_304_000.0, "ops_per_s": 12_000.0, "binding": "volume_iops"},
    }


def test_flags_reach_the_instance():
    """Every flag is found again in the instance of the answer."""
    text = run(
        "db.r5.2xlarge",
        *["--engine", "postgres", "--storage", "gp3", "--size-gib", "500"],
        *["--iops", "20000", "--throughput-mibps", "1000", "--volumes", "4"],
        *["--launched", "2019-06-01", "--multi-az", "--format", "json"],
    )
    found = json.loads(text)["instance"]

    assert ("db.r5.2xlarge", "postgres", True, 1_559_347_200) == tuple(
        found[name] for name in ("db_class", "engine", "multi_az", "launched_s")
    )
    assert {
        "kind": "gp3",
        "size_gib": 500.0,
        "provisioned_ops_per_s": 20_000.0,
        "provisioned_bytes_per_s": 1000.0 * 2**20,
        "volume_count": 4,
        "additional": [],
    } == found["storage"]


@pytest.mark.parametrize("ending", ["svg", "png", "html"])
def test_a_chart_is_written_beside_the_text(tmp_path: Path, ending: str):
    """The ending chooses the kind; the text is printed all the same."""
    path = tmp_path / f"curve.{ending}"
    text = run("db.r5.2xlarge", *STORAGE, "--chart", str(path))
    starts = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!doctype html>"}

    assert path.read_bytes().startswith(starts[ending])
    assert text.startswith("db.r5.2xlarge")
