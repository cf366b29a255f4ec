"""`plimsoll rehearse`: what is missing is said before anything is read."""

import pytest
from typer.testing import CliRunner

from plimsoll.cli.commands import app
from plimsoll.cli.rehearse import share_of
from plimsoll.errors import PlimsollError, UsageError


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["a.csv"], "a table is missing"),
        (["a.csv", "t"], "no server to rehearse on"),
        (["a.csv", "t", "--dsn", "x", "--sample", "0"], "is not a share"),
        (["a.csv", "t", "--dsn", "x", "--json", "--format", "text"], "differ"),
        (["absent.csv", "t", "--dsn", "x"], "there is no file 'absent.csv'"),
        (["a.csv", "t", "--dsn", "x", "--finish-within", "soon"], "is not a time"),
    ],
)
def test_what_is_missing_is_one_sentence(arguments, cause):
    with pytest.raises(UsageError, match=cause):
        CliRunner().invoke(
            app, ["rehearse", *arguments], catch_exceptions=False, env={"PLIMSOLL_DSN": ""}
        )


@pytest.mark.parametrize(
    ("flags", "cause"),
    [
        ([], "nothing to rehearse on"),
        (["--class", "db.m6g.large", "--engine", "aurora-postgresql"], "no storage limit"),
        (["--class", "db.m6g.large"], "connection string"),
    ],
)
def test_what_cannot_be_rehearsed_is_said(tmp_path, flags, cause):
    (tmp_path / "a.csv").write_text("1\n")
    with pytest.raises(UsageError, match=cause):
        CliRunner().invoke(
            app,
            ["rehearse", str(tmp_path / "a.csv"), "t", "--dsn", "secret-word", *flags],
            catch_exceptions=False,
        )


@pytest.mark.parametrize(
    ("name", "cause"),
    [("absent.json", "unable to read '.*absent.json'"), ("there.json", "need a region")],
)
def test_prices_without_a_region_are_refused_before_the_sample(tmp_path, name, cause):
    """As with a region: nobody would read them."""
    (tmp_path / "there.json").write_text("{}")
    (tmp_path / "a.csv").write_text("1\n")
    bought = ("--class", "db.t3.micro", "--storage", "gp3", "--size-gib", "100")
    given = (str(tmp_path / "a.csv"), "t", "--dsn", "host=absent", *bought)
    with pytest.raises(PlimsollError, match=cause):
        CliRunner().invoke(
            app, ["rehearse", *given, "--prices", str(tmp_path / name)], catch_exceptions=False
        )


@pytest.mark.parametrize(
    ("text", "ratio"), [("1%", 0.01), ("0.5 %", 0.005), ("0.01", 0.01), ("100%", 1)]
)
def test_a_share_is_percent_or_a_ratio(text, ratio):
    assert ratio == share_of(text)


@pytest.mark.parametrize("text", ["", "0%", "101%", "2", "-1%", "half"])
def test_another_share_is_refused(text):
    with pytest.raises(UsageError, match="is not a share"):
        share_of(text)
