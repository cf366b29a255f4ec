"""The page of a fleet in a real Chromium: sorting, search, columns and pages, without network."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

import fleets
from plimsoll.app.render import render
from plimsoll.units import format_duration, format_ratio

pytestmark = pytest.mark.live

READY = "html[data-fleet=ready]"
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
MANY = 1000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with one of each kind of row, and one of many simulated instances."""
    place = tmp_path_factory.mktemp("fleet-page")
    for name, report in (("few", fleets.fleet()), ("many", fleets.many(MANY))):
        (place / f"{name}.html").write_text(render(report, "html"), encoding="utf-8")
    return place


@pytest.fixture
def page(browser: Browser, folder: Path) -> Iterator[Page]:
    """The page of many under its own policy; whatever it asks of the network or complains of fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    found = context.new_page()
    wrong: list[str] = []
    found.on("request", lambda r: wrong.append(r.url))
    found.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    found.on("pageerror", lambda e: wrong.append(str(e)))
    found.goto((folder / "many.html").as_uri())
    found.wait_for_selector(READY)
    yield found
    context.close()
    assert [(folder / "many.html").as_uri()] == [url for url in wrong if not url.startswith("data:")]


def cells(page: Page, title: str) -> list[str]:
    """The texts of a column on the page that is shown, with plain blanks."""
    heads = page.locator("#fleet thead th button").all_inner_texts()
    at = heads.index(title) + 1
    found = page.locator(f"#fleet tbody tr > :nth-child({at})").all_inner_texts()
    return [text.replace("\u00a0", " ") for text in found]


def head(page: Page, title: str) -> Locator:
    return page.get_by_role("columnheader", name=title, exact=True).locator("button")


def found(page: Page) -> str:
    return page.locator("#fleet .found").inner_text()


def test_the_most_urgent_are_first(page: Page):
    rows = fleets.many(MANY).rows

    assert "1,000 of 1,000 instances, rows 1 to 50" == found(page)
    assert [row.instance for row in rows[:50]] == cells(page, "Instance")


def test_numbers_read_as_they_do_everywhere(page: Page):
    bound = [row for row in fleets.many(MANY).rows if row.at_ceiling_s][:50]

    assert [format_duration(row.at_ceiling_s or 0) for row in bound] == cells(page, "Time at limit")
    assert [format_ratio(row.at_ceiling_ratio or 0) for row in bound] == cells(page, "Share")


def test_every_column_sorts_both_ways_with_unknown_last(page: Page):
    page.locator(".choose summary").click()
    for tick in page.locator(".choose input").all():
        tick.check()
    for title in page.locator("#fleet thead button").all_inner_texts():
        senses = set()
        for _ in range(2):
            head(page, title).click()
            shown = cells(page, title)
            known = [text for text in shown if text]
            assert known == shown[: len(known)], title
            marked = page.locator("#fleet th[aria-sort]")
            assert title == marked.inner_text()
            senses.add(marked.get_attribute("aria-sort"))
        assert {"ascending", "descending"} == senses
    prices = sorted((row.usd_per_day for row in fleets.many(MANY).rows), reverse=True)  # type: ignore[type-var]
    head(page, "$/day").click()
    assert [f"{price:,.2f}" for price in prices[:50]] == cells(page, "$/day")


def test_names_sort_by_the_numbers_in_them(page: Page):
    head(page, "Instance").click()

    names = sorted(row.instance for row in fleets.many(MANY).rows)
    assert names[:50] == cells(page, "Instance")


def test_search_looks_for_every_word_in_every_text_column(page: Page):
    rows = fleets.many(MANY).rows
    page.locator("#search").fill("ORDERS  team-07")
    expected = [r.instance for r in rows if "orders" in r.instance and "team-07" in (r.tags or "")]

    assert expected
    assert expected == cells(page, "Instance")
    assert f"{len(expected)} of 1,000 instances" == found(page)
    page.locator("#search").fill("no such instance")
    assert "0 of 1,000 instances" == found(page)
    assert [] == cells(page, "Instance")


def test_search_by_state(page: Page):
    rows = fleets.many(MANY).rows
    page.locator("#state").select_option(index=1)
    expected = [row.instance for row in rows if row.rank == 0]

    assert expected == cells(page, "Instance")
    assert {"▲ at a limit now"} == set(cells(page, "State"))


def test_pages_turn(page: Page):
    names = [row.instance for row in fleets.many(MANY).rows]
    page.get_by_role("button", name="Next").click()
    assert names[50:100] == cells(page, "Instance")
    page.get_by_role("button", name="Previous").click()
    assert names[:50] == cells(page, "Instance")
    assert page.get_by_role("button", name="Previous").is_disabled()


def test_the_document_stays_small(page: Page):
    """A page of rows is in the document, not all of them."""
    assert 50 == page.locator("#fleet tbody tr").count()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_sorts_by_a_list(browser: Browser, folder: Path, width: int, scheme: str):
    """Where the rows are stacked there is no head to click, so there is a list of columns."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})  # type: ignore[arg-type]
    page = context.new_page()
    page.goto((folder / "few.html").as_uri())
    page.wait_for_selector(READY)
    page.locator(".choose summary").click()
    for tick in page.locator(".choose input").all():
        tick.check()

    assert page.evaluate(OVERFLOW) <= 0
    assert (width == 390) == page.locator("#sort").is_visible()
    if width == 390:
        page.locator("#sort").select_option(label="$/day")
        assert page.locator("#fleet tbody th").first.inner_text() in {"sessions-primary", "catalog-primary"}
        page.get_by_role("button", name="Reverse").click()
        assert "orders-primary" == page.locator("#fleet tbody th").first.inner_text()
    context.close()


def test_hostile_names_and_tags_stay_text(browser: Browser, folder: Path):
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("dialog", lambda d: said.append(d.message) or d.dismiss())
    page.goto((folder / "few.html").as_uri())
    page.wait_for_selector(READY)
    page.locator("#search").fill("onerror")

    # What nobody sees is shown.
    assert fleets.HOSTILE.replace("\u202e", "\ufffd") == page.locator("#fleet tbody th").text_content()
    assert 0 == page.locator("img").count()
    assert [] == said
    context.close()


def test_without_scripts_the_sections_are_there(browser: Browser, folder: Path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "many.html").as_uri())

    assert 20 == page.locator("section", has_text="At a limit:").first.locator("tbody tr").count()
    assert "more: see the table of all instances below." in page.inner_text("main")
    assert "allow scripts for this page" in page.inner_text("main")
    assert not page.locator("#fleet").is_visible()
    assert 0 == page.locator("button:visible").count()
    context.close()
