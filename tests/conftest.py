"""Fixtures that every kind of test shares."""

import operator
import os
import signal
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import msgspec
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

import alike
import quiet
from form_types import form_type
from plimsoll.model.contained import Containment
from plimsoll.reports.render import json_values

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
# Values of parameters of tests that stand for an older PostgreSQL: `VERSIONS` in live/installed.py.
OLDER = ("14", "Debian's", "16", "17")
NO_VALUES = SimpleNamespace(params={})
FLAKY = Path(__file__).parent / "flaky.toml"


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


@pytest.fixture(scope="session", autouse=True)
def json_documents_keep_their_form() -> Iterator[None]:
    """Read back every JSON document that a test has the reports write, by the types of which its schema is made."""
    plain = json_values.plain

    def checked(document: msgspec.Struct) -> Any:
        found = plain(document)
        # Raises ValidationError, which names the field.
        msgspec.json.decode(msgspec.json.encode(found), type=form_type(type(document), type(document)))
        return found

    with mock.patch.object(json_values, "plain", checked):
        yield


# Before xdist's own hook, which reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    The live tests of a file run in one worker and share its servers; files run at the same time, because
    their tests mostly wait. All tests that mount gates run in one worker.

    Only tests in tests/flaky.toml run again when they fail, once.
    """
    forgiven = {one["test"] for one in flaky_tests()}
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name in forgiven:
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=1))
        if LIVE not in item.path.parents:
            continue
        item.add_marker("live")
        if any(value in OLDER for value in getattr(item, "callspec", NO_VALUES).params.values()):
            item.add_marker("versions")
        group = item.path.stem
        if item.get_closest_marker("realtime") is not None:
            group = "slow rates" if item.path.name in SLOW_RATES else "rates"
        elif item.path.name.startswith(MOUNTING):
            group = "mounts"
        item.add_marker(pytest.mark.xdist_group(group))


def flaky_tests() -> list[dict[str, Any]]:
    """Return the tests that may run again, each with its reason and the day since when."""
    return tomllib.loads(FLAKY.read_text(encoding="utf-8")).get("flaky", [])


def needs_quiet(item: pytest.Item) -> bool:
    """Return whether a test is of rates that a busy machine may not reach."""
    return item.get_closest_marker("realtime") is not None and item.path.name not in SLOW_RATES


# Before the hook that sets the test up.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """
    Wait for a quiet machine before rates are measured; without one, the test is void.

    A test that is run again gets fresh servers: what its first run left would fail the second.
    """
    if needs_quiet(item) and (reason := quiet.wait_for_quiet()):
        quiet.void(reason)
    if getattr(item, "execution_count", 1) == 1:
        return
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        for fixture in definitions:
            if fixture.scope == "module":
                fixture.finish(item._request)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A test of rates that failed while others used the machine is void."""
    outcome = yield
    report = outcome.get_result()
    if report.failed and needs_quiet(item) and (reason := quiet.noise()):
        crash = str(report.longrepr).strip().splitlines()[-1]
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"{quiet.VOID}{reason}; it ended with: {crash}")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the first failure of each test that ran again, and why tests were void."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"ran again: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)
    for report in terminalreporter.stats.get("skipped", []):
        terminalreporter.write_line(f"{report.nodeid}: {report.longrepr[2].removeprefix('Skipped: ')}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """End the run where xdist is asked to group tests and does not: it takes groups from the ends of their ids."""
    lost = [name for name in ids if name.startswith("tests/live/") and "@" not in name]
    if node.config.option.dist == "loadgroup" and lost:
        pytest.exit(f"pytest-xdist does not group {lost[0]}: see requirements/dev.in", returncode=2)
