"""The built site in a real Chromium: light and dark, on a phone and a screen, its search, its reports."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.site

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = (
    "", "gallery/", "guides/watch/", "concepts/ceilings/", "concepts/how-demand-is-recovered/",
    "reference/python-api/", "reference/report-json/", "runbooks/bound/", "project/readme/", "project/security/",
)  # fmt: skip
WIDTHS = (390, 1280)
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
# Pictures that did not load have no width.
BROKEN = "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the site is served."""
    assert (SITE / "index.html").is_file(), "the site is not built: make site"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def opened(browser: Browser, width: int, scheme: str) -> tuple[Page, list[str]]:
    """A page, and a list of what goes wrong in it or leaves this machine."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on(
        "request",
        lambda r: (
            None
            if urlsplit(r.url).scheme in ("data", "blob") or urlsplit(r.url).hostname == "127.0.0.1"
            else wrong.append(r.url)
        ),
    )
    return page, wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_and_request_nothing_elsewhere(browser: Browser, url: str, width: int, scheme: str):
    """No console message, no request to another host, no broken picture, no sideways scrolling."""
    page, wrong = opened(browser, width, scheme)
    for path in PAGES:
        page.goto(url + path, wait_until="load")
        assert page.locator("h1").count() == 1, path
        assert page.evaluate(OVERFLOW) <= 0, path
        assert page.evaluate(BROKEN) == [], path
        is_dark = sum(map(int, page.evaluate(BACKGROUND)[4:-1].split(",")[:3])) < 3 * 128
        assert is_dark == (scheme == "dark"), path
    page.close()
    assert wrong == []


@pytest.mark.parametrize("width", WIDTHS)
def test_search_works_without_a_network(browser: Browser, url: str, width: int):
    """'byte balance' finds the page on empty balances, and its result opens."""
    page, wrong = opened(browser, width, "light")
    with page.expect_response("**/search/search_index.json"):
        page.goto(url)
    if width == WIDTHS[0]:
        page.locator("label[for=__search]").first.click()
    page.locator(".md-search__input").fill("byte balance")
    result = page.locator(".md-search-result__link", has_text="no credits for an hour").first
    result.wait_for()
    result.click()
    page.wait_for_url("**/runbooks/balance-empty/**")
    page.close()
    assert wrong == []


def test_every_report_of_the_gallery_opens(browser: Browser, url: str):
    """Each card leads to a report that shows its verdict, with a picture of it."""
    page, wrong = opened(browser, 1280, "light")
    page.goto(url + "gallery/")
    reports = page.locator(".card a:has(img)").evaluate_all("(all) => all.map((a) => a.href)")
    reports = [address for address in reports if "/reports/" in address]
    assert len(reports) >= 9
    for address in reports:
        assert page.goto(address).ok  # type: ignore[union-attr]
        assert page.locator("h1").inner_text().strip(), address
    page.close()
    assert wrong == []


def test_the_library_has_a_reference(browser: Browser, url: str):
    """Every public name has its heading, its parameters, and sessions as code."""
    import plimsoll

    page, _ = opened(browser, 1280, "light")
    page.goto(url + "reference/python-api/")
    headings = {text.strip("¶ \n") for text in page.locator("h2").all_inner_texts()}
    assert {name for name in plimsoll.__all__ if name != "__version__"} <= headings
    assert ">>> snapshot = read(" in page.locator("pre").all_inner_texts()[1]
    assert page.locator("blockquote").count() == 0
    page.close()
