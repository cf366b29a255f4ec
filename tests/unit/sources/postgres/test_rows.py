"""What becomes of a server's rows before anything else sees them."""

import pytest

from plimsoll.sources.postgres.rows import without_literals


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
    """
    The values of queries are parameters already.
    """
    assert text == without_literals(text)
