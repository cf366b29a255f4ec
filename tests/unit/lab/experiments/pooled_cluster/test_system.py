"""The services are driven from outside: by their folder, their commands, the lines that they write."""

from pathlib import Path

import pytest

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.experiments.pooled_cluster.system import (
    Fleet,
    PooledSystem,
    ServiceCounts,
    ServiceLatency,
    failure_of,
)
from programs import script

FLEET = Fleet(services=2, instances=3, pool=4, settings={"retry": "backoff"})
RUNS = """echo '{"pids": [1, 2], "ports": {}}'
while read -r line; do
  echo '{"time_s": 1.0, "counts": {"done": 5, "news": 1, "now": {"idle": 3}}}'
done
"""


def system(folder: Path, says: str = "") -> PooledSystem:
    """A system whose every command is a shell script."""
    (folder / "Makefile").touch()
    (folder / "pyproject.toml").touch()
    script(folder / ".venv/bin/python", says)
    return PooledSystem(folder)


def test_a_folder_without_a_system_is_refused(tmp_path: Path):
    """With where to find one."""
    with pytest.raises(UsageError, match="there is no pooled cluster in") as raised:
        PooledSystem(tmp_path)

    assert "systems/pooled-cluster" in raised.value.hint


def test_a_command_gets_the_password_and_none_of_our_variables(tmp_path: Path, monkeypatch):
    """The password is in the environment, where others cannot see it; the rest of libpq's variables are not for it."""
    monkeypatch.setenv("PGHOST", "elsewhere")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    with (
        system(tmp_path, 'echo "$PGPASSWORD,$PGHOST,$PYTHONPATH,$*" >&2; exit 1') as found,
        pytest.raises(SourceError) as raised,
    ):
        found.fill(5432, "secret", customers=7)

    assert (
        "the services' command 'fill' failed: secret,,,-m pooled_cluster.services fill --port 5432 --customers 7"
    ) == raised.value.message


def test_counts_are_those_of_the_last_line(tmp_path: Path):
    """Fields that we do not know are passed over; what is not there is zero."""
    with system(tmp_path, RUNS) as found:
        services = found.start(FLEET, 9999, "secret")
        services.order(rate=40)
        services.end()

    assert (1, 2) == services.pids
    assert (5, 3, 0) == (services.counts.done, services.counts.now.idle, services.counts.queries)


def test_services_that_do_not_start_say_why(tmp_path: Path):
    """In their own words, with their hint."""
    says = "echo 'error: this machine has no Java' >&2; echo 'hint: Install Java.' >&2; exit 2"
    with system(tmp_path, says) as found, pytest.raises(UsageError) as raised:
        found.start(FLEET, 9999, "secret")

    assert ("this machine has no Java", "Install Java.") == (raised.value.message, raised.value.hint)


def test_services_that_end_are_found(tmp_path: Path):
    """With the last line that they wrote."""
    says = """echo '{"pids": []}'; read -r line; echo 'out of memory' >&2; exit 3"""
    with system(tmp_path, says) as found:
        services = found.start(FLEET, 9999, "secret")
        services.check()
        services.order(rate=1)
        services._program.wait(10)
        with pytest.raises(SourceError, match="'run' failed: out of memory"):
            services.check()


def test_services_end_with_the_block(tmp_path: Path):
    """Their input ends, which is what ends them."""
    with system(tmp_path, RUNS) as found:
        services = found.start(FLEET, 9999, "secret")

    assert services._program.poll() is not None


@pytest.mark.parametrize(
    ("errors", "message"),
    [("", "it gave no reason"), ("Traceback\nKeyError: 1\n", "KeyError: 1"), ("error: no room\n", "no room")],
)
def test_a_failure_without_a_hint_names_its_last_words(errors: str, message: str):
    """An error in our own form without a hint is quoted, anything else by its last line."""
    found = failure_of(errors, "run")

    assert f"the services' command 'run' failed: {message}" == found.message


def test_a_quantile_is_of_what_was_done_since():
    """The first bound below which enough of them lie; none above the last bound, and none of nothing."""
    first = ServiceLatency(bounds_s=(0.1, 1.0), counts=(8, 10), total=10)
    last = ServiceLatency(bounds_s=(0.1, 1.0), counts=(9, 19), total=20)

    assert 0.1 == last.since(first).quantile_s(0.1)
    assert 1.0 == last.since(first).quantile_s(0.5)
    assert last.since(first).quantile_s(0.99) is None
    assert last.since(last).quantile_s(0.5) is None
    assert 1.0 == last.since(ServiceCounts().latency).quantile_s(0.9)


def test_a_fleet_opens_at_most_all_of_its_pools():
    """Services × instances × pool."""
    assert (6, 24) == (FLEET.pool_count, FLEET.connections)
