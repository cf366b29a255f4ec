"""Two readings and glances of real servers: what is counted, what is hidden, and what it leaves."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from live.counted import flush_statistics
from live.installed import DEBIANS, VERSIONS, postgres_binaries
from plimsoll.causes.inspect import inspect
from plimsoll.errors import AccessDenied, Unreachable
from plimsoll.model.cause import Cause
from plimsoll.model.database import Observation, Relation
from plimsoll.sources.postgres.connect import ServerConnection
from plimsoll.sources.postgres.parts import ReadingPart
from plimsoll.sources.postgres.pg_stat import DatabaseCounters, DatabaseProbe, gaps_of
from plimsoll.sources.postgres.read import observe
from plimsoll.sources.postgres.statements.terms import INSPECTION
from plimsoll_lab.servers.postgres import Postgres

OURS = "select count(*) from pg_stat_activity where application_name = 'plimsoll'"
END_OURS = "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity where application_name = 'plimsoll'"
LOCKS = "select mode from pg_locks where pid = pg_backend_pid() and locktype <> 'virtualxid'"


# Debian's has pg_stat_statements by name only, as where nobody set the library; 16 does not have it.
WITHOUT_LIBRARY = (DEBIANS, "16")
WITHOUT_EXTENSION = ("16",)


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """PostgreSQL of every version, most of them with pg_stat_statements."""
    version = request.param
    settings = {"fsync": "off", "autovacuum": "off"}
    if version not in WITHOUT_LIBRARY:
        settings["shared_preload_libraries"] = "pg_stat_statements"
    with Postgres(settings, binaries=postgres_binaries(version)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            if version not in WITHOUT_EXTENSION:
                connection.execute("create extension pg_stat_statements")
            connection.execute(
                "create table document (id int primary key, title text, body text);"
                "alter table document alter body set storage external;"
                "alter table document set (toast.autovacuum_vacuum_scale_factor = 0.05);"
                "insert into document select i, 'title', repeat('x', 10000)"
                " from generate_series(1, 100) i"
            )
            flush_statistics(connection)
        yield running


@pytest.fixture
def admin(server: Postgres) -> Iterator[psycopg.Connection]:
    """A superuser's connection."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection


class Time:
    """A clock that goes on only while somebody sleeps, and does then what was asked for."""

    def __init__(self, *doings: Callable[[], object]) -> None:
        self.now_s = 0.0
        self._doings = iter(doings)

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        next(self._doings, lambda: None)()


def seen(dsn: str, *doings: Callable[[], object], duration_s: float = 5.0) -> Observation:
    time = Time(*doings)
    return observe(dsn, duration_s=duration_s, clock=time.clock, sleep=time.sleep)


def did(server: Postgres, *statements: str) -> Callable[[], None]:
    """Run in a session of its own, which the views then count."""

    def run() -> None:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())
            flush_statistics(connection)

    return run


def relation(observation: Observation, name: str, *, is_last: bool = True) -> Relation:
    reading = observation.last if is_last else observation.first
    return next(one for one in reading.relations if one.name == name)


def toast_of(observation: Observation, table: Relation, *, is_last: bool = True) -> Relation:
    reading = observation.last if is_last else observation.first
    return next(one for one in reading.relations if one.oid == table.toast_oid)


def test_what_happened_between_the_readings_is_counted(server: Postgres, admin: psycopg.Connection):
    """Ten updates that send a value of 10,000 bytes anew leave 1 + 6 dead rows each at 1,996 bytes a chunk."""
    update = "update document set body = body || '' where id <= 10"
    found = seen(server.dsn, did(server, update))
    before, after = (relation(found, "public.document", is_last=last) for last in (False, True))
    toast_before, toast_after = (toast_of(found, after, is_last=False), toast_of(found, after))

    assert 1996 == found.server.toast_chunk_bytes
    assert 10 == after.updated - before.updated
    assert 60 == toast_after.inserted - toast_before.inserted
    assert 60 == toast_after.deleted - toast_before.deleted
    assert after.oid == toast_after.owner_oid
    assert {"autovacuum_vacuum_scale_factor": "0.05"} == toast_after.options
    assert toast_after.size_bytes > 100 * 10_000
    assert ("title", "body") == tuple(column.name for column in after.columns)
    assert "external" == after.columns[1].storage
    assert found.last.counters.committed > found.first.counters.committed
    assert found.last.counters.wal_bytes > found.first.counters.wal_bytes + 10 * 10_000
    assert 5 == len(found.glances)
    pids = [session.pid for session in found.glances[0].sessions]
    assert admin.info.backend_pid in pids


def test_a_table_made_meanwhile_is_in_the_last_reading(server: Postgres, admin: psycopg.Connection):
    """It has no row in the first one: all that it counts happened since."""
    name = "public.made_meanwhile"
    found = seen(server.dsn, did(server, f"create table {name} as select generate_series(1, 1000) i"))
    admin.execute(f"drop table {name}".encode())

    assert 1000 == relation(found, name).inserted
    assert name not in [one.name for one in found.first.relations]


def test_what_is_not_wanted_is_not_asked_for(server: Postgres):
    """Sessions alone take neither tables nor statements, and no missing right of theirs is named."""
    time = Time()
    found = observe(
        server.dsn, duration_s=1, wants=frozenset({ReadingPart.SESSIONS}), clock=time.clock, sleep=time.sleep
    )

    assert ((), (), None) == (*(found.last.relations, found.last.indexes), found.last.statements)
    assert found.glances[0].sessions
    assert "statements" not in dict(found.missing)


def test_a_version_says_what_it_knows(server: Postgres):
    """Since 16 there are bytes by who moved them; before not, and the observation says which version would."""
    found = seen(server.dsn)
    missing = dict(found.missing)

    if found.server.version_number >= 160_000:
        assert any(row.backend_type == "client backend" for row in found.last.io or ())
        assert "io" not in missing
        assert "GRANT" not in str(missing)
    else:
        assert None is found.last.io
        assert "PostgreSQL 16" in missing["io"]
    assert "off" == found.server.settings["autovacuum"]
    # Ours was two seconds meanwhile.
    assert "0" == found.server.settings["statement_timeout"]


def test_bytes_are_counted_by_who_moved_them(server: Postgres, admin: psycopg.Connection):
    """A table that a session makes and a checkpoint writes: each version counts both, within 15 %."""
    grow = "create table grown as select repeat('x', 1000) from generate_series(1, 5000)"
    # What was changed before is not on the account of the checkpoint that follows.
    did(server, "checkpoint")()
    found = seen(server.dsn, did(server, grow), did(server, "checkpoint"))
    (size,) = admin.execute("select pg_relation_size('grown')").fetchone()
    admin.execute("drop table grown")
    before, after = found.first.counters, found.last.counters
    by_backends = after.backend_written_bytes - before.backend_written_bytes

    assert by_backends == pytest.approx(size, rel=0.15)
    by_checkpoints = after.checkpoint_written_bytes - before.checkpoint_written_bytes
    assert by_checkpoints == pytest.approx(size, rel=0.15)
    assert 1 == after.checkpoints_requested - before.checkpoints_requested
    # A page of WAL has as much room; what a page leaves free is not logged.
    assert after.wal_bytes - before.wal_bytes == pytest.approx(size, rel=0.15)
    if found.last.io is not None:
        sessions = [
            sum(r.extended_bytes for r in reading.io if r.backend_type == "client backend")
            for reading in (found.first, found.last)
        ]
        assert sessions[1] - sessions[0] == pytest.approx(size, rel=0.15)


def test_a_recording_reads_every_version(server: Postgres):
    """Transactions everywhere, bytes since 16; what a version does not count is named."""
    probe = DatabaseProbe(server.dsn, time.monotonic)
    facts = probe.open()
    first = probe.read()
    grow = "create table grown as select repeat('x', 1000) from generate_series(1, 5000)"
    did(server, grow, "drop table grown")()
    last = probe.read()
    probe.close()

    assert isinstance(first, DatabaseCounters)
    assert isinstance(last, DatabaseCounters)
    assert last.transaction_count >= first.transaction_count + 2
    assert (facts.version_number >= 160_000) == (last.written_bytes is not None)
    assert last.written_bytes is None or last.written_bytes - first.written_bytes > 5_000_000
    assert (facts.version_number < 160_000) == any("16" in gap.remedy for gap in gaps_of(facts))


def test_statements_are_read_where_they_are_kept(server: Postgres):
    """With the library loaded, calls are counted between the readings; without, what is missing is named."""
    found = seen(server.dsn, did(server, "select count(*) from document where id < 7"))
    is_created = "pg_stat_statements" in found.server.extensions
    if "pg_stat_statements" not in found.server.settings["shared_preload_libraries"]:
        by_name = dict(found.missing)["statements"]
        assert None is found.last.statements
        assert is_created != ("CREATE EXTENSION pg_stat_statements;" in by_name)
        assert "shared_preload_libraries" in by_name
        return
    ours = [one for one in found.last.statements if "from document where id < $1" in one.text]

    assert [1] == [one.calls for one in ours]
    assert "7" not in ours[0].text


def test_nothing_stronger_than_access_share_is_locked(server: Postgres, monkeypatch: pytest.MonkeyPatch):
    """Every statement of a whole observation is followed by a look at our own locks; all are read-only."""
    ask = ServerConnection.ask
    modes: set[str] = set()
    states: set[str] = set()

    def watched(self: ServerConnection, *statements: str, **named: str) -> list:
        answers = ask(self, *statements, LOCKS, "show transaction_read_only", **named)
        states.add(answers.pop()[0][0])
        modes.update(mode for (mode,) in answers.pop())
        return answers

    monkeypatch.setattr(ServerConnection, "ask", watched)
    found = seen(server.dsn)

    assert found.query_count > 20
    assert {"AccessShareLock"} == modes
    assert {"on"} == states


def test_a_table_that_is_locked_is_not_waited_for(server: Postgres):
    """Its counters come, and its size as of its last vacuum; the others' sizes come as they are."""
    with psycopg.connect(server.dsn) as other:
        other.execute("lock table document in access exclusive mode")
        found = seen(server.dsn)
        other.rollback()
    table = relation(found, "public.document")

    assert 0 == table.size_bytes
    assert toast_of(found, table).size_bytes > 0
    assert "sizes" not in dict(found.missing)


def test_a_role_without_rights_is_told_what_to_grant(server: Postgres, admin: psycopg.Connection):
    """Tables and the server's counters come all the same; pg_monitor is enough for sessions."""
    admin.execute("create role plain login password 's3cret'")
    try:
        dsn = f"host=127.0.0.1 port={server.port} dbname=postgres user=plain password=s3cret"
        plain = seen(dsn)
        admin.execute("grant pg_monitor to plain")
        monitor = seen(dsn)
    finally:
        admin.execute("drop owned by plain; drop role plain")

    missing = dict(plain.missing)
    assert ("GRANT pg_monitor TO plain;",) * 3 == tuple(missing[what] for what in ("sessions", "vacuums", "settings"))
    assert re.fullmatch(r"GRANT SELECT ON (\w+\.\w+, )*public\.document(, .*)? TO plain;", missing["column widths"])
    assert () == plain.server.rights
    assert None in {session.backend_type for session in plain.glances[0].sessions}
    assert relation(plain, "public.document").inserted >= 100
    assert None not in {session.backend_type for session in monitor.glances[0].sessions}
    assert not {"sessions", "vacuums", "settings"} & dict(monitor.missing).keys()


def test_rights_as_a_managed_server_gives_them_hide_a_part_and_no_more(server: Postgres, admin: psycopg.Connection):
    """
    Emulated as on RDS: a member of a role with pg_monitor, no superuser, a database of the provider's
    that nobody may enter; and the control file's function and the view of WAL withheld.
    """
    admin.execute(
        "create role rds_superuser; grant pg_monitor, pg_signal_backend to rds_superuser;"
        "create role managed login createdb createrole password 's3cret';"
        "grant rds_superuser to managed;"
        "revoke execute on function pg_control_init() from public;"
        "revoke select on pg_stat_wal from public"
    )
    admin.execute("create database rdsadmin")
    admin.execute("revoke connect on database rdsadmin from public")
    again = did(server, "update document set body = body || ''")
    again()  # the pages of old values that the first update changes are not in memory yet
    try:
        dsn = f"host=127.0.0.1 port={server.port} dbname=postgres user=managed password=s3cret"
        found = seen(dsn, again)
        superuser = seen(server.dsn, again)
    finally:
        admin.execute(
            "grant execute on function pg_control_init() to public;"
            "grant select on pg_stat_wal to public; drop role managed;"
            "drop owned by rds_superuser; drop role rds_superuser"
        )
        admin.execute("drop database rdsadmin")

    assert None is found.server.toast_chunk_bytes
    assert None is found.last.counters.wal_bytes
    assert {"toast chunk size", "wal"} <= dict(found.missing).keys()
    hidden, shown = rewrite(found), rewrite(superuser)
    bytes_of = (hidden.bytes_per_s * found.seconds, shown.bytes_per_s * superuser.seconds)
    is_set = found.last.statements is not None
    assert hidden.subject == ("public.document.body" if is_set else "public.document")
    assert hidden.subject == shown.subject
    assert bytes_of[0] == pytest.approx(bytes_of[1], rel=0.15)
    assert found.last.counters.committed > 0
    assert relation(found, "public.document").inserted >= 100


def rewrite(found: Observation) -> Cause:
    """The cause that names values sent again."""
    (cause,) = [cause for cause in inspect(found).causes if cause.kind == "toast"]
    return cause


def test_ctrl_c_ends_it_with_what_there_is_and_leaves_nothing(server: Postgres, admin: psycopg.Connection):
    """The last reading is of that moment, and the connection is gone."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    found = seen(server.dsn, did(server, "update document set title = 'other' where id = 1"), interrupt)
    before, after = (relation(found, "public.document", is_last=last) for last in (False, True))

    assert 1 == after.updated - before.updated
    assert 2 == len(found.glances)
    assert "interrupted" in dict(found.missing)["window"]
    assert_nothing_left(admin)


def test_a_lost_connection_is_a_hole_and_no_end(server: Postgres, admin: psycopg.Connection):
    """The server ends our session twice: one glance fails each time, and the counters go on."""
    found = seen(
        server.dsn,
        lambda: admin.execute(END_OURS),
        lambda: None,
        lambda: admin.execute(END_OURS),
        did(server, "update document set title = 'third' where id <= 3"),
    )
    before, after = (relation(found, "public.document", is_last=last) for last in (False, True))

    assert 3 == len(found.glances)
    assert "2 did not come" in dict(found.missing)["samples of sessions"]
    assert 3 == after.updated - before.updated
    assert "window" not in dict(found.missing)
    assert_nothing_left(admin)


def test_a_database_that_is_dropped_ends_in_a_sentence(server: Postgres, admin: psycopg.Connection):
    """The first reading is then also the last, and the observation says why."""
    admin.execute("create database passing")
    dsn = server.dsn.replace("dbname=postgres", "dbname=passing")
    found = seen(dsn, lambda: admin.execute("drop database passing with (force)"))

    assert found.first.time_s == found.last.time_s
    assert "does not exist" in dict(found.missing)["last reading"]


def test_another_database_that_is_dropped_is_in_neither_sum(server: Postgres, admin: psycopg.Connection):
    """Its commits would else be taken off the server's."""
    admin.execute("create database passing")
    with psycopg.connect(server.dsn.replace("dbname=postgres", "dbname=passing")) as other:
        other.autocommit = True
        for _ in range(300):
            other.execute("select 1")
    found = seen(server.dsn, lambda: admin.execute("drop database passing"))

    assert 0 <= found.last.counters.committed - found.first.counters.committed < 100
    assert "left out" in dict(found.missing)["counters"]


def test_refusals_are_sentences_without_the_password(server: Postgres):
    """A wrong password, a database that is not there, a port that is nobody's."""
    wrong = f"host=127.0.0.1 port={server.port} dbname=postgres user=plimsoll password=wr0ng"
    absent = server.dsn.replace("dbname=postgres", "dbname=nowhere")
    with pytest.raises(AccessDenied) as refused:
        seen(wrong)
    with pytest.raises(AccessDenied) as unknown:
        seen(absent)
    with pytest.raises(Unreachable):
        seen("host=127.0.0.1 port=1 dbname=x user=y password=wr0ng")

    assert "wr0ng" not in refused.value.message + refused.value.hint
    assert "nowhere" in unknown.value.message


def test_statements_named_in_the_documentation_are_the_ones_sent(server: Postgres, monkeypatch: pytest.MonkeyPatch):
    """Every view, function and catalog in a statement of ours has its line in database-access.md."""
    import re

    sent: list[str] = []
    ask = ServerConnection.ask

    def noted(self: ServerConnection, *statements: str, **guards: str) -> list:
        sent.extend(statements)
        return ask(self, *statements, **guards)

    monkeypatch.setattr(ServerConnection, "ask", noted)
    seen(server.dsn)
    page = (Path(__file__).parents[2] / "docs/reference/database-access.md").read_text()
    names = set(re.findall(r"\bpg_[a-z_]+", " ".join([*sent, INSPECTION.opening(180_000)])))
    unnamed = {name for name in names if f"`{name}" not in page} - {*("pg_catalog", "pg_toast")}

    assert not {name for name in unnamed if not name.startswith("pg_stat_get_")}


def assert_nothing_left(admin: psycopg.Connection) -> None:
    """The server ends a session a moment after its client has gone."""
    for _ in range(100):
        if admin.execute(OURS).fetchone() == (0,):
            return
        admin.execute("select pg_sleep(0.02)")

    assert (0,) == admin.execute(OURS).fetchone()
