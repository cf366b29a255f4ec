"""Deep checks run when what they cover changed, and not otherwise: .ci/deep; which tests may run again, and on what."""

import os
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from conftest import flaky_tests
from contract.tree import ROOT, files
from programs import ran, script

FLAKY_MAX = 10
LOAD, WATCH = "tests/live/test_load.py", "tests/live/test_watch.py"
COMMANDS = 'COMMANDS = {"load": Place("plimsoll.load", "Load"), "watch": Place("plimsoll.watch", "Watch")}'
# A repository with two tests of commands, one of a rate, and a package with a command of its own.
TREE = {
    "src/plimsoll/__init__.py": "",
    "src/plimsoll/cli/__init__.py": "",
    "src/plimsoll/cli/commands.py": COMMANDS,
    "lab/src/plimsoll_lab/part.py": "",
    "src/plimsoll/rows/__init__.py": "",
    "src/plimsoll/rows/rows.py": "",
    "src/plimsoll/rows/rows.csv": "a,b",
    "src/plimsoll/load.py": "from plimsoll.rows.rows import cut",
    "src/plimsoll/watch.py": "import plimsoll.kernel",
    "src/plimsoll/kernel.py": "",
    "crates/plimsoll-core/bucket.rs": "",
    "tests/conftest.py": "",
    "tests/live/shared.py": "",
    "tests/live/test_load.py": 'import live.shared\nrun("load")',
    "tests/live/test_watch.py": 'run("watch")\nFOLDER = ROOT / "docs"',
    "tests/live/test_rates.py": "pytestmark = pytest.mark.realtime",
    "tests/live/test_site.py": "pytestmark = pytest.mark.site",
    "docs/index.md": "",
    "integrations/helm/chart.yaml": "",
}


def deep_in(root: Path) -> ModuleType:
    """Return the program, as it is in another repository."""
    loader = SourceFileLoader("deep", str(ROOT / ".ci/deep"))
    spec = spec_from_loader("deep", loader)
    assert spec is not None
    found = module_from_spec(spec)
    # Without a file of bytecode beside the program.
    exec(compile(Path(loader.path).read_text(encoding="utf-8"), loader.path, "exec"), vars(found))
    found.ROOT, found.PASSED = root, root / ".ci/passed.toml"
    return found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".ci").mkdir()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def changed_after(root: Path, target: str, name: str) -> set[str]:
    """Return the units of a target that are to run when a file changes after all passed."""
    before = deep_in(root)
    before.keep(target, before.units_of(target))
    assert {} == before.changed(target)
    (root / name).write_text("changed")
    return set(deep_in(root).changed(target))


@pytest.mark.parametrize(
    ("name", "units", "target"),
    [
        ("src/plimsoll/rows/rows.py", {LOAD}, "live"),
        ("src/plimsoll/rows/rows.csv", {LOAD}, "live"),
        ("tests/live/shared.py", {LOAD}, "live"),
        ("tests/live/test_load.py", {LOAD}, "live"),
        ("crates/plimsoll-core/bucket.rs", {WATCH}, "live"),
        ("docs/index.md", {WATCH}, "live"),
        # Its test opens what was built, and names no page's file.
        ("docs/index.md", {"tests/live/test_site.py"}, "site"),
        ("tests/conftest.py", {LOAD, WATCH}, "live"),
        ("integrations/helm/chart.yaml", set(), "live"),
        ("integrations/helm/chart.yaml", {"helm"}, "integrations"),
        # So nothing lands unchecked.
        ("tests/live/test_new.py", {"tests/live/test_new.py"}, "live"),
    ],
)
def test_what_covers_a_changed_file_runs(tree: Path, name: str, units: set[str], target: str):
    """Through imports, commands and folders that are named, data of packages, and crates; nothing else runs."""
    assert units == changed_after(tree, target, name)


def test_what_a_target_depends_on_is_there():
    """A path that was moved would cover nothing."""
    also = {path for target in deep_in(ROOT).TARGETS.values() for path in target.also}

    assert [] == sorted(path for path in also if not (ROOT / path).exists())


def test_a_unit_that_is_gone_is_dropped(tree: Path):
    deep = deep_in(tree)
    units = deep.units_of("live")
    deep.keep("live", {"tests/live/test_gone.py": "0"} | units)

    assert set(units) == set(deep.kept()["live"])


@pytest.mark.parametrize(
    ("outcome", "is_good", "passes"),
    [("", True, True), ("<skipped/>", True, True), ("<failure/>", False, False)],
    ids=["passed", "void", "failed"],
)
def test_only_a_file_whose_tests_passed_is_kept(tree: Path, outcome: str, is_good: bool, passes: bool):
    """One with a void test is not kept, and fails nothing."""
    script(tree / ".ci/slowest", "")
    (tree / "build/log").mkdir(parents=True)
    deep = deep_in(tree)

    def step(*_: object) -> bool:
        cases = f"<testcase file='tests/live/test_load.py'>{outcome}</testcase>"
        (tree / "build/log/live.xml").write_text(f"<testsuite>{cases}</testsuite>")
        return is_good

    deep.step = step

    assert passes == deep.run("live", only_changed=False)
    assert {WATCH} | ({LOAD} if not outcome else set()) == set(deep.kept()["live"])


def test_every_live_test_belongs_to_a_target():
    """By the markers that the targets select."""
    deep = deep_in(ROOT)
    chosen = {file for name, target in deep.TARGETS.items() if target.runs for file in deep.files_for(name)}
    live = {
        str(path.relative_to(ROOT))
        for path in files(".py")
        if path.is_relative_to(ROOT / "tests/live") and path.name.startswith("test_")
    }

    assert set() == live - chosen


def test_few_tests_may_run_again():
    """Each is there, with a reason and the day since when."""
    listed = flaky_tests()

    assert len(listed) <= FLAKY_MAX
    for one in listed:
        file, _, function = one["test"].partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8")
        assert one["reason"].strip()
        assert one["since"]


def test_nothing_else_runs_again():
    """No marker, option or script but the list."""
    allowed = {"tests/conftest.py", "tests/contract/test_deep.py"}
    found = [
        name
        for path in files(".py", ".toml", ".sh", ".cfg", ".ini", "Makefile")
        if (name := str(path.relative_to(ROOT))) not in allowed
        and re.search(r"--reruns|mark\.flaky|reruns=", path.read_text(encoding="utf-8"))
    ]

    assert [] == found


def pytest_in(folder: Path) -> subprocess.CompletedProcess[str]:
    """The tests of a folder, run with our conftest.py and no configuration."""
    return ran(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-c", os.devnull, "."],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
    )


NOISY = """
import pytest, quiet
quiet.PATIENCE_S = 0.0
BUSY = iter({answers})
quiet.noise = lambda: next(BUSY)

@pytest.mark.realtime
def test_rate():
    assert {passes}
"""
LOUD = "other programs use 90% of the processors"


@pytest.mark.parametrize(
    ("answers", "passes", "says"),
    [
        ((LOUD, LOUD), True, f"void: {LOUD}"),
        ((None, LOUD), False, f"void: {LOUD}; it ended with: "),
        ((None,), True, "1 passed"),
        ((None, None), False, "1 failed"),
    ],
)
def test_rates_are_void_on_a_busy_machine(tmp_path: Path, answers: tuple, passes: bool, says: str):
    """Before they are measured, or where they fail; it is printed. On a quiet machine they pass or fail."""
    (tmp_path / "test_rate.py").write_text(NOISY.format(answers=answers, passes=passes))
    done = pytest_in(tmp_path)

    assert says in done.stdout
    assert ("failed" in says) == bool(done.returncode)


AGAIN = """
import pytest

MADE = []

@pytest.fixture(scope="module")
def server():
    MADE.append("server")
    return []

@pytest.mark.flaky(reruns=1)
def test_leaves_something(server):
    server.append("a table")
    assert len(MADE) == 2
    assert server == ["a table"]

def test_shares_the_second(server):
    assert len(MADE) == 2
"""


def test_what_a_failed_run_left_is_gone(tmp_path: Path):
    """The fixtures of the module are made again, once, and the next test shares them; the failure is printed."""
    (tmp_path / "test_again.py").write_text(AGAIN)
    done = pytest_in(tmp_path)

    assert 0 == done.returncode, done.stdout
    assert "2 passed, 1 rerun" in done.stdout
    assert "assert len(MADE) == 2" in done.stdout
