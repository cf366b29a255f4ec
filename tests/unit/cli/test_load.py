"""`plimsoll load` and `rehearse`: what is missing is said before anything is read."""

import pytest
from typer.testing import CliRunner

from plimsoll.cli.commands import app
from plimsoll.cli.load import is_csv, summary
from plimsoll.cli.rehearse import share_of
from plimsoll.errors import UsageError
from plimsoll.load.copy.run import LoadProgress
from plimsoll.load.pace.law.commits import CommitsSeen


@pytest.mark.parametrize(
    "dsn",
    [
        "secret-word",
        "postgresql://etl:secret-word@x@host/db",
        # Without its encoding, what is after the slash is the name of a database.
        "postgresql:///secret-word@host/db",
        "host=h password=secret-word\udce9",
    ],
)
def test_a_dsn_that_is_none_is_not_repeated(tmp_path, dsn):
    (tmp_path / "a.csv").write_text("1\n")
    with pytest.raises(UsageError, match="connection string") as caught:
        CliRunner().invoke(
            app, ["load", str(tmp_path / "a.csv"), "t", "--dsn", dsn, "--class", "db.m6g.large"], catch_exceptions=False
        )

    assert "secret-word" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize(
    ("names", "form", "found"),
    [(["a.csv"], None, True), (["A.CSV.gz", "b.csv"], None, True), (["a.txt"], None, False), (["a.txt"], "csv", True)],
)
def test_the_format_follows_the_names(names, form, found):
    assert found is is_csv(names, form)


@pytest.mark.parametrize(("text", "ratio"), [("1%", 0.01), ("0.5 %", 0.005), ("0.01", 0.01), ("100%", 1)])
def test_a_share_of_rows_is_percent_or_a_ratio(text, ratio):
    assert ratio == share_of(text)


def test_the_summary_counts_this_run_and_earlier_ones():
    """That of watched commits has a second line."""
    seen = CommitsSeen(slower_ratio=1.5, before_s=0.002, count=200, slow_count=3)
    done = LoadProgress(
        loaded_bytes=3 * 2**20, total_bytes=None, row_count=1000, earlier_bytes=2**20, workers=0, commits=seen
    )

    assert [
        "1,000 rows loaded, 2 MiB in 5 s; 1 MiB were loaded before",
        (
            "1.5 % of commits took longer than 3 ms, 1.5 times the 95th percentile before the load:"
            " the limit of 5.0 % was kept"
        ),
    ] == summary(done, 5.0).splitlines()
