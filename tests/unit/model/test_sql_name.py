"""What a table's name may mean."""

import pytest

from plimsoll.model.sql_name import quoted_name, spellings


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("public.orders", ("public", "orders")),
        ("Public.Orders", ("public", "orders")),
        ('public."Order"', ("public", "Order")),
        ('"Sales"."Order Lines"', ("Sales", "Order Lines")),
        ('a."b.c"', ("a", "b.c")),
        ('a."say ""so"""', ("a", 'say "so"')),
        ("orders", ("first", "orders")),
        ('"Order"', ("first", "Order")),
    ],
)
def test_a_name_means_what_it_means_in_sql_first(text: str, meant: tuple[str, str]):
    """Letters without quotes are small, those with quotes are as they are written."""
    assert meant == spellings(text, ["first", "second"])[0]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("public.Order", ("public", "Order")),
        ("Sales.Order Lines", ("Sales", "Order Lines")),
        ("Order", ("second", "Order")),
        ("a.b.c", ("a.b", "c")),
        ("a.b.c", ("a", "b.c")),
        ('public.o"dd', ("public", 'o"dd')),
        ("public.$(touch x)", ("public", "$(touch x)")),
    ],
)
def test_a_name_whose_quotes_a_shell_took_is_understood(text: str, meant: tuple[str, str]):
    """The letters as they were written are among the meanings."""
    assert meant in spellings(text, ["first", "second"])


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", '"', '"a', 'a"', '"a"b', "..", '""'])
def test_what_is_no_name_is_only_itself(text: str):
    """Nothing is made up, and nothing is raised."""
    assert set(spellings(text, ["public"])) <= {("public", text)}


def test_quotes_are_doubled():
    """A quote cannot end a quoted name."""
    assert '"a""; drop table t; --"' == quoted_name('a"; drop table t; --')
