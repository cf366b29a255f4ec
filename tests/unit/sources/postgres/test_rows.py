"""What becomes of a server's rows before anything else sees them."""

import pytest

from plimsoll.sources.postgres.rows import masked, without_literals


@pytest.mark.parametrize(
    "text",
    [
        "ALTER ROLE app PASSWORD 'secret'",
        "create role app login password E'it\\'s secret'",
        "alter role app password $$secret$$",
        "alter role app password $tag$secret$tag$",
        "ALTER ROLE a VALID UNTIL 'never' PASSWORD 'back\\' PASSWORD 'secret'",
        "create subscription s connection 'host=db1 password=secret' publication p",
        "create user mapping for app server s options (user 'a', password 'secret",
    ],
)
def test_no_string_of_a_statement_is_kept(text):
    """
    Commands keep their values in pg_stat_statements, passwords among them: what follows the first
    quote is left out, however the rest is quoted or cut short.
    """
    shown = without_literals(text)

    assert "secret" not in shown
    assert shown.endswith("…")
    assert text.startswith(shown.removesuffix("…"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "UPDATE items SET body = $1 WHERE id = $2 AND price > $13",
        'select "a$b", c$d from e',
        "select $1::text || $2",
    ],
)
def test_a_query_keeps_its_text(text):
    """The values of queries are parameters already."""
    assert text == without_literals(text)


def test_no_number_of_a_session_is_kept():
    """A session's statement has its values in it: numbers become `?`, and a string and all behind it is cut off."""
    text = "update orders set total = 4711.50 where id=-12 and card_2 = $1 and name = 'Smith' and pin = 99"

    assert "update orders set total = ? where id=? and card_2 = $1 and name = …" == masked(text)
