"""A load on MariaDB is sized by the memory that may cache it, or refused in one sentence."""

from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll.units import MIB
from plimsoll_lab.load.sysbench import load_of
from plimsoll_lab.servers.mysql import MariaDb


@pytest.mark.parametrize(("name", "ratio", "tables"), [("scan", 2, 16), ("oltp", 4, 1)])
def test_tables_exceed_the_memory(name: str, ratio: int, tables: int):
    """Twice the memory for scans, with a table for each client; four times for reads of single rows."""
    load = load_of(name, clients=16, rate_per_s=None, memory_bytes=512 * MIB, size_bytes=None)

    assert (ratio * 512 * MIB, tables) == (load.size_bytes, load.table_count)
    assert load.row_count * tables * 1_092 == pytest.approx(load.size_bytes, rel=0.001)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"name": "tpcb"}, "unknown workload 'tpcb'"),
        ({"clients": 0}, "0 clients are not possible"),
        ({"rate_per_s": 0.0}, "0 transactions a second are not possible"),
        ({"size_bytes": 200_000 * MIB}, "tables of 200,000 MiB are too large"),
    ],
)
def test_what_is_not_possible_is_refused(facts: dict, expected: str):
    """Unknown names, and numbers out of range."""
    usual = {"name": "oltp", "clients": 1, "rate_per_s": None, "size_bytes": None}
    with pytest.raises(UsageError) as raised:
        load_of(**{**usual, **facts}, memory_bytes=MIB)

    assert expected in raised.value.message


def test_a_folder_without_mariadb_is_refused(tmp_path: Path):
    """The sentence names the program, the hint the packages."""
    with pytest.raises(UsageError) as raised:
        MariaDb({}, data_directory=tmp_path / "data", binaries=tmp_path)

    assert f"'{tmp_path}' has no program 'mariadbd'" in raised.value.message
    assert "mariadb-server-core" in raised.value.hint
