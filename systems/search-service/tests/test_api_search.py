"""Does a search find what a person would expect, and nothing else? The same cases with each engine."""

import pytest
from searching import DELETED, PRODUCTS, Api

ALL = [f"p-{row[0]}" for row in PRODUCTS]

# What is typed, and the products that are found, the first ones in this order.
CASES = (
    ("shoes", ["p-1"], {"p-1", "p-2", "p-3", "p-4", "p-8", "p-9"}),
    ("shoe", [], {"p-1", "p-2", "p-3", "p-4", "p-8", "p-9"}),
    ("running shoes", ["p-1"], {"p-1", "p-2", "p-9"}),
    ("RUNNING SHOES", ["p-1"], {"p-1", "p-2", "p-9"}),
    ("runs", [], {"p-1", "p-2", "p-5", "p-9"}),
    ("leather boots", ["p-3"], {"p-3"}),
    ("boots leather", ["p-3"], {"p-3"}),
    ("waxed", ["p-3"], {"p-3"}),
    ("ubel", [], {"p-3", "p-5", "p-6", "p-7"}),
    ("ÜBEL", [], {"p-3", "p-5", "p-6", "p-7"}),
    ("cafe", ["p-6"], {"p-6"}),
    ("Cafe\u0301", ["p-6"], {"p-6"}),
    ("strasse", ["p-7"], {"p-7"}),
    ("naive", ["p-7"], {"p-7"}),
    ("日本の靴", ["p-8"], {"p-8"}),
    ("BO-000005", ["p-5"], {"p-5"}),
    ("leather kettle", [], set()),
    ("unicorn", [], set()),
)
HOSTILE = (
    '"', "\\", "*", "?", "shoes OR 1=1", "NOT shoes", "_exists_:name", "name:/.*/", "{}", '"}}', "shoes~9999",
    "[* TO *]", "is_deleted:true", "((((((", "%00", "../../_cluster/health", "<script>alert(1)</script>", "&&", "a" * 256,
    "\u202eshoes", "\U0001f45f", "{{7*7}}", "ctx._source", "'; DROP TABLE product; --",
)  # fmt: skip


@pytest.mark.parametrize(("q", "first", "found"), CASES, ids=[case[0] for case in CASES])
def test_words_find_products(searchable: Api, q: str, first: list[str], found: set[str]):
    ids = searchable.ids(q)

    assert found == set(ids)
    assert first == ids[: len(first)]


@pytest.mark.parametrize("q", HOSTILE)
def test_hostile_text_is_only_text(searchable: Api, q: str):
    """It is never an error, and never finds what its words do not."""
    answer = searchable.client.get("/v1/search", params={"q": q, "limit": 100})
    ids = [hit["product"]["id"] for hit in answer.json()["hits"]]

    assert 200 == answer.status_code
    assert DELETED not in ids
    assert len(ids) < len(ALL)


@pytest.mark.parametrize("name", ["brand", "attribute", "category", "supplier", "country", "facet", "sort"])
@pytest.mark.parametrize("text", [*HOSTILE, "x=.*", "material=*", '"],"script":"', "p-1\r\nX-Admin: 1"])
def test_hostile_values_of_filters_find_nothing(searchable: Api, name: str, text: str):
    """They are values that no product has, or are refused."""
    answer = searchable.client.get("/v1/search", params={name: text, "limit": 100})

    assert answer.status_code in {200, 400}
    assert 400 == answer.status_code or [] == answer.json()["hits"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_beginnings_suggest_nothing(searchable: Api, text: str):
    answer = searchable.client.get("/v1/suggest", params={"q": text})

    assert answer.status_code in {200, 400}
    assert 400 == answer.status_code or set(answer.json()["names"]) <= {
        "Running shoes",
        "Shoe rack",
        "Trail running shoe",
    }


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"category": "c-2"}, {"p-1", "p-2", "p-3", "p-4", "p-8"}),
        ({"category": ["c-3", "c-4"]}, {"p-3", "p-4", "p-5", "p-6", "p-7", "p-9", "p-10"}),
        ({"brand": ["Stout", "Tokyo"]}, {"p-3", "p-4", "p-8"}),
        ({"supplier": "s-2", "category": "c-2"}, {"p-3"}),
        ({"country": "AT"}, {"p-3", "p-5", "p-6", "p-7"}),
        ({"attribute": "material=steel"}, {"p-5", "p-10"}),
        ({"price_from": 4_900, "price_to": 8_900}, {"p-1", "p-4", "p-9"}),
        ({"brand": "stout"}, set()),
        ({"brand": "*"}, set()),
        ({"currency": "USD"}, set()),
    ],
)
def test_filters_keep_what_fits_all_of_them(searchable: Api, filters: dict[str, object], found: set[str]):
    """Several values of one filter are alternatives."""
    assert found == set(searchable.ids(**filters))


def test_nothing_typed_finds_everything_but_what_is_deleted(searchable: Api):
    assert set(ALL) == set(searchable.ids(limit=100))


def test_facets_count_the_hits(searchable: Api):
    """Not the whole catalog, and only what was asked for."""
    facets = searchable.get("/v1/search", q="boots", facet=["material", "country", "brand"])["facets"]

    assert {"material", "country", "brand"} == set(facets)
    assert {"leather": 1, "rubber": 1} == {one["value"]: one["count"] for one in facets["material"]}
    assert {"AT": 1, "DE": 1} == {one["value"]: one["count"] for one in facets["country"]}
    assert [{"value": "Stout", "count": 2}] == facets["brand"]


@pytest.mark.parametrize("sort", ["relevance", "price", "-price", "name", "-name"])
@pytest.mark.parametrize("limit", [1, 3, 10])
def test_pages_show_every_hit_once(searchable: Api, sort: str, limit: int):
    """In the order of one large page."""
    whole = searchable.ids("", sort=sort, limit=100)
    pages: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = searchable.get("/v1/search", sort=sort, limit=limit, **cursor)
        pages += [hit["product"]["id"] for hit in page["hits"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}

    assert whole == pages
    assert set(ALL) == set(pages)


def test_prices_sort_as_numbers(searchable: Api):
    assert ["p-7", "p-10", "p-6"] == searchable.ids(sort="price", limit=3)
    assert ["p-8", "p-3"] == searchable.ids(sort="-price", limit=2)


def test_highlights_are_safe_html(searchable: Api):
    """The words that were found are marked, and what a supplier wrote is escaped."""
    (hit,) = searchable.get("/v1/search", q="bright lamp")["hits"]

    assert "<em>Lamp</em>" == hit["highlights"]["name"]
    assert "&lt;b&gt;<em>Bright</em>&lt;&#x2F;b&gt; &amp; quiet" == hit["highlights"]["description"]
    assert "<em>bright</em> <em>lamp</em>" in hit["highlights"]["texts"]


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("run", {"Running shoes", "Trail running shoe"}),
        ("running sh", {"Running shoes", "Trail running shoe"}),
        ("caf", {"Café press"}),
        ("CAFÉ", {"Café press"}),
        ("LE", {"Leather boots"}),
        ("zzz", set()),
        ("*", set()),
    ],
)
def test_suggestions_begin_with_what_was_typed(searchable: Api, typed: str, names: set[str]):
    assert names == set(searchable.get("/v1/suggest", q=typed)["names"])


def test_a_product_is_shown_whole(searchable: Api):
    found = searchable.get("/v1/products/p-3")

    assert ("Leather boots", "Warm boots", ["Care"]) == (found["name"], found["description"], found["titles"])


@pytest.mark.parametrize("product_id", [DELETED, "p-77", "P-1", "..%2f_cluster", "a" * 100])
def test_a_product_that_is_not_there_is_404(searchable: Api, product_id: str):
    answer = searchable.client.get(f"/v1/products/{product_id}")

    assert (404, "application/problem+json") == (answer.status_code, answer.headers["content-type"])
