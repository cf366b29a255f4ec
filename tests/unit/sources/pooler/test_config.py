"""Configuration files of poolers, as people write them."""

import re
import time
from pathlib import Path

import pytest

from plimsoll.errors import DataError, SourceError, UsageError
from plimsoll.model.pooler import PooledDatabase, PooledUser, PoolerConfig
from plimsoll.sources.pooler.config import read_pooler_config

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
    """Comments are left out, quotes are taken off, the last of two wins."""
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
    """Each database has its own size, mode and bound; an included file belongs to the section it is in."""
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
        PooledDatabase(name="orders", user="app", size_max=30, mode="transaction", server="10.0.0.1:5432"),
        PooledDatabase(name="odd name", reserve=4, servers_max=9, server=":5432"),
        PooledDatabase(name="*", server="10.0.0.2:5432"),
    )
    assert config.users == ()


def test_users_have_settings_of_their_own(tmp_path: Path):
    """Size, reserve, mode and bound of a user; a timeout is not of its pools, and sections of peers are not."""
    config = read(
        tmp_path,
        "[users]\napp = pool_size=30 pool_mode=transaction\n"
        '"odd user" = max_user_connections=9 reserve_pool_size = 2\nplain = query_timeout=5\n'
        "[peers]\n1 = host=10.0.0.9 pool_size=7\n[databases]\na = port=6000 min_pool_size=3\n",
    )

    assert config.users == (
        PooledUser(name="app", size_max=30, mode="transaction"),
        PooledUser(name="odd user", reserve=2, servers_max=9),
        PooledUser(name="plain"),
    )
    assert config.databases == (PooledDatabase(name="a", size_min=3, server=":6000"),)
    assert config.settings == {}


def test_a_section_goes_on_after_the_file_that_began_it(tmp_path: Path):
    """PgBouncer reads included files as if they stood there; it looks for them where it was started."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "databases.ini").write_text("[databases]\na = \n%include conf.d/b.ini\n")
    (tmp_path / "conf.d" / "b.ini").write_text("b = host=db2\n[users]\n")
    config = read(tmp_path, "%include conf.d/databases.ini\nshop = pool_size=3\n")

    assert ["a", "b"] == [database.name for database in config.databases]
    assert config.users == (PooledUser(name="shop", size_max=3),)


def test_an_included_file_may_lie_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Beside the configuration first, else in the directory that we were started in."""
    ours = tmp_path / "ours"
    (ours / "etc").mkdir(parents=True)
    (ours / "etc" / "more.ini").write_text("query_timeout = 30\n")
    monkeypatch.chdir(ours)
    theirs = tmp_path / "theirs"
    theirs.mkdir()

    assert {"query_timeout": "30"} == read(theirs, "[pgbouncer]\n%include etc/more.ini\n").settings


def test_pgpool_includes_files_beside_the_one_that_names_them(tmp_path: Path):
    """`include` is no setting; what comes last holds, in whichever file it stands."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "one.conf").write_text("max_pool = 2\ninclude = 'two.conf'\n")
    (tmp_path / "sub" / "two.conf").write_text("num_init_children = 64\nchild_life_time = 0\n")
    text = "num_init_children = 32\ninclude = 'sub/one.conf'\nmax_pool = 3\n"

    assert read(tmp_path, text).settings == {"num_init_children": "64", "max_pool": "3", "child_life_time": "0"}


NO_CONFIGURATIONS = {
    "a text": "hello world\n",
    "nothing": "",
    "blank lines": "\n\n  \n",
    "accounts": "root:$y$j9T$abc:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n",
    "a server's": "port = 5432\nmax_connections = 100\nlisten_addresses = '*'\nlog_connections = on\n",
    "another ini": "[mysqld]\nport = 3306\nmax_connections = 100\n",
    "a template": "{% if pooler %}\n{% endif %}\n",
}


@pytest.mark.parametrize(
    ("text", "kind", "error", "cause"),
    [
        # Files that include each other: as either pooler refuses them.
        ("%include pooler.conf\n", "pgbouncer", DataError, "10 files deep"),
        ("include = 'pooler.conf'\n", "pgpool", DataError, "10 files deep"),
        # Neither pooler starts without a file that is included.
        ("[pgbouncer]\n%include nowhere.ini\n", None, SourceError, r"nowhere\.ini"),
        # What cannot be told is asked for.
        ("shared_buffers = 1GB\n", None, UsageError, "cannot tell whose"),
        # A wrong path or an empty template in a pipeline would pass otherwise, with nothing found.
        *(
            (text, kind, UsageError, "")
            for kind in ("pgbouncer", "pgpool", None)
            for text in NO_CONFIGURATIONS.values()
        ),
        # The settings of the other pooler have other names, so nothing would be found.
        *(
            (text, kind, UsageError, f"It is a configuration of {other}: leave out --kind.$")
            for text, kind, other in (
                ("[pgbouncer]\nlisten_port = 6432\n", "pgpool", "PgBouncer"),
                ("[databases]\norders = host=db1\n", "pgpool", "PgBouncer"),
                ("num_init_children = 32\nport = 9999\n", "pgbouncer", "Pgpool-II"),
            )
        ),
    ],
)
def test_what_a_pooler_would_not_start_with_is_refused(tmp_path: Path, text: str, kind, error, cause: str):
    with pytest.raises(error) as refused:
        read(tmp_path, text, kind=kind)

    assert re.search(cause, f"{refused.value.message} {refused.value.hint}")


@pytest.mark.parametrize("text", [PGPOOL, PGBOUNCER.replace("%include more.ini", "")])
def test_no_secret_is_kept(tmp_path: Path, text: str):
    """Passwords, keys and queries of users are not in what was read."""
    assert "hun" not in str(read(tmp_path, text))


def test_a_file_that_is_none_is_refused(tmp_path: Path):
    """A missing file, a folder and a binary give a sentence."""
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="no such file"):
        read_pooler_config(tmp_path / "absent")
    with pytest.raises(SourceError, match="is not a file"):
        read_pooler_config(tmp_path)
    with pytest.raises(DataError, match="not text"):
        read_pooler_config(tmp_path / "binary")


@pytest.mark.parametrize(
    "line",
    [
        "max_pool = 1" + " " * 300_000 + "x",
        "max_pool = 4\n" + "a" * 300_000,
        "[databases]\nx = " + "a" * 300_000,
        " " * 300_000 + "#" + " " * 300_000 + "\nmax_pool = 4",
        "wd_" + "a" * 300_000 + "\nmax_pool = 4",
    ],
    ids=["blanks", "a word", "a database", "a comment", "half a setting"],
)
def test_a_line_of_any_length_is_read_at_once(tmp_path: Path, line: str):
    """Time grows with the length of a line, not with its square."""
    start = time.process_time()
    read(tmp_path, line + "\n", kind="pgbouncer" if "[" in line else "pgpool")

    assert time.process_time() - start < 2.0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[databases]\n", "pgbouncer"),
        ("pool_mode = transaction\n", "pgbouncer"),
        ("max_client_conn = 5\n", "pgbouncer"),
        ("%include common.ini\n[pgbouncer]\n", "pgbouncer"),
        ("#num_init_children = 32\nport = 5433\n", "pgpool"),
        ("backend_hostname0 = 'db1'\n", "pgpool"),
        ("wd_lifecheck_method = 'heartbeat'\n", "pgpool"),
    ],
)
def test_a_part_of_a_configuration_is_read(tmp_path: Path, text, kind):
    """Also one that sets none of what is checked: then the defaults count."""
    (tmp_path / "common.ini").write_text("")
    (tmp_path / "file").write_text(text)

    assert kind == read_pooler_config(tmp_path / "file", kind=kind).kind
    assert kind == read_pooler_config(tmp_path / "file").kind
