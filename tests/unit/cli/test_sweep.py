"""`plimsoll sweep`: what its command line refuses, and what it prints."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from plimsoll.cli.commands import app
from plimsoll.cli.output import Format, Output
from plimsoll.errors import UsageError
from plimsoll.units import KIB
from plimsoll_lab.cli.sweep import check_chart, is_explained, sizes_of, write_sweeps
from unit.reports.fixture_sweep import report


@pytest.mark.deep  # needs fio
def test_a_server_in_the_environment_gives_way_to_a_path(tmp_path: Path, monkeypatch):
    """They are not two things at once."""
    monkeypatch.setenv("PLIMSOLL_DSN", "host=127.0.0.1 port=1")
    result = CliRunner().invoke(app, ["sweep", "--path", str(tmp_path / "nowhere")])

    assert isinstance(result.exception, UsageError)
    assert "does not exist" in result.exception.message


def test_sizes_are_amounts_in_any_order():
    """Each once, increasing."""
    assert (8 * KIB, 64 * KIB, 1024 * KIB) == sizes_of("64KiB, 1MiB 8KiB,8KiB")


def test_a_file_that_cannot_be_written_is_refused_before_measuring(tmp_path: Path):
    """Not after minutes of it."""
    with pytest.raises(UsageError, match="no folder"):
        check_chart(tmp_path / "no" / "chart.png")
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        check_chart(tmp_path / "chart.pdf")


@pytest.mark.parametrize("form", list(Format))
def test_what_was_found_is_printed_and_written(form, tmp_path: Path, capsys):
    """In any form to standard output, and the files that were asked for."""
    files = [tmp_path / name for name in ("s.html", "s.svg")]

    write_sweeps([report()], Output(format_given=form, html=files[0], width=80), files[1])

    output = capsys.readouterr().out
    assert output.startswith({"text": "I/O sizes of", "json": "{", "markdown": "# I/O"}[form])
    assert all(file.stat().st_size > 1000 for file in files)
    assert is_explained([report()])
