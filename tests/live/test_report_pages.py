"""Pages of every report in a real Chromium: axe-core, widths from 320 to 1280 px, light and dark, copy buttons."""

import time
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page

import fleets
import inspections
import plans
from contract.tree import ROOT
from experiments import experiment
from plimsoll.app.library import compare, diagnose, make_plan, read
from plimsoll.app.render import Found, Report, render
from plimsoll.catalog.load import catalog
from plimsoll.cli.commands import run
from plimsoll.limits.sheet import sheet_of
from plimsoll.model.instance import Instance, Storage
from plimsoll.reports.render.origin import PageOrigin
from plimsoll_lab.reports.drawn import drawn, drawn_sweeps
from rehearsals import rehearsal
from simulated_fleet import Fleet
from unit.reports.fixture_diagnosis import CASES
from unit.reports.fixture_fleet import fleet
from unit.reports.fixture_sweep import report as sweep

pytestmark = pytest.mark.live

EXAMPLES = ROOT / "examples"
COMMAND = "plimsoll diagnose 'rds:orders primary' --last 14d --html orders.html"
ORIGIN = PageOrigin(version="0.1.0", made_s=1_795_694_400, command=COMMAND)
WIDTHS = (1280, 768, 390, 320)
CHECKED_WIDTHS = (1280, 768, 390)
AXE = """async () => (await axe.run()).violations.map((one) =>
  `${one.id}: ${one.help}: ${one.nodes.length} × ${one.nodes[0].html.slice(0, 200)}`)"""
# Scripts of a page hear of a new size when it is drawn next.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
PATIENCE_MS = 30_000.0


def planned() -> Found:
    """A diagnosis with the way past it: the longest page."""
    snapshot = read(EXAMPLES / "search-service")
    diagnosis = diagnose(snapshot)
    return Report(
        diagnosis=diagnosis, snapshot=snapshot, plan=make_plan(diagnosis, snapshot), inspection=inspections.inspection()
    )


def diagnosed(case: str) -> Found:
    """A report of a fixture."""
    diagnosis, snapshot = CASES[case]()
    return Report(diagnosis=diagnosis, snapshot=snapshot)


def limits() -> Found:
    """The sheet of an instance with a burst."""
    storage = Storage(kind="gp2", size_gib=1024)
    instance = Instance(db_class="db.t3.xlarge", engine="postgres", storage=storage)
    return sheet_of(instance, catalog())


FOUND: dict[str, Callable[[], Found]] = {
    "diagnose-plan": planned,
    "diagnose-quiet": partial(diagnosed, "quiet"),
    "diagnose-unknown": partial(diagnosed, "unknown"),
    "plan": plans.claims,
    "compare": lambda: compare(read(EXAMPLES / "search-service"), read(EXAMPLES / "search-service-after")),
    "inspect": inspections.inspection,
    "inspect-pooler": inspections.pooled,
    "overview": fleet,
    "fleet": fleets.fleet,
    "limits": limits,
    "sweep": lambda: drawn_sweeps((sweep(),)),
    "experiment": lambda: drawn(experiment()),
    "rehearse": rehearsal,
}
COMMANDS = {
    "lint": f"lint pooler {EXAMPLES}/pooled-cluster/pgpool.conf --version 4.1.2 --html",
    "pool-size": "pool-size --services 12 --containers 4 --pool 20 --vcpus 8 --html",
    "explain": f"explain compare {EXAMPLES}/plans/normal.json {EXAMPLES}/plans/slow.json --html",
    "pace": f"pace {EXAMPLES}/claims-pipeline --html",
    "limits-chart": "limits db.r5.2xlarge --engine postgres --storage io1 --size-gib 1000 --iops 9000 --chart",
}
PAGES = (*FOUND, *COMMANDS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One page of each kind."""
    place = tmp_path_factory.mktemp("pages")
    for name, made in FOUND.items():
        page = render(made(), "html", origin=ORIGIN)
        (place / f"{name}.html").write_text(page, encoding="utf-8")
    for name, command in COMMANDS.items():
        assert run([*command.split(), str(place / f"{name}.html")]) in {0, 1}
    return place


def opened(browser: Browser, address: str, scheme: str, *, bypasses: bool) -> tuple[Page, list[str]]:
    """A page, and what goes wrong on it; a check has to bypass the page's policy to be run in it."""
    context = browser.new_context(color_scheme=scheme, bypass_csp=bypasses)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.goto(address)
    if page.locator("#chart").count():
        page.wait_for_selector("html.has-script")
    return page, wrong


def complaints(page: Page) -> list[str]:
    """What axe-core finds at each width, and where a page is wider than its window."""
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(DRAWN)
        if width in CHECKED_WIDTHS:
            found += [f"{width} px: {text}" for text in page.evaluate(AXE)]
        if page.evaluate(OVERFLOW) > 0:
            found.append(f"{width} px: wider than the window")
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_at_every_width(browser: Browser, folder: Path, name: str, scheme: str):
    """No violation of axe-core's rules, and nothing to scroll sideways but tables."""
    page, wrong = opened(browser, (folder / f"{name}.html").as_uri(), scheme, bypasses=True)
    assert complaints(page) == []
    page.context.close()
    assert wrong == []


def test_the_pages_of_the_watch_are_accessible(browser: Browser, tmp_path_factory: pytest.TempPathFactory):
    """The fleet, an instance at its ceiling, and a question about it."""
    with Fleet(tmp_path_factory.mktemp("fleet"), 8).watched() as address:
        end_s = time.monotonic() + PATIENCE_MS / 1000
        while httpx.get(f"{address}-/ready", timeout=30.0).status_code != 200:
            assert time.monotonic() < end_s
            time.sleep(0.02)
        for scheme in ("light", "dark"):
            page, wrong = opened(browser, address, scheme, bypasses=True)
            assert complaints(page) == []
            page.set_viewport_size({"width": 1280, "height": 900})
            page.get_by_role("link", name="claims-primary", exact=True).click()
            page.wait_for_selector("html.has-script")
            assert complaints(page) == []
            page.get_by_role("button", name="Compute").click()
            page.wait_for_selector("h1:has-text('What if')")
            assert complaints(page) == []
            page.context.close()
            assert wrong == []


def test_a_page_is_read_with_the_keyboard(browser: Browser, folder: Path):
    """The first key leads past the head; a link of the contents and one of a finding lead to their places."""
    page, wrong = opened(browser, (folder / "diagnose-plan.html").as_uri(), "light", bypasses=False)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("nav.contents a", has_text="Options").click()
    assert page.evaluate("location.hash") == "#options"
    page.get_by_role("link", name="How this is known: Time at a ceiling").first.click()
    assert page.locator("#about-ceiling").is_visible()
    assert "plimsoll docs how-a-ceiling-is-recognised" in page.inner_text("#about-ceiling")
    page.context.close()
    assert wrong == []


def test_a_command_is_copied_from_a_file_without_network(browser: Browser, folder: Path):
    """Under the page's own policy; the button says so."""
    page, wrong = opened(browser, (folder / "compare.html").as_uri(), "light", bypasses=False)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.locator(".made button.copy")
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.made button.copy').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == COMMAND
    page.context.close()
    assert wrong == []


def test_without_scripts_every_command_is_text(browser: Browser, folder: Path):
    """No button that does nothing."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "compare.html").as_uri())
    assert page.locator("button").count() == 0
    assert COMMAND in page.locator(".made .command").inner_text()
    context.close()
