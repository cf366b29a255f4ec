"""Fixtures that every kind of test shares."""

import operator
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

import alike
from plimsoll.model.contained import Containment

# The same examples in every run, so that a failure tells of the change that was made. To search for
# new ones: HYPOTHESIS_PROFILE=search; what is found is written down as a test of its own.
# A busy machine takes long for what is quick elsewhere: no example has a deadline.
settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("search", print_blob=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
# Numbers that stand in whatever modules a worker happens to have loaded would make other examples in
# every order of tests.
providers._get_local_constants = lambda: providers._local_constants

# A job that a script starts in the background has Ctrl-C ignored, and so has all that it starts: programs
# that tests interrupt would go on for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# An internal error fails a test, wherever it happens; tests of what one costs use the fixture `contained`.
Containment.is_on = False

GOLDEN = Path(__file__).parent / "golden"
LIVE = Path(__file__).parent / "live"
# Files of tests that mount gates: they count the mounts and processes of the whole machine.
MOUNTING = ("test_gate_", "test_lab_", "test_sweep_", "test_explain_gate", "test_install")
# Tests of rates far below what a processor can do, which take long: they run beside those of other rates.
SLOW_RATES = ("test_plan_pairs.py",)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-golden",
        action="store_true",
        help="rewrite the golden files with what the program says now; review the difference",
    )


@pytest.fixture
def contained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contain internal errors, as for users."""
    monkeypatch.setattr(Containment, "is_on", True)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """
    Compare a text with tests/golden/<path>; with --regenerate-golden, write it there instead.

    Numbers in JSON have all their digits, the last of which differ between processors: twelve count.
    """
    regenerate = request.config.getoption("--regenerate-golden")

    def compare(path: str, text: str) -> None:
        file = GOLDEN / path
        is_same = alike.is_alike if file.suffix == ".json" else operator.eq
        if regenerate and not (file.exists() and is_same(file.read_text(encoding="utf-8"), text)):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"{file} is missing: run pytest --regenerate-golden and review it"
        kept = file.read_text(encoding="utf-8")

        assert is_same(kept, text) or kept == text  # the second shows what differs

    return compare


# Before xdist's own hook, which reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    The live tests of a file run in one worker and share its servers; files run at the same time, because
    their tests mostly wait. All tests that mount gates run in one worker.

    Tests of rates are run again, twice at most, when they fail: a machine that others share cannot
    always keep them. Those that hold a server's counters to what it really did, and those that take all
    processors for minutes, are run again once. The summary counts what was run again.
    """
    for item in items:
        if LIVE in item.path.parents:
            item.add_marker("live")
        if item.get_closest_marker("live") is None:
            continue
        is_timed = item.get_closest_marker("realtime") is not None
        is_played = item.get_closest_marker("experiment") is not None
        is_alone = item.get_closest_marker("alone") is not None
        group = item.path.stem
        if is_timed:
            group = "slow rates" if item.path.name in SLOW_RATES else "rates"
        elif item.path.name.startswith(MOUNTING):
            group = "mounts"
        item.add_marker(pytest.mark.xdist_group(group))
        item.add_marker(
            pytest.mark.flaky(reruns=2, reruns_delay=3)
            if is_timed or (is_played and not is_alone)
            else pytest.mark.flaky(reruns=1, reruns_delay=1)
        )


# Before the hook that sets the test up.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give a test that is run again fresh servers: what its first run left would fail the second."""
    if getattr(item, "execution_count", 1) == 1:
        return
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        for fixture in definitions:
            if fixture.scope == "module":
                fixture.finish(item._request)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """End the run where xdist is asked to group tests and does not: it takes groups from the ends of their ids."""
    lost = [name for name in ids if name.startswith("tests/live/") and "@" not in name]
    if node.config.option.dist == "loadgroup" and lost:
        pytest.exit(f"pytest-xdist does not group {lost[0]}: see requirements/dev.in", returncode=2)
