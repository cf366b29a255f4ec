"""`plimsoll limits` as people see it, at 80 columns in a pipe."""

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from plimsoll.cli.commands import app

COMMANDS = {
    "r5-2xlarge-gp2-2019.txt": ("db.r5.2xlarge --engine postgres --storage gp2 --size-gib 1000 --launched 2019-06-01"),
    "t3-xlarge-gp2.txt": "db.t3.xlarge --engine postgres --storage gp2 --size-gib 1024 --multi-az",
    "m7g-large-gp3.txt": (
        "db.m7g.large --engine mysql --storage gp3 --size-gib 500"
        " --iops 40000 --throughput-mibps 2000 --launched 2024-03-01"
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_limits_reads_as_reviewed(name: str, golden: Callable[[str, str], None]):
    """The whole output is what was reviewed."""
    result = CliRunner().invoke(app, ["limits", *COMMANDS[name].split(), "--width", "80"])

    assert result.exit_code == 0
    golden(f"limits/{name}", result.stdout)
