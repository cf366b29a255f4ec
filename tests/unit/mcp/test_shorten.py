"""A shortened report fits, keeps its form, and says what is not in it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.mcp.shorten import shortened, size_of

LISTS = st.recursive(
    st.one_of(st.text(max_size=50), st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=8), st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)),
    max_leaves=40,
)


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from(("options", "notes", "rows")), st.lists(LISTS, max_size=12)))
def test_it_fits_and_names_every_list_that_was_cut(document):
    """Lists keep their first items; nothing else is left out."""
    found, left_out = shortened(document, ("options",), 1000)

    assert size_of(found) + size_of(left_out) <= 1000
    assert document.keys() == found.keys()
    for name, items in document.items():
        is_named = any(text.startswith(f"{name}: {len(found[name])} of {len(items)}") for text in left_out)
        assert is_named is (len(found[name]) < len(items))


def test_what_fits_stays_whole():
    """All lists, nested ones too; nothing is listed as left out."""
    document = {"a": [{"b": [1, 2, 3]}, {"b": []}], "c": "text", "d": None}

    assert (document, []) == shortened(document, ("a",), 8192)


def test_the_first_list_comes_before_the_others():
    """Three of its items are taken before one of another list."""
    document = {"other": ["x" * 50] * 9, "options": ["y" * 50] * 9}

    found, left_out = shortened(document, ("options",), 240)

    assert {"other": 0, "options": 3} == {name: len(items) for name, items in found.items()}
    assert ["other: 0 of 9", "options: 3 of 9"] == left_out


def test_long_texts_and_digits_give_way():
    """A text ends with an ellipsis, and a number keeps the digits that a metric can have."""
    found, _ = shortened({"t": "x" * 900, "f": 91148381.2413793, "i": 123456789}, ("a",), 8192)

    assert {"t": "x" * 297 + "…", "f": 91148000.0, "i": 123456789} == found
