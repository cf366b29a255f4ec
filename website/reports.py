"""The reports on the site: each made by a command that the page shows, with a picture of its page."""

import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from website.pages import ROOT

# The day on which prices count as today's: the same input gives the same page.
_DAY = {"SOURCE_DATE_EPOCH": "1795305600"}
# The part of a report that its picture shows, and the size of the picture: sharp where it is half as wide.
_VIEW, _PICTURE_SCALE = {"width": 1120, "height": 700}, 0.75
_AT_ONCE = 2


class Example(NamedTuple):
    """A report, and why one would want it."""

    name: str
    title: str
    text: str
    """One sentence."""
    command: str
    """Without `--html`."""
    guide: str
    """Page that explains it, by its place in the site."""
    section: str = ""
    """The section of the report that its picture shows; empty: its beginning."""


EXAMPLES = (
    Example(
        "search-service",
        "Diagnosis: a legacy limit",
        "A search service stood at a throughput that AWS had documented for its class until December 2019.",
        "plimsoll diagnose examples/search-service",
        "guides/read-from-aws.md",
    ),
    Example(
        "claims-pipeline",
        "Diagnosis: credits run out",
        "A nightly batch spent the burst credits of a small instance, and then ran at the baseline.",
        "plimsoll diagnose examples/claims-pipeline",
        "guides/read-from-aws.md",
    ),
    Example(
        "quiet",
        "Diagnosis: no limit reached",
        "A healthy instance: what was checked, and how far away each limit is.",
        "plimsoll diagnose examples/quiet",
        "guides/read-from-aws.md",
    ),
    Example(
        "plan",
        "Plan: the way past, priced",
        "The same simulated demand, replayed on other classes and storage: what each costs and changes.",
        "plimsoll plan examples/claims-pipeline",
        "guides/plan-the-way-past.md",
        section="plan",
    ),
    Example(
        "compare",
        "Comparison: before and after",
        "Two windows side by side: whether a change helped, and which limit is next.",
        "plimsoll compare examples/search-service examples/search-service-after",
        "guides/compare-before-and-after.md",
    ),
    Example(
        "limits",
        "Limits of an instance",
        "Every documented limit of a class with its storage, and which one binds at each I/O size.",
        "plimsoll limits db.r5.2xlarge --engine postgres --storage gp2 --size-gib 1000",
        "reference/limits.md",
    ),
    Example(
        "explain",
        "Query plans compared",
        "Whether a statement became slow because its plan changed or because storage did.",
        "plimsoll explain compare examples/plans/normal.json examples/plans/slow.json",
        "guides/compare-plans.md",
    ),
    Example(
        "lint",
        "Pooler settings",
        "Mistakes in a Pgpool-II configuration, each with what it causes and the setting that ends it.",
        "plimsoll lint pooler examples/pooled-cluster/pgpool.conf",
        "guides/lint-a-pooler.md",
    ),
    Example(
        "pool-size",
        "Pool sizes",
        "The total of all connection pools, against max_connections and what the machine can run.",
        "plimsoll pool-size --services 12 --containers 4 --pool 20 --class db.r5.2xlarge --max-connections 800",
        "guides/size-a-pool.md",
    ),
)


def write_reports(folder: Path) -> None:
    """Run the command of every example, and write its page and picture to a folder."""
    folder.mkdir(parents=True)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda example: _write(example, folder / f"{example.name}.html"), EXAMPLES))
    _photograph(folder)


def gallery() -> str:
    """Return the page that shows all reports, as Markdown."""
    cards = "\n".join(_card(example) for example in EXAMPLES)
    return f"""---
hide: [navigation, toc]
---

# Reports

Each picture is a report that you can open. The command below it made the report when this site was built; add
`--html FILE` to write one of your own. A report is one file that requests nothing from any host.

The measurements are simulated; each report says from what they were reconstructed.

<div class="gallery" markdown>
{cards}
<div class="card" markdown>
[![The watch's page on 50 simulated instances: state, limit and throughput of each](images/watch-fleet.png)](guides/watch.md#the-page)

### The page of a watch

All watched instances, those at a limit first, updated every minute.
[How to run it](guides/watch.md)

```sh
plimsoll watch watch.toml
```
</div>
</div>
"""


def _card(example: Example) -> str:
    return f"""<div class="card" markdown>
[![{example.title}](reports/{example.name}.png)](reports/{example.name}.html)

### {example.title}

{example.text}
[Open the report](reports/{example.name}.html) · [How to make it]({example.guide})

```sh
{example.command}
```
</div>
"""


def _write(example: Example, file: Path) -> None:
    words = [sys.executable, "-m", *shlex.split(example.command), "--html", str(file)]
    made = subprocess.run(words, cwd=ROOT, env=os.environ | _DAY, capture_output=True, text=True, check=False)
    # 1: a limit binds, or a check found something.
    if made.returncode not in (0, 1):
        sys.exit(f"error: '{example.command}' ended with status {made.returncode}\n{made.stderr}")


def _photograph(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        sys.exit("error: chromium is missing, which takes the pictures\nhint: .ci/servers installs it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport=_VIEW, device_scale_factor=_PICTURE_SCALE)
        for example in EXAMPLES:
            page.goto(f"{(folder / example.name).as_uri()}.html#{example.section}")
            page.screenshot(path=folder / f"{example.name}.png")
        browser.close()
