"""`plimsoll catalog`, as it is called."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from plimsoll.catalog import schema
from plimsoll.catalog.load import catalog
from plimsoll.cli.commands import app
from plimsoll.errors import UsageError

ANSWER = Path(__file__).parents[1] / "catalog" / "describe_instance_types.json"


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["catalog", *arguments], input=stdin, catch_exceptions=False)


def test_show_lists_all_classes():
    """Without a class every known one is printed, one a line."""
    assert run("show").stdout.splitlines() == list(catalog().classes())


def test_refresh_writes_both_tables(tmp_path: Path):
    """With --write both tables are written whole, and the exit status is 0."""
    result = run("refresh", "--from", str(ANSWER), "--read-on", "2026-12-01", "--write", str(tmp_path))
    rows = {
        table.file: schema.texts_of((tmp_path / table.file).read_text(encoding="utf-8"))
        for table in (schema.INSTANCE_LIMITS, schema.INSTANCE_LIMITS_LEGACY)
    }

    assert result.exit_code == 0
    assert {name: len(found) for name, found in rows.items()} == {
        "instance_limits.csv": 423,
        "instance_limits_legacy.csv": 206,
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(rows)


def test_a_folder_that_is_missing_is_named(tmp_path: Path):
    """--write names a folder that must exist."""
    with pytest.raises(UsageError) as caught:
        run("refresh", "--from", str(ANSWER), "--write", str(tmp_path / "nowhere"))

    assert "nowhere" in caught.value.message
