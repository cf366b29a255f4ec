"""
Draw the page of the watch for the guide, and measure it with many instances: `python bench/watch_page.py`.

All instances are simulated. `--pictures FOLDER` writes pictures with Chromium, which must be installed.
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from simulated_fleet import Fleet  # noqa: E402

WIDE = {"width": 1280, "height": 800}


def memory_mb() -> int:
    """Resident memory of this process."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


def ready(fleet: Fleet) -> None:
    """Wait for the first reading."""
    while not any(line["event"] == "first reading" for line in fleet.lines):
        time.sleep(0.1)


def measure(folder: Path, count: int) -> None:
    """Print the time of a page with all rows, and the memory of a process with as many instances."""
    fleet = Fleet(folder, count, names=tuple(f"instance-{n:04d}" for n in range(count)))
    with fleet.watched() as url:
        begun_s = time.monotonic()
        ready(fleet)
        print(f"{count} instances read in {time.monotonic() - begun_s:.1f} s; {memory_mb()} MB")
        for what in ("all rows new", "no row new"):
            begun_s = time.monotonic()
            page = httpx.get(url, timeout=60.0).text
            taken_s = time.monotonic() - begun_s
            print(f"fleet, {what}: {taken_s:.2f} s, {len(page) / 1e6:.1f} MB; {memory_mb()} MB")
        key = page.partition('href="instances/')[2][:16]
        for path in (f"instances/{key}", f"instances/{key}/what-if?growth=2"):
            begun_s = time.monotonic()
            httpx.get(f"{url}{path}", timeout=60.0)
            print(f"{path[26:] or 'instance'}: {time.monotonic() - begun_s:.2f} s; {memory_mb()} MB")


def draw(folder: Path, pictures: Path) -> None:
    """Write pictures of the fleet and of an instance."""
    from playwright.sync_api import sync_playwright

    fleet = Fleet(folder, 50)
    with fleet.watched() as url, sync_playwright() as playwright:
        ready(fleet)
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, size, scheme in (("watch-fleet", WIDE, "light"), ("watch-instance", WIDE, "dark")):
            page = browser.new_page(viewport=size, color_scheme=scheme)
            page.goto(url)
            if name == "watch-instance":
                page.locator("#rows a").first.click()
                page.wait_for_selector("html.has-script")
            page.wait_for_selector("#live[data-state=on]")
            page.screenshot(path=pictures / f"{name}.png")
        browser.close()


def main() -> None:
    """Measure, or draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--pictures", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if chosen.pictures is not None:
            draw(Path(folder), chosen.pictures)
        else:
            measure(Path(folder), chosen.instances)


if __name__ == "__main__":
    main()
