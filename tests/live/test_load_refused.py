"""What a server refuses while rows are loaded: said without any value, and with a hint that helps."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.loads import BY_LIMITS, asked, counts, rows, table
from live.machine import Run
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres({"shared_buffers": "32MB", "max_connections": "40"}) as made:
        yield made


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("int", "4711471147114711", 'value "…" is out of range for type integer'),
        ("float8", "1e4711", '"…" is out of range for type double precision'),
        ("bit(4)", "4711", '"…" is not a valid binary digit'),
        ("date", "2020-47-11", "date/time field value out of range"),
        ("timestamptz", "2020-01-01 00:00 Nowhere/4711", 'time zone "…" not recognized'),
        ("varchar(3)", "4711", "value too long for type character varying(3)"),
        ("int check (secret > 9000)", "4711", 'new row for relation "secrets" violates check constraint'),
        ("text", "\xe9,4711".encode("latin-1"), 'invalid byte sequence for encoding "UTF8"'),
        ("text", "4711,x", "extra data after last expected column"),
    ],
)  # fmt: skip
def test_no_value_is_repeated(server: Postgres, run: Run, tmp_path: Path, column: str, value: str | bytes, reason: str):
    asked(server, "drop table if exists secrets, plimsoll_loaded")
    asked(server, f"create table secrets (secret {column})")
    text = value if isinstance(value, bytes) else value.encode()
    (tmp_path / "a.csv").write_bytes(text + b"\n")
    done = run("load", "a.csv", "secrets", *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert (2, "") == (done.returncode, done.stdout)
    assert reason in done.stderr
    assert "4711" not in done.stderr
    assert "0xe9" not in done.stderr
    assert "line 1 of them" in done.stderr
    assert "Correct that row and run the command again" in done.stderr


def test_what_a_trigger_says_is_not_repeated(server: Postgres, run: Run, tmp_path: Path):
    name = table(server, "guarded")
    asked(
        server,
        "create or replace function refuse() returns trigger language plpgsql as "
        "$$ begin raise exception 'patient % refused', new.name using errcode = '22023'; end $$",
    )
    asked(server, f"create trigger refuse before insert on {name} execute function refuse()")
    asked(server, f"drop trigger refuse on {name}")
    asked(server, f"create trigger refuse before insert on {name} for each row execute function refuse()")
    (tmp_path / "a.csv").write_bytes(rows(3))
    done = run("load", "a.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert 2 == done.returncode
    assert "a trigger or function of the table refused it (SQLSTATE 22023)" in done.stderr
    assert "name 0" not in done.stderr


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--encoding", "latin-99"], 'argument to option "…" must be a valid encoding name'),
        (["--delimiter", '"'], "COPY delimiter and quote must be different"),
        (["--columns", "id,id"], "column 'id' is named twice"),
        (["--columns", ""], "--columns '' has an empty name"),
    ],
)
def test_options_that_do_not_fit_are_no_wrong_row(
    server: Postgres, run: Run, tmp_path: Path, options: list[str], cause: str
):
    name = table(server, "plain")
    (tmp_path / "a.csv").write_bytes(rows(3))
    done = run("load", "a.csv", name, *options, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert (2, "") == (done.returncode, done.stdout)
    assert cause in done.stderr
    assert "row" not in done.stderr


def test_rows_after_an_end_marker_are_refused_and_not_dropped(server: Postgres, run: Run, tmp_path: Path):
    """Two parts of a dump, one after the other: the server would drop the second without a word."""
    name = table(server, "dumped")
    part = b"1\ta\tb\n2\ta\tb\n\\.\n"
    (tmp_path / "two.txt").write_bytes(part + b"3\ta\tb\n")
    (tmp_path / "one.txt").write_bytes(part)
    refused = run("load", "two.txt", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    before = counts(server, name)[0]
    done = run("load", "one.txt", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert (2, 0) == (refused.returncode, before)
    assert "'two.txt': rows come after an end-of-data marker (\\.) that ends at byte 15" in refused.stderr
    assert (0, "") == (done.returncode, done.stderr)
    assert 2 == counts(server, name)[0]


def test_commits_wait_for_the_disk_whatever_the_role_does(server: Postgres, run: Run, tmp_path: Path):
    """Else a crash could lose a chunk after the load has said that all is there. What waits for a standby stays."""
    name = table(server, "durable")
    asked(server, f"alter table {name} add waited text default current_setting('synchronous_commit')")
    for number, setting in enumerate(("off", "remote_apply")):
        (tmp_path / f"{number}.csv").write_bytes(rows(number + 1))
        done = run(
            *("load", f"{number}.csv", name, "--columns", "id,name,note", *BY_LIMITS),
            PLIMSOLL_DSN=f"{server.dsn} options='-c synchronous_commit={setting}'",
        )
        assert (0, "") == (done.returncode, done.stderr)

    assert [("on", 1), ("remote_apply", 2)] == asked(
        server, f"select waited, count(*) from {name} group by 1 order by 1"
    )


def test_a_ledger_that_is_there_needs_no_right_to_make_one(server: Postgres, run: Run, tmp_path: Path):
    """A second role, with the documented rights alone."""
    name = table(server, "shared")
    (tmp_path / "a.csv").write_bytes(rows(10))
    (tmp_path / "b.csv").write_bytes(rows(11))
    run("load", "a.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    asked(server, "drop role if exists second")
    asked(server, "create role second login password 'second'")
    asked(server, f"revoke create on schema public from public; grant insert on {name} to second")

    def load(file: str):
        dsn = f"{server.dsn} user=second password=second"
        return run("load", file, name, *BY_LIMITS, PLIMSOLL_DSN=dsn)

    try:
        refused = load("b.csv")
        asked(server, "grant select, insert, update on plimsoll_loaded to second")
        done = load("b.csv")
    finally:
        asked(server, "drop owned by second; drop role second")

    assert 2 == refused.returncode
    assert "`SELECT`, `INSERT` and `UPDATE` on the ledger" in refused.stderr
    assert (0, "") == (done.returncode, done.stderr)
    assert 21 == counts(server, name)[0]


def test_a_name_that_is_no_text_is_loaded(server: Postgres, run: Run, tmp_path: Path):
    name = table(server, "named")
    file = os.fsencode(tmp_path) + b"/caf\xe9.csv"
    Path(os.fsdecode(file)).write_bytes(rows(4))
    done = run("load", os.fsdecode(file), name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert (0, "") == (done.returncode, done.stderr)
    assert [("caf\\xe9.csv",)] == asked(server, "select right(file, 11) from plimsoll_loaded")


def test_a_pipe_is_no_file(server: Postgres, run: Run, tmp_path: Path):
    name = table(server, "piped")
    os.mkfifo(tmp_path / "pipe.csv")
    for path in ("pipe.csv", "."):
        done = run("load", path, name, "--format", "csv", *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
        assert 2 == done.returncode
        assert f"'{path}' is no regular file" in done.stderr
