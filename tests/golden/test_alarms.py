"""The alarms of the simulated search service, as other programs read them, as reviewed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from plimsoll.cli.commands import app

EXAMPLE = Path(__file__).parents[2] / "examples" / "search-service"


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("search-service.json", ["--format", "json"]),
        ("search-service.grafana.json", ["--format", "grafana"]),
        ("search-service.yace.grafana.json", ["--format", "grafana", "--exporter", "yace"]),
    ],
)
def test_the_alarms_read_as_reviewed(file: str, options: list[str], golden: Callable[[str, str], None]):
    """The numbers, the lines and the queries."""
    result = CliRunner().invoke(app, ["alarm", str(EXAMPLE), *options])

    assert 0 == result.exit_code
    golden(f"alarm/{file}", result.stdout)
