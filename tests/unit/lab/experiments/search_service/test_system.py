"""The search service is driven from outside: by its folder, its commands, its metrics."""

from math import inf
from pathlib import Path

import pytest

from fixtures.prometheus.servers import Pages
from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.experiments.search_service.system import SearchService
from programs import script

METRICS = """# TYPE search_events_read counter
search_events_read_total 120.0
search_lag_events 7.0
search_freshness_seconds_bucket{changed="product",le="0.5"} 2.0
search_freshness_seconds_bucket{changed="product",le="1.0"} 7.0
search_freshness_seconds_bucket{changed="product",le="+Inf"} 7.0
search_freshness_seconds_bucket{changed="supplier or category",le="0.5"} 1.0
search_freshness_seconds_bucket{changed="supplier or category",le="1.0"} 2.0
search_freshness_seconds_bucket{changed="supplier or category",le="+Inf"} 3.0
"""


def service(folder: Path, says: str = "") -> SearchService:
    """A service whose every command is a shell script."""
    (folder / "Makefile").touch()
    (folder / "pyproject.toml").touch()
    script(folder / ".venv/bin/python", says)
    return SearchService(folder, folder / "service.log")


def test_a_folder_without_a_service_is_refused(tmp_path: Path):
    """With where to find one."""
    with pytest.raises(UsageError, match="there is no search service in") as raised:
        SearchService(tmp_path, tmp_path / "log")

    assert "systems/search-service" in raised.value.hint


def test_a_command_that_fails_says_why(tmp_path: Path):
    """In its own first line."""
    with pytest.raises(SourceError, match="search-service setup failed: no database"):
        service(tmp_path, "echo no database >&2; exit 2").run("setup")


def test_a_command_gets_its_settings_and_none_of_ours(tmp_path: Path, monkeypatch):
    """Variables of the service that the user has set for another one do not reach it."""
    monkeypatch.setenv("SEARCH_KAFKA", "elsewhere:1")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    found = service(tmp_path, 'echo "$SEARCH_PREFIX,$SEARCH_KAFKA,$PYTHONPATH,$*"')
    found.environment["SEARCH_PREFIX"] = "ours"

    assert "ours,,,-m search_service status --json\n" == found.run("status", "--json")


def test_a_program_that_ends_is_said(tmp_path: Path):
    """With the last line that it wrote."""
    with service(tmp_path, "echo no topics >&2; exit 2") as found:
        found.start_load()
        found._programs["load"].wait(10)
        with pytest.raises(SourceError, match="the load of the search service ended: no topics"):
            found.check()


def test_programs_end_with_the_block(tmp_path: Path):
    """Also one that ignores SIGTERM."""
    with service(tmp_path, "trap '' TERM; sleep 600") as found:
        found.start_load()
        program = found._programs["load"]

    assert program.poll() is not None


def test_the_metrics_of_the_indexer_are_read(tmp_path: Path):
    """Events read, lag, and the buckets of freshness; nothing while it does not answer."""
    found = service(tmp_path)
    with Pages({"/metrics": lambda: METRICS}) as server:
        found._port = int(server.address.rpartition(":")[2])
        counters = found.counters()

    assert (120.0, 7.0) == (counters.read, counters.lag)
    assert ((0.5, 1.0, inf), (3.0, 9.0, 10.0)) == (counters.freshness.bounds, counters.freshness.counts)
    assert found.counters() is None
