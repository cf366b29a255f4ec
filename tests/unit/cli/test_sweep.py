"""`plimsoll sweep`: what its command line refuses, and what it prints."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from plimsoll.cli.commands import app
from plimsoll.cli.output import Format, Output
from plimsoll.cli.sweep import check_chart, is_explained, sizes_of, write_sweeps
from plimsoll.errors import UsageError
from plimsoll.units import KIB
from unit.reports.fixture_sweep import report


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["sweep", *arguments])
    assert isinstance(result.exception, UsageError)
    return result.exception.message


def test_something_must_be_named():
    """A path or a database."""
    assert "no storage to measure" in refusal()


def test_two_things_at_once_are_refused(tmp_path: Path, monkeypatch):
    """A server in the environment gives way to a path on the command line."""
    nowhere = str(tmp_path / "nowhere")

    assert "cannot be measured together" in refusal(
        "--path", nowhere, "--dsn", "host=127.0.0.1 port=1"
    )
    monkeypatch.setenv("PLIMSOLL_DSN", "host=127.0.0.1 port=1")
    assert "does not exist" in refusal("--path", nowhere)
    assert "--table needs --dsn" in refusal("--path", nowhere, "--table", "t")


def test_sizes_are_amounts_in_any_order():
    """Each once, increasing."""
    assert (8 * KIB, 64 * KIB, 1024 * KIB) == sizes_of("64KiB, 1MiB 8KiB,8KiB")
    with pytest.raises(UsageError, match="--sizes"):
        sizes_of("8 apples")


def test_a_file_that_cannot_be_written_is_refused_before_measuring(tmp_path: Path):
    """Not after minutes of it."""
    with pytest.raises(UsageError, match="no folder"):
        check_chart(tmp_path / "no" / "chart.png")
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        check_chart(tmp_path / "chart.pdf")


def test_a_place_that_is_not_there_is_one_sentence(tmp_path: Path):
    """And nothing is measured."""
    assert "does not exist" in refusal("--path", str(tmp_path / "nowhere"))


@pytest.mark.parametrize("form", list(Format))
def test_what_was_found_is_printed_and_written(form, tmp_path: Path, capsys):
    """In any form to standard output, and the files that were asked for."""
    files = [tmp_path / name for name in ("s.html", "s.svg")]

    write_sweeps([report()], Output(format_given=form, html=files[0], width=80), files[1])

    output = capsys.readouterr().out
    assert output.startswith({"text": "I/O sizes of", "json": "{", "markdown": "# I/O"}[form])
    assert all(file.stat().st_size > 1000 for file in files)
    assert is_explained([report()])
