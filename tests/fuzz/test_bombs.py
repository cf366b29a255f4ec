"""What is small on disk stays small in memory: bombs end in one sentence before they are unpacked."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz import bombs
from plimsoll.sources.files.bounds import MOST_ROWS
from programs import ran

# What the interpreter and the libraries take is 120 MB; the rest is for the file.
MOST_MEMORY_BYTES = 500e6

BOMBS: dict[str, Callable[[], bytes]] = {
    "empty-results.json.gz": bombs.empty_results,
    "zeros.csv.gz": bombs.zeros,
    "rows.parquet": lambda: bombs.rows(MOST_ROWS + 1),
    "brackets.json": lambda: b'{"MetricDataResults":[' + b"{}," * 6_000_000 + b"{}]}",
    "values.json": lambda: b'{"MetricDataResults":[' + b"0," * 26_000_000 + b"0]}",
    "lines.jsonl": lambda: (
        b'{"metric_name": "ReadIOPS", "value": {"sum": 1, "count": 1}, "timestamp": 1}\n' * 2 + b"x\n" * 6_000_000
    ),
    "rows.csv": lambda: b"timestamp,ReadIOPS\n" + b"1,2\n" * 6_000_000,
}


# The peak of a process counts what its parent had when it was started; this parent has next to nothing.
MEASURE = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)
"""


def measured(path: Path) -> tuple[int, str, float]:
    """Exit status of the command, what it said, and the most memory it or a child of it had."""
    command = [sys.executable, "-m", "plimsoll", "diagnose", str(path)]
    done = ran([sys.executable, "-I", "-c", MEASURE, *command], check=True)
    status, memory_bytes = done.stdout.split()
    return int(status), done.stderr, float(memory_bytes)


@pytest.mark.attack("A small file unpacks to gigabytes", "one sentence, status 2, in bounded memory")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_one_sentence_in_bounded_memory(tmp_path, name):
    """Status 2, cause and hint, and never the gigabytes that the file would hold."""
    (tmp_path / name).write_bytes(BOMBS[name]())
    status, text, memory_bytes = measured(tmp_path / name)
    lines = text.splitlines()

    assert 2 == status
    assert ["error:", "hint:"] == [line.split(" ")[0] for line in lines]
    assert memory_bytes < MOST_MEMORY_BYTES


def test_the_bombs_are_as_small_as_they_are_said_to_be():
    """A megabyte of empty results, three of zeros, and hardly any of rows."""
    assert len(bombs.empty_results()) < 1.2e6
    assert len(bombs.zeros()) < 3.5e6
    assert len(bombs.rows(1_000_000)) < 50e3
