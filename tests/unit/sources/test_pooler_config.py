"""Configuration files of poolers, as people write them."""

import time
from pathlib import Path

import pytest

from plimsoll.errors import DataError, SourceError, UsageError
from plimsoll.model.pooler import PooledDatabase, PoolerConfig
from plimsoll.sources.pooler_config import read_pooler_config

PGPOOL = """
# - Pool size -
#num_init_children = 32
num_init_children = 64   # more
max_pool=2
reset_query_list = 'ABORT; DISCARD ALL'
child_life_time = 5min
child_life_time = 0
sr_check_password = 'hunter2' # never kept
wd_authkey = 'hunter2'
failover_command = 'PGPASSWORD=hunter2 psql -c "select 1"'
backend_hostname0 = 'it''s here'
"""
PGBOUNCER = """
;; a comment
[databases]
orders = host=10.0.0.1 dbname=orders user=app password='hun ter2' pool_size=30 pool_mode=transaction
"odd name" = dbname=x reserve_pool=4 max_db_connections=9
* = host=10.0.0.2
[pgbouncer]
pool_mode = session
auth_query = SELECT hunter2
server_reset_query =
# default_pool_size = 5
max_user_connections = 7
%include more.ini
"""


def read(folder: Path, text: str, **options) -> PoolerConfig:
    path = folder / "pooler.conf"
    path.write_text(text)
    return read_pooler_config(path, **options)


def test_pgpool_settings_are_read(tmp_path: Path):
    """
    Comments are left out, quotes are taken off, the last of two wins.
    """
    config = read(tmp_path, PGPOOL, version="4.1.3")

    assert config.kind == "pgpool"
    assert config.version == "4.1.3"
    assert config.settings == {
        "num_init_children": "64",
        "max_pool": "2",
        "reset_query_list": "ABORT; DISCARD ALL",
        "child_life_time": "0",
        "backend_hostname0": "it's here",
    }


def test_pgbouncer_settings_and_databases_are_read(tmp_path: Path):
    """
    Each database has its own size, mode and bound; an included file belongs to the section it is in.
    """
    (tmp_path / "more.ini").write_text("query_timeout = 30\n")
    config = read(tmp_path, PGBOUNCER)

    assert config.kind == "pgbouncer"
    assert config.settings == {
        "pool_mode": "session",
        "server_reset_query": "",
        "max_user_connections": "7",
        "query_timeout": "30",
    }
    assert config.databases == (
        PooledDatabase(name="orders", user="app", size_max=30, mode="transaction"),
        PooledDatabase(name="odd name", reserve=4, servers_max=9),
        PooledDatabase(name="*"),
    )


@pytest.mark.parametrize("text", [PGPOOL, PGBOUNCER.replace("%include more.ini", "")])
def test_no_secret_is_kept(tmp_path: Path, text: str):
    """
    Passwords, keys and queries of users are not in what was read.
    """
    assert "hun" not in str(read(tmp_path, text))


def test_a_file_of_comments_that_name_settings_is_known(tmp_path: Path):
    """
    Debian ships pgpool.conf with everything commented out.
    """
    config = read(tmp_path, "#num_init_children = 32\n#max_pool = 4\n")

    assert (config.kind, config.settings) == ("pgpool", {})


def test_a_file_that_could_be_anything_is_refused(tmp_path: Path):
    """
    What cannot be told is asked for.
    """
    with pytest.raises(UsageError, match="cannot tell whose"):
        read(tmp_path, "shared_buffers = 1GB\n")

    assert read(tmp_path, "max_client_conn = 5\n", kind="pgbouncer").settings


def test_a_file_that_is_none_is_refused(tmp_path: Path):
    """
    A missing file, a folder and a binary give a sentence.
    """
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="no such file"):
        read_pooler_config(tmp_path / "absent")
    with pytest.raises(SourceError, match="is a directory"):
        read_pooler_config(tmp_path)
    with pytest.raises(DataError, match="not text"):
        read_pooler_config(tmp_path / "binary")


@pytest.mark.parametrize(
    "line",
    ["max_pool = 1" + " " * 300_000 + "x", "a" * 300_000, "[databases]\nx = " + "a" * 300_000],
    ids=["blanks", "a word", "a database"],
)
def test_a_line_of_any_length_is_read_at_once(tmp_path: Path, line: str):
    """
    Time grows with the length of a line, not with its square.
    """
    start = time.process_time()
    read(tmp_path, line + "\n", kind="pgbouncer" if "[" in line else "pgpool")

    assert time.process_time() - start < 2.0
