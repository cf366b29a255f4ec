"""The page of the watch in a real Chromium: a fleet of 50 simulated instances, read, live, by keyboard, on a phone."""

import re
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from simulated_fleet import Fleet

pytestmark = pytest.mark.live

COUNT = 50
WORST = "claims-primary"
LIVE = "billing-primary"
"""Its credits run out while the tests run: what it serves changes with every minute."""
NARROW = {"width": 360, "height": 780}
PATIENCE_MS = 30_000.0

# Every text with its colour and the first opaque colour behind it, as numbers from 0 to 1.
TEXTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((x) => x / 255);
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = rgba(getComputedStyle(e).backgroundColor);
      if (color[3] > 0.99) return color;
    }
    return [1, 1, 1, 1];
  };
  const found = [];
  const walk = document.createTreeWalker(document.querySelector("main").closest("body"), NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    const box = element.getBoundingClientRect();
    if (!node.data.trim() || box.width < 2 || box.height < 2 || element.closest("svg, script, style, noscript")) continue;
    found.push([node.data.trim().slice(0, 40), rgba(getComputedStyle(element).color), behind(element)]);
  }
  return found;
}"""
UNNAMED = """() => [...document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a")]
  .filter((e) => !(e.labels && e.labels.length) && !e.getAttribute("aria-label") && !e.textContent.trim())
  .map((e) => e.outerHTML)"""
SHIFTS = """() => {
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shifts.push(entry.value);
  }).observe({ type: "layout-shift", buffered: false });
}"""
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Fifty instances."""
    return Fleet(tmp_path_factory.mktemp("fleet"), COUNT)


@pytest.fixture(scope="module")
def url(fleet: Fleet) -> Iterator[str]:
    """The address of their page, after the first reading."""
    with fleet.watched() as address:
        until(lambda: httpx.get(f"{address}-/ready", timeout=30.0).status_code == 200)
        yield address


def until(check: Callable[[], bool], patience_s: float = 120.0) -> None:
    """Wait until something is true."""
    end_s = time.monotonic() + patience_s
    while not check():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def opened(browser: Browser, **options: object) -> tuple[BrowserContext, Page, list[str]]:
    """A page, and a list of what goes wrong in it or leaves this machine."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    context.on("request", lambda r: None if urlsplit(r.url).hostname in ("127.0.0.1", None) else wrong.append(r.url))
    return context, page, wrong


def names(page: Page) -> list[str]:
    """The instances in the order in which they stand."""
    return page.locator("#rows th a").all_inner_texts()


def test_from_the_fleet_to_an_instance(browser: Browser, url: str):
    """Fifty rows; a click shows the report with its timeline, which can be zoomed. Nothing leaves the machine."""
    context, page, wrong = opened(browser)
    page.goto(url)
    assert len(names(page)) == COUNT
    page.get_by_role("link", name=WORST, exact=True).click()
    page.wait_for_selector("#chart svg.marks, #chart .marks", timeout=PATIENCE_MS)
    page.wait_for_selector("html.has-script")
    assert "86.875 MB/s" in page.inner_text("h1").replace("\xa0", " ")
    page.locator("#chart").press("ArrowRight")
    assert "MB/s" in page.inner_text("#readout")
    page.locator("button[data-from]").first.click()
    assert page.is_visible("#reset")
    page.locator("#chart").press("Escape")
    assert page.is_hidden("#reset")
    context.close()
    assert wrong == []


def test_a_change_is_seen_within_two_seconds_and_moves_nothing(browser: Browser, url: str, fleet: Fleet):
    """From what the loop found to what stands in the row; no layout shift."""
    context, page, wrong = opened(browser)
    page.goto(url)
    page.wait_for_selector("#live[data-state=on]")
    row = page.locator("#rows tr", has=page.get_by_role("link", name=LIVE, exact=True))
    before, shown_s = row.inner_text(), fleet.shown_at(LIVE)
    page.evaluate(SHIFTS)
    fleet.pass_time(6)
    until(lambda: fleet.shown_at(LIVE) > shown_s)
    begun_s = time.monotonic()
    until(lambda: row.inner_text() != before)
    seen_s = time.monotonic() - begun_s
    page.wait_for_timeout(1500)
    shifts = page.evaluate("window.shifts")
    context.close()

    assert seen_s < 2.0
    assert shifts == []
    assert wrong == []


def test_an_open_report_says_that_newer_data_have_come(browser: Browser, url: str, fleet: Fleet):
    """It stays as it is, so that nothing moves; a link shows the new one."""
    context, page, wrong = opened(browser)
    page.goto(url)
    page.get_by_role("link", name=LIVE, exact=True).click()
    page.wait_for_selector("#live[data-state=on]")
    assert page.is_hidden("#newer")
    end, shown_s = page.get_attribute("#now", "data-end"), fleet.shown_at(LIVE)
    fleet.pass_time(6)
    until(lambda: fleet.shown_at(LIVE) > shown_s)
    page.wait_for_selector("#newer:not([hidden])")
    page.get_by_role("link", name="Show the new report").click()
    page.wait_for_function("end => document.getElementById('now').dataset.end !== end", arg=end)

    assert page.is_hidden("#newer")
    context.close()
    assert wrong == []


def test_the_keyboard_is_enough(browser: Browser, url: str):
    """Skip to the content, filter, open an instance, and acknowledge an alert."""
    context, page, wrong = opened(browser)
    page.goto(url)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("search-primary")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=search-primary*")
    while "instances/" not in (page.evaluate("document.activeElement.href || ''")):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/instances/*")
    while page.evaluate("document.activeElement.tagName") != "SUMMARY":
        page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Ada")
    page.keyboard.press("Enter")
    page.wait_for_selector(".seen-by")
    assert "Ada acknowledged this" in page.inner_text(".seen-by")
    assert outline != "none"
    page.locator(".seen-by button").first.press("Enter")
    page.wait_for_selector(".seen-by", state="detached")
    context.close()
    assert wrong == []


def test_it_is_complete_without_scripts(browser: Browser, url: str):
    """The rows, an instance with a drawn timeline, acknowledging, and what if."""
    context, page, wrong = opened(browser, java_script_enabled=False)
    page.goto(url)
    assert len(names(page)) == COUNT
    page.get_by_role("link", name=WORST, exact=True).click()
    assert page.locator("#chart svg").count() == 1
    page.locator("details summary").first.click()
    page.locator("input[name=note]").first.fill("known")
    page.get_by_role("button", name="Acknowledge").first.click()
    assert "Somebody acknowledged this" in page.inner_text(".seen-by")
    page.get_by_role("button", name="Withdraw").first.click()
    page.get_by_label("Demand ×").fill("2")
    page.get_by_role("button", name="Compute").click()
    assert "What if demand were 2 times as much" in page.inner_text("h1")
    assert page.get_by_role("heading", name="Options").is_visible()
    context.close()
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [{"width": 1360, "height": 900}, NARROW], ids=["wide", "phone"])
def test_every_text_can_be_read(browser: Browser, url: str, scheme: str, size: dict[str, int]):
    """A contrast of 4.5 : 1 (WCAG 2.2, 1.4.3), a name for each control, and no page wider than its window."""
    context, page, wrong = opened(browser, color_scheme=scheme, viewport=size)
    page.goto(url)
    places = ["", page.locator("#rows a").first.get_attribute("href") or ""]
    places.append(f"{places[1]}/what-if?growth=1.5")
    for place in places:
        page.goto(f"{url}{place}")
        poor = [
            (text, round(ratio, 2))
            for text, ink, ground in page.evaluate(TEXTS)
            if (ratio := contrast(over(ink, ground), ground)) < 4.5
        ]
        assert poor == [], place
        assert page.evaluate(UNNAMED) == [], place
        assert page.evaluate(OVERFLOW) <= 0, place
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    context.close()

    dark = max(int(x) for x in re.findall(r"\d+", ground)[:3]) < 64
    assert dark is (scheme == "dark")
    assert wrong == []


def over(ink: list[float], ground: list[float]) -> list[float]:
    """A colour with some transparency, on an opaque one."""
    return [i * ink[3] + g * (1 - ink[3]) for i, g in zip(ink[:3], ground[:3], strict=True)]


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast of two colours (WCAG 2.2, relative luminance)."""

    def luminance(color: list[float]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
