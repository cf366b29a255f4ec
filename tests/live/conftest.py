"""What live tests share: the command line as people run it, and one real PostgreSQL."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from live.left_behind import Ours, place_of_data
from live.machine import Run, clean_environment
from plimsoll_lab.servers.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A throwaway server with pgbench's tables at scale 5 (75 MB)."""
    # What a session asks is told whole, with the settings before it.
    with Postgres({"shared_buffers": "32MB", "track_activity_query_size": "16kB"}) as server:
        server.run("pgbench", "-i", "-q", "-s", "5")
        yield server


@pytest.fixture
def ours(request: pytest.FixtureRequest) -> Iterator[Ours]:
    """A folder of our own for all that an experiment starts, in memory or where the parameter says."""
    place = getattr(request, "param", None)
    found = Ours(Path(place) if place else place_of_data())
    yield found
    shutil.rmtree(found.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium of this machine; without one the tests fail."""
    program = shutil.which("chromium")
    assert program is not None, "chromium is missing: .ci/servers installs it"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `plimsoll …` in a scratch folder with the given variables; its output is text."""

    def call(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "plimsoll", *arguments],
            cwd=tmp_path,
            env={**clean_environment(), **variables},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call
