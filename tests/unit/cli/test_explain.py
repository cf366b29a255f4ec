"""`plimsoll explain`: what its command line refuses, prints and returns."""

from pathlib import Path

from typer.testing import CliRunner

from plimsoll.cli.commands import app
from plimsoll.sources.explain.file import read_captures

LOG = """\
2026-11-20 16:19:46.740 UTC [7] LOG:  duration: 0.400 ms  plan:
\tQuery Text: select * from orders where note = 'secret'
\tSeq Scan on orders  (cost=0.00..6.50 rows=120 width=8) (actual time=0.1..0.3 rows=7.00 loops=1)
\t  Filter: (note = 'secret'::text)
\t  Buffers: shared hit=9
"""


def run(*arguments: str):
    return CliRunner().invoke(app, ["explain", *arguments])


def test_a_log_is_recorded_without_its_literals(tmp_path: Path):
    """The file holds the plan, and nobody's values."""
    (tmp_path / "server.log").write_text(LOG, encoding="utf-8")
    out = tmp_path / "out.json"
    result = run("record", "--log", str(tmp_path / "server.log"), "-o", str(out))

    assert 0 == result.exit_code
    assert "select * from orders where note = ?" in result.stdout
    assert "secret" not in out.read_text(encoding="utf-8")
    assert 9 == read_captures(out).captures[0].blocks.hit


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path):
    """As people name them: before/it.log and after/it.log."""
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "it.log").write_text(LOG, encoding="utf-8")
    result = run("compare", str(tmp_path / "before/it.log"), str(tmp_path / "after/it.log"))

    assert 0 == result.exit_code
    assert "before/it.log" in result.stdout.replace("\n", "")
