"""Pages of help that hints of refusals name."""

from typer.testing import CliRunner

from plimsoll.cli.commands import app


def test_a_hint_names_the_page_of_help_that_lists_the_option():
    """The options of `fleet LAKE`, which a transcript of refusals names, are not on the page of `fleet`."""
    page = CliRunner().invoke(app, ["fleet", "LAKE", "--help"]).output

    assert page.startswith("Usage: plimsoll fleet [OPTIONS] LAKE\n")
    assert "--processes" in page
