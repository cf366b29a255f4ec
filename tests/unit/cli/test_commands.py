"""A command line with values that cannot be: one sentence in our words, a hint, and status 2."""

import pytest
from typer.testing import CliRunner

from plimsoll.cli.commands import app, run
from plimsoll.errors import UsageError


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("diagnose", "x", "--width", "x"), "it is not a whole number"),
        (("diagnose", "x", "--width", "2"), "it is less than 40"),
        (("alarm", "x", "--size-gib", "x"), "it is not a number"),
        (("lint", "pooler", "x", "--format", "x"), "'x' is not one of 'text', 'json', 'markdown'"),
        (("lab", "postgres", "--scale", "10001"), "it is more than 10000"),
    ],
)
def test_a_value_that_cannot_be_is_refused_in_our_words(arguments, reason):
    """The library that checks values has words of its own, which would be shown as they are."""
    with pytest.raises(UsageError) as caught:
        run(arguments)

    assert caught.value.message.endswith(reason)
    assert caught.value.message[0].islower()
    assert caught.value.hint.startswith("See 'plimsoll ")


def test_a_hint_names_the_page_of_help_that_lists_the_option():
    """The options of `fleet LAKE` are not on the page of `fleet`."""
    with pytest.raises(UsageError) as caught:
        run(("fleet", "x", "--processes", "0"))
    assert caught.value.hint == "See 'plimsoll fleet LAKE --help'."

    page = CliRunner().invoke(app, ["fleet", "LAKE", "--help"]).output
    assert page.startswith("Usage: plimsoll fleet [OPTIONS] LAKE\n")
    assert "--processes" in page
