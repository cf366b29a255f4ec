"""What a batch of events does to the copy: whatever the order, the newest version wins, and nothing else changes."""

import random

import pytest
from flow import MOMENT, asset, category, changed, deleted, product, supplier
from hypothesis import HealthCheck, given, settings, strategies
from sqlalchemy import Engine as Database
from sqlalchemy import event as hooks
from sqlalchemy import text

from search_service.apply import Applied, Position, apply, next_offset
from search_service.database import transaction
from search_service.events import Event, decode, encode, type_of
from search_service.fan_out import fan_out_page, pending_changes
from search_service.index_work import finish, work_of
from search_service.model import digest_of


def put(database: Database, *events: Event, is_tracking: bool = True) -> Applied:
    """Apply events as the next batch of a partition."""
    begun = next_offset(database, "t", 0)
    place = Position(topic="t", partition=0, expected=begun, next=begun + len(events))
    return apply(database, place, events, is_dirty_tracking=is_tracking)


def rows(database: Database, statement: str) -> list[tuple[object, ...]]:
    with transaction(database) as session:
        return [tuple(row) for row in session.execute(text(statement))]


def everything(database: Database) -> dict[str, list[tuple[object, ...]]]:
    tables = ("supplier", "category", "product", "asset")
    # What a deleted row last contained depends on what came before, and nobody reads it.
    shown = "CASE WHEN t.is_deleted THEN jsonb_build_object('id', id, 'version', version) ELSE to_jsonb(t) - 'document_version' END"
    return {name: rows(database, f"SELECT {shown} FROM {name} t ORDER BY id") for name in tables}


def empty(database: Database) -> None:
    with transaction(database) as session:
        session.execute(
            text("TRUNCATE supplier, category, product, asset, index_work, fan_out, applied_offset, generation")
        )


def history(seed: int) -> list[Event]:
    """Versions of a few entities in the order in which their services wrote them."""
    dice = random.Random(seed)
    events: list[Event] = []
    for version in range(1, 9):
        number = dice.randrange(3)
        events += [
            changed(product(number, price_cents=dice.randrange(1000), supplier_id=f"s-{dice.randrange(2)}"), version),
            changed(asset(number, views=version, product_id=f"p-{dice.randrange(3)}"), version),
            changed(supplier(dice.randrange(2), name=f"Name {version}"), version),
            changed(category(1, name=f"Name {version}"), version),
            deleted("product", f"p-{dice.randrange(3)}", version),
        ]  # fmt: skip
    newest: dict[tuple[str, str, int], Event] = {}
    for event in events:
        newest.setdefault((type_of(event), event.id, event.version), event)
    return list(newest.values())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(strategies.integers(0, 10**6))
def test_any_order_with_duplicates_gives_the_same_copy(database: Database, seed: int):
    """In batches of any size."""
    events = history(seed)
    empty(database)
    put(database, *events)
    expected = everything(database)
    dice = random.Random(seed)
    shuffled = [*events, *dice.choices(events, k=10)]
    dice.shuffle(shuffled)
    empty(database)
    while shuffled:
        size = dice.randint(1, 9)
        put(database, *shuffled[:size])
        shuffled = shuffled[size:]

    assert expected == everything(database)


def test_a_batch_that_was_applied_is_not_applied_again(database: Database):
    """Two indexers with the same batch: the ledger lets one of them."""
    place = Position(topic="t", partition=0, expected=0, next=1)
    first = apply(database, place, [changed(product())], is_dirty_tracking=True)
    second = apply(database, place, [changed(product(name="Other"), 2)], is_dirty_tracking=True)

    assert (True, False) == (first.is_ours, second.is_ours)
    assert [("Warm leather boots",)] == rows(database, "SELECT name FROM product")


def test_a_batch_that_fails_changes_nothing(database: Database):
    """Neither the rows nor the ledger."""
    bad = changed(product(2, sku="x"))
    with transaction(database) as session:
        session.execute(text("ALTER TABLE product ADD CHECK (sku <> 'x')"))
    with pytest.raises(Exception, match="product_sku_check"):
        put(database, changed(product(1)), bad)

    assert 0 == next_offset(database, "t", 0)
    assert [] == rows(database, "SELECT id FROM product")


def test_what_is_ignored_leaves_no_work(database: Database):
    put(database, changed(product(), 5))
    before = rows(database, "SELECT * FROM index_work")
    applied = put(database, changed(product(name="Old"), 4), changed(product(name="Same"), 5))

    assert (0, 2) == (applied.changed, applied.ignored)
    assert before == rows(database, "SELECT * FROM index_work")


def test_an_asset_that_moves_marks_both_products(database: Database):
    """The one that loses it and the one that gets it."""
    put(database, changed(product(1)), changed(product(2)), changed(asset(1)))
    put_before = dict(rows(database, "SELECT id, document_version FROM product"))
    put(database, changed(asset(1, product_id="p-2"), 2))
    after = dict(rows(database, "SELECT id, document_version FROM product"))

    assert {name: version + 1 for name, version in put_before.items()} == after


@pytest.mark.parametrize(("is_tracking", "texts"), [(True, 0), (False, 1)])
def test_without_dirty_tracking_a_text_that_stayed_is_written_again(database: Database, is_tracking: bool, texts: int):
    """
    PostgreSQL writes its TOAST rows anew, and leaves the old ones dead: the incident in small.
    """
    put(database, changed(asset()))
    toast = "SELECT chunk_id FROM pg_toast.{} GROUP BY 1"
    ((name,),) = rows(
        database,
        "SELECT t.relname FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.relname = 'asset'",
    )
    before = rows(database, toast.format(name))
    put(database, changed(asset(views=7), 2), is_tracking=is_tracking)
    after = rows(database, toast.format(name))

    assert 1 == len(before) == len(after)
    assert texts == len(set(after) - set(before))
    assert [(7,)] == rows(database, "SELECT views FROM asset")


def test_fan_out_is_bounded_and_begins_again(database: Database):
    """A second rename while the first is spread reaches every product."""
    put(database, *(changed(product(n)) for n in range(25)), changed(supplier()))
    while fan_out_page(database, 10):
        pass
    before = dict(rows(database, "SELECT id, document_version FROM product"))
    put(database, changed(supplier(name="Second"), 2))
    first = fan_out_page(database, 10)
    put(database, changed(supplier(name="Third"), 3))
    pages = []
    while pending_changes(database):
        pages.append(fan_out_page(database, 10))
    after = dict(rows(database, "SELECT id, document_version FROM product"))

    assert (10, [10, 10, 5]) == (first, pages)
    assert all(after[name] > version for name, version in before.items())


def test_a_circle_of_categories_ends(database: Database):
    """Events can make one, and the document shows each category once."""
    put(database, changed(product()), changed(category(1, parent=2)), changed(category(2, parent=1)))
    assert 1 == fan_out_page(database, 10)
    (document,) = work_of(database, 10).documents

    assert ["c-1", "c-2"] == document.body["category_ids"]


def test_freshness_counts_from_the_oldest_change(database: Database):
    from datetime import timedelta

    later = MOMENT + timedelta(seconds=5)
    put(database, changed(product(), 1), changed(product(name="New"), 2, later))

    assert [MOMENT] == [change.at for change in work_of(database, 10).changes]


def test_products_that_changed_come_before_those_of_a_renamed_supplier(database: Database):
    """
    Of a page of eight, at most six places are for the products' own changes, though the rename is older.
    """
    from datetime import timedelta

    put(database, changed(supplier()), *(changed(product(n)) for n in range(1, 21)))
    finish(database, work_of(database, 100).documents)
    put(database, changed(supplier(name="Elm"), 2))
    while fan_out_page(database, 100):
        pass
    alone = work_of(database, 8)
    later = MOMENT + timedelta(seconds=5)
    put(database, *(changed(product(n, name="New"), 2, later) for n in range(11, 21)))
    page = work_of(database, 8)

    assert [None] * 8 == [change.own_at for change in alone.changes]
    assert 6 * [later] == [change.own_at for change in page.changes if change.own_at is not None]
    # Their oldest change is the rename.
    assert {MOMENT} == {change.at for change in page.changes}


def test_events_come_back_as_they_were():
    for event in history(1):
        assert event == decode(encode(event), topic_type=type_of(event), key=event.id.encode())


@pytest.mark.parametrize(("is_tracking", "indexed"), [(True, [True, False, True, True]), (False, [True] * 4)])
def test_what_no_document_shows_is_not_indexed(database: Database, is_tracking: bool, indexed: list[bool]):
    """
    Views of an asset are only in the copy; without dirty tracking, as published, all is indexed again.
    """
    put(database, changed(product()))
    finish(database, work_of(database, 10).documents)
    found = []
    for version, change in enumerate((asset(), asset(views=7), asset(views=7, text="Other"), None), start=1):
        event = deleted("asset", "a-1", version) if change is None else changed(change, version)
        put(database, event, is_tracking=is_tracking)
        page = work_of(database, 10)
        found.append(bool(page.documents))
        finish(database, page.documents)

    assert indexed == found
    assert [(7, True)] == rows(database, "SELECT views, is_deleted FROM asset")


def test_dirty_tracking_reads_and_writes_no_text_that_stays(database: Database):
    """
    Whether a text changed is known from its digest; without dirty tracking it is read and sent again.
    """
    sent: list[str] = []
    put(database, changed(asset()))

    def keep(_connection, _cursor, statement, *_rest):
        sent.append(statement)

    hooks.listen(database, "before_cursor_execute", keep)
    for version, is_tracking in ((2, True), (3, False)):
        place = Position(topic="t", partition=version, expected=0, next=1)
        apply(database, place, [changed(asset(views=version), version)], is_dirty_tracking=is_tracking)
        touched = [s for s in sent if "asset" in s and ("asset.text," in s or " text=" in s)]
        sent.clear()

        assert is_tracking is not bool(touched)
    hooks.remove(database, "before_cursor_execute", keep)
    assert [(3,)] == rows(database, "SELECT views FROM asset")


def test_a_text_that_changed_is_written(database: Database):
    """And its digest with it."""
    put(database, changed(asset(text="before")))
    put(database, changed(asset(text="after"), 2))

    assert [("after", digest_of("after"))] == rows(database, "SELECT text, text_digest FROM asset")
