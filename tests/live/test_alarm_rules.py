"""The rules that `plimsoll alarm` prints are accepted by the real promtool."""

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contract.tree import ROOT
from live.installed import program
from plimsoll.cli.commands import app

pytestmark = pytest.mark.live


@pytest.mark.parametrize("exporter", ["yace", "cloudwatch"])
def test_promtool_accepts_the_rules(exporter: str, tmp_path: Path):
    file = tmp_path / "rules.yml"
    words = ["alarm", str(ROOT / "examples" / "claims-pipeline"), "--format", "prometheus"]
    result = CliRunner().invoke(app, [*words, "--exporter", exporter, "-o", str(file)])
    checked = subprocess.run(
        [str(program("promtool")), "check", "rules", str(file)], capture_output=True, text=True, check=False
    )

    assert 0 == result.exit_code
    assert "SUCCESS: 13 rules found" in checked.stdout, checked.stderr
