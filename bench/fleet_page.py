"""
Time the page of a fleet: N simulated rows, and how long Chromium takes until the table can be searched.

Prints the seconds to write the page, its size, and of several openings the median until the table is ready, until a
search is answered and until a column is sorted. Simulated data. Run: python bench/fleet_page.py --rows 10000
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from plimsoll.app.render import render

READY = "document.documentElement.dataset.fleet === 'ready'"
# Until the browser has drawn what the action changed.
TIMED = """async (act) => {
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const begun = performance.now();
  if (act === "search") {
    const box = document.getElementById("search");
    box.value = "team-07 orders";
    box.dispatchEvent(new Event("input"));
  } else {
    document.querySelector("#fleet thead button").click();
  }
  await drawn();
  return (performance.now() - begun) / 1000;
}"""


def main() -> None:
    """Measure, and print."""
    import fleets

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    report = fleets.many(given.rows)
    begun_s = time.monotonic()
    page = render(report, "html")
    print(f"written: {time.monotonic() - begun_s:.2f} s, {len(page.encode()) / 1e6:.2f} MB")
    program = shutil.which("chromium")
    assert program is not None, "chromium is missing"
    ready, searched, sorted_ = [], [], []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "fleet.html"
        file.write_text(page, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(given.times):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            opened = context.new_page()
            begun_s = time.monotonic()
            opened.goto(file.as_uri())
            opened.wait_for_function(READY)
            ready.append(time.monotonic() - begun_s)
            searched.append(opened.evaluate(TIMED, "search"))
            sorted_.append(opened.evaluate(TIMED, "sort"))
            context.close()
        version = browser.version
        browser.close()
    print(
        f"Chromium {version}, {given.rows:,} simulated rows, median of {given.times}: ready in "
        f"{statistics.median(ready):.2f} s (longest {max(ready):.2f} s), first search "
        f"{statistics.median(searched):.2f} s, sort by name {statistics.median(sorted_):.2f} s"
    )


if __name__ == "__main__":
    main()
