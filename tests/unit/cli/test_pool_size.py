"""`plimsoll pool-size` and `plimsoll lint pooler`, as they are called."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from plimsoll.cli.commands import app

ALIKE = ("pool-size", "--services", "12", "--containers", "4", "--pool", "20")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"PLIMSOLL_DSN": ""})


def test_the_sum_is_held_against_server_and_machine():
    """960 against 497 and 16; the arithmetic is shown and the status is 1."""
    result = call(*ALIKE, "--max-connections", "500", "--vcpus", "8", "--width", "100")

    assert result.exit_code == 1
    assert "Each of 12 services: 4 containers × 20 = 80 each, × 12 = 960" in result.output
    assert "500 − 3 reserved = 497; the pools may open 1.93 times that" in result.output
    assert "16 sessions at work = 2 × 8 vCPUs (rule of thumb)" in result.output
    assert "put a pooler in" in result.output


def test_a_class_tells_its_processors():
    """db.r5.2xlarge has 8 vCPUs."""
    result = call(*ALIKE, "--class", "db.r5.2xlarge", "--format", "json")

    assert json.loads(result.output)["room"]["vcpu_count"] == 8


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        ("13", "10; the pools may open 1 times that"),
        ("23", "20; the pools may open 50 % of that"),
        ("3", "0; that leaves no connections"),
    ],
)
def test_a_part_is_told_as_a_part(most: str, expected: str):
    """Less than the whole in percent, more in times; of nothing nobody has a part."""
    assert expected in call("pool-size", "--service", "a=2x5", "--max-connections", most).output


def test_one_is_one():
    """A service of one container has no containers."""
    result = call("pool-size", "--service", "jobs=1x5", "--service", "a=2x5", "--vcpus", "8").output

    assert "jobs: 1 container × 5 = 5" in result
    assert "a: 2 containers × 5 = 10" in result
    assert "1 containers" not in result


def test_without_a_server_the_total_is_compared_with_classes():
    """PostgreSQL on RDS accepts 960 connections from 16 GiB on; 4 vCPUs run 8 active sessions."""
    result = call(*ALIKE)

    assert result.exit_code == 0
    assert "Together: 960 connections" in result.output
    text = " ".join(result.output.split())
    assert "db.m7g.xlarge (16 GiB, up to 1,802 by default) is the smallest db.m7g class" in text
    assert "its 4 vCPUs run about 8 active sessions well" in text


def test_what_fits_is_status_0_and_nothing_known_status_2():
    """Exit statuses are 0, 1 and 2; a server of which too little is known is no answer."""
    few = ("pool-size", "--service", "orders=2x5")

    assert call(*few, "--max-connections", "100", "--vcpus", "8").exit_code == 0
    assert call(*few, "--max-connections", "100", "--vcpus", "4").exit_code == 1
    assert call(*few, "--class", "db.serverless").exit_code == 2


def test_points_of_a_measurement_are_used():
    """Throughputs of pgbench give a curve in place of the rule of thumb."""
    points = ("1:900", "2:1700", "4:3000", "8:4400", "16:5000", "32:4800")
    given = [word for point in points for word in ("--point", point)]
    result = call(*ALIKE, "--vcpus", "2", "--format", "json", *given)

    assert json.loads(result.output)["basis"] == "measured"


def test_what_could_not_be_looked_at_is_said(tmp_path: Path):
    """Nothing found is no proof where nothing was held against anything."""
    file = tmp_path / "pgbouncer.ini"
    file.write_text("[databases]\na = \n[pgbouncer]\npool_mode = session\n")
    bare = call("lint", "pooler", str(file), "--width", "100").output
    whole = call("lint", "pooler", str(file), "--version", "1.25.0", "--max-connections", "100")

    assert bare.startswith("Nothing found.\n")
    assert bare.endswith(
        "NOT CHECKED\n"
        "  - The total of the pools was not checked: give --max-connections.\n"
        "  - The release is unknown: give --version.\n"
    )
    assert whole.output.startswith("Nothing found.\n")
    assert "NOT CHECKED" not in whole.output


def test_a_linted_file_gives_findings_to_programs(tmp_path: Path):
    """JSON has the settings that were set and the findings; the status is that of the worst."""
    file = tmp_path / "pgbouncer.ini"
    file.write_text("[pgbouncer]\npool_mode = transaction\nserver_lifetime = 0\n")
    result = call("lint", "pooler", str(file), "--version", "1.25.0", "--format", "json")
    answer = json.loads(result.output)

    assert result.exit_code == 1
    assert answer["pooler"]["settings"] == {"pool_mode": "transaction", "server_lifetime": "0"}
    assert answer["findings"][0]["code"] == "ServersUsedOnce"
