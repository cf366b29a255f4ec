"""Where the time of `make test` went is said in the end."""

import sys
from pathlib import Path

import pytest

from contract.tree import ROOT
from programs import ran

REPORT = """<testsuites><testsuite>
<testcase file="tests/unit/test_a.py" name="test_one[x]" time="{one}" />
<testcase file="tests/unit/test_a.py" name="test_two" time="1.5" />
<testcase file="tests/live/test_b.py" name="test_three" time="3.0" />
</testsuite></testsuites>"""

CARGO = """
     Running unittests src/lib.rs (target/debug/deps/plimsoll_gate-c1)
test result: ok. 70 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.47s
     Running tests/many.rs (target/debug/deps/many-a4)
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 101.50s
   Doc-tests plimsoll_core
test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Logs of two sessions of pytest, and one of cargo."""
    (tmp_path / "tests-in-Python.xml").write_text(REPORT.format(one="2.0"))
    (tmp_path / "tests-in-real-time.xml").write_text(
        REPORT.format(one="0.1").replace("_a.py", "_c.py").replace("_b.py", "_d.py")
    )
    (tmp_path / "tests-in-Rust.log").write_text(CARGO)
    return tmp_path


def printed(logs: Path) -> list[str]:
    """What is printed about a folder of logs, by lines without their blanks at both ends."""
    done = ran([sys.executable, ROOT / ".ci" / "slowest", *sorted(logs.iterdir())], check=True)
    return [line.strip() for line in done.stdout.splitlines()]


def test_the_slowest_of_all_sessions_are_named(logs: Path):
    """
    A test is named as pytest takes it. The seconds of a file are those of its tests; cargo times its files itself. The
    longest comes first.
    """
    lines = printed(logs)

    assert [
        "slowest tests",
        "3.0 s  tests/live/test_b.py::test_three",
        "3.0 s  tests/live/test_d.py::test_three",
        "2.0 s  tests/unit/test_a.py::test_one[x]",
    ] == lines[:4]
    assert [
        "101.5 s  tests/many.rs",
        "3.5 s  tests/unit/test_a.py",
        "3.0 s  tests/live/test_b.py",
        "3.0 s  tests/live/test_d.py",
        "1.6 s  tests/unit/test_c.py",
        "0.5 s  plimsoll_gate/src/lib.rs",
        "0.0 s  examples in plimsoll_core",
    ] == lines[lines.index("slowest files") + 1 :]


def test_ten_are_enough(logs: Path):
    """Of any number of tests, the ten that took longest are named."""
    cases = "".join(f'<testcase file="a.py" name="t{i}" time="{i}" />' for i in range(50))
    (logs / "tests-in-Python.xml").write_text(f"<testsuite>{cases}</testsuite>")

    lines = printed(logs)

    assert 10 == lines.index("slowest files") - lines.index("slowest tests") - 1


def test_every_session_leaves_a_report():
    """Each run of pytest in the Makefile writes a report with the files of its tests, next to the logs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    sessions = [line for line in makefile.replace("\\\n", "").splitlines() if " -m pytest " in line]

    assert sessions
    assert [] == [line for line in sessions if "--junitxml=build/log/" not in line]
    assert 'junit_family = "xunit1"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
