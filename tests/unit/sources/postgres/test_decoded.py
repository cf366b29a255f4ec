"""Lines of `test_decoding` are read as the plugin writes them."""

from plimsoll.sources.postgres.decoded import change_of


def test_an_update_is_read_by_column():
    """Quotes in a value are doubled, null is None, and what was left alone is told apart."""
    change = change_of(
        "table public.docs: UPDATE: id[integer]:1 title[character varying]:'it''s [x]: y' "
        "body[text]:unchanged-toast-datum note[text]:null"
    )

    assert change is not None
    assert ("public.docs", "UPDATE") == (change.table, change.action)
    assert {"id": "1", "title": "it's [x]: y", "note": None} == change.new
    assert {"body"} == change.untouched
    assert not change.old


def test_old_rows_stand_before_new_ones():
    """With REPLICA IDENTITY FULL the old values come first; brackets of an array type are its own."""
    change = change_of(
        "table public.docs: UPDATE: old-key: id[integer]:1 body[text]:'a new-tuple: b' "
        "new-tuple: id[integer]:1 body[text]:'c' tags[text[]]:'{a,b}' flag[boolean]:true"
    )

    assert change is not None
    assert {"id": "1", "body": "a new-tuple: b"} == change.old
    assert {"id": "1", "body": "c", "tags": "{a,b}", "flag": "true"} == change.new


def test_quoted_names_are_understood():
    """Schema, table and column keep their capitals, spaces and quotes."""
    change = change_of('table "My schema"."It""s.docs": INSERT: "Body, x"[text]:\'\\\' size[bigint]:5')

    assert change is not None
    assert '"My schema"."It""s.docs"' == change.table
    assert {"Body, x": "\\", "size": "5"} == change.new


def test_what_is_no_change_of_a_row_is_none():
    """Transactions and rows without columns tell nothing."""
    assert change_of("BEGIN 733") is None
    assert change_of("table public.docs: DELETE: (no-tuple-data)") is None
