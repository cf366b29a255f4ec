"""What stops servers one day, made for real: slots, prepared transactions, snapshots, bloat, sequences, old ids."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live.counted import flush_statistics
from live.installed import VERSIONS, postgres_binaries, postgres_folder
from plimsoll.causes.inspect import inspect
from plimsoll.model.cause import Cause, Inspection
from plimsoll.model.database import Observation
from plimsoll.sources.postgres.connect import ServerConnection
from plimsoll.sources.postgres.read import observe
from plimsoll.sources.postgres.reader import Reader
from plimsoll_lab.servers.postgres import Postgres

SETTINGS = {
    "fsync": "off",
    "autovacuum": "off",
    "wal_level": "logical",
    "max_prepared_transactions": "2",
    "max_wal_size": "32MB",
    "shared_buffers": "16MB",
}
# A table of 25 MB of which a twentieth is left after a vacuum, and an index that was as large.
BLOATED = """
create table events (id int, kind text, note text);
insert into events select g, repeat(md5(g::text), 2), repeat('x', 80) from generate_series(1, 120000) g;
create index events_kind on events (kind);
create table orders (id serial primary key, note text);
insert into orders (note) select 'x' from generate_series(1, 20000);
"""
# A sequence of integers that has hardly any left.
ENDING = "select setval('orders_id_seq', 2100000000)"


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server of some version on which everything that is told below was done."""
    with Postgres(SETTINGS, binaries=postgres_binaries(request.param)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            # A logical slot keeps WAL and rows of catalogs, none of ours.
            connection.execute("select pg_create_logical_replication_slot('abandoned', 'test_decoding')")
            # Nobody holds anything back yet: what is deleted can be removed.
            connection.execute(BLOATED)
            connection.execute("delete from events where id % 20 <> 0")
            flush_statistics(connection)
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            connection.execute("vacuum analyze events")
            connection.execute(ENDING)
            with pytest.raises(psycopg.errors.UniqueViolation):
                connection.execute("create unique index concurrently orders_note on orders (note)")
            connection.execute("select pg_create_physical_replication_slot('unused')")
            connection.execute("begin; insert into orders (id, note) values (-1, 'x'); prepare transaction 'orphan'")
        yield running


@pytest.fixture(scope="module")
def seen(server: Postgres) -> Observation:
    """The server while a snapshot is five seconds old under which 20,000 rows died."""
    dsn = f"{server.dsn} application_name=nightly-report"
    with psycopg.connect(dsn) as report, psycopg.connect(server.dsn, autocommit=True) as writer:
        report.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        report.execute("select count(*) from orders where id = 4711")
        began = time.monotonic()
        for _ in range(3):
            writer.execute("update orders set note = note || 'y'")
        flush_statistics(writer)
        time.sleep(max(5.2 - (time.monotonic() - began), 0))
        return observe(server.dsn, duration_s=0.4, every_s=0.2)


@pytest.fixture(scope="module")
def found(seen: Observation) -> Inspection:
    return inspect(seen)


def only(found: Inspection, code: str, subject: str = "") -> Cause:
    (cause,) = [c for c in found.causes if c.code == code and c.subject.startswith(subject)]
    return cause


def commands(cause: Cause) -> list[str]:
    return [command for remedy in cause.remedies for command in remedy.commands]


def test_an_abandoned_slot_is_named_with_the_wal_it_holds(found: Inspection, server: Postgres):
    """Bytes as the server counts them; beyond max_wal_size it is critical, for nothing bounds it."""
    slot = only(found, "ReplicationSlotHoldsWal", "abandoned")
    with psycopg.connect(server.dsn) as connection:
        row = connection.execute(
            "select (pg_current_wal_lsn() - restart_lsn)::float8 from pg_replication_slots"
            " where slot_name = 'abandoned'"
        ).fetchone()

    assert "critical" == slot.severity
    assert pytest.approx(row[0], rel=0.3) == slot.evidence[0].value
    assert "SELECT pg_drop_replication_slot('abandoned');" in commands(slot)
    assert "until the storage is full" in slot.text


def test_an_old_snapshot_is_named_with_what_it_holds_back(found: Inspection):
    """Process, user, application, statement without its values, since when; bytes of dead rows at most."""
    holder = only(found, "HorizonHeldBack")
    every = " ".join(piece.text for piece in holder.evidence)

    assert "plimsoll 'nightly-report'" in holder.title
    assert "where id = ?" in every
    assert "4711" not in every
    assert (next(e for e in holder.evidence if e.kind == "dead rows").value or 0) > 1e6
    assert commands(holder)[0].startswith("SELECT pg_terminate_backend(")


@pytest.mark.parametrize(
    ("code", "subject", "severity", "said"),
    [
        # It was made and never used: no WAL is reserved for it.
        ("ReplicationSlotInactive", "unused", "note", ()),
        # By its name and owner, with what it keeps and the command that ends it.
        ("PreparedTransaction", "orphan", "", ("'orphan' of plimsoll", "dead rows", "ROLLBACK PREPARED 'orphan';")),
        # The column is an integer: 47,483,647 numbers are left.
        (
            *("SequenceNearEnd", "public.orders_id_seq", "critical"),
            ("public.orders.id", "ALTER TABLE public.orders ALTER COLUMN id TYPE bigint;"),
        ),
        # What a failed CREATE UNIQUE INDEX CONCURRENTLY left.
        ("InvalidIndex", "public.orders_note", "warning", ("DROP INDEX CONCURRENTLY public.orders_note;",)),
        # For the server, and for no table.
        ("AutovacuumOff", "", "", ()),
    ],
)
def test_what_stands_there_is_named_once(
    found: Inspection, code: str, subject: str, severity: str, said: tuple[str, ...]
):
    """With its severity, and with what there is to do."""
    cause = only(found, code, subject)
    text = "\n".join([cause.title, *(piece.text for piece in cause.evidence), *commands(cause)])

    assert severity in ("", cause.severity)
    assert [] == [words for words in said if words not in text]


@pytest.mark.parametrize(
    ("code", "name", "relation"),
    [("TableBloat", "public.events", "events"), ("IndexBloat", "public.events_kind", "events_kind")],
)
def test_bloat_is_as_much_as_goes_when_it_is_written_anew(
    found: Inspection, server: Postgres, code: str, name: str, relation: str
):
    """Of the table and the index a tenth is left after VACUUM FULL, by estimate within a tenth of the size."""
    bloat = only(found, code, name)
    (texts,) = [e for e in bloat.evidence if e.text.startswith(f"{name}:")]
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create table again as select * from events")
        connection.execute("create index again_kind on again (kind)")
        again = relation.replace("events", "again")
        (size,) = connection.execute(f"select pg_relation_size('{again}')").fetchone()
        connection.execute("drop table again")

    assert "by estimate" in bloat.title
    assert pytest.approx(size, abs=0.1 * texts.value) == texts.reference


def test_danger_takes_the_headline(found: Inspection):
    """What stops the server stands before what only costs."""
    assert {found.causes[0].code, found.causes[1].code} == {"ReplicationSlotHoldsWal", "SequenceNearEnd"}


def test_no_part_of_it_was_refused(seen: Observation):
    """All of it can be read on every version."""
    result = seen.standing

    assert result is not None
    assert [] == [name for name in result.__struct_fields__ if getattr(result, name) is None]


def test_a_role_without_rights_is_told_what_it_lacks(server: Postgres):
    """pg_monitor sees all but the widths of columns and sequences' values; nothing fails."""
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("drop role if exists watcher")
        admin.execute("create role watcher login password 's3cret' in role pg_monitor")
    dsn = f"host=127.0.0.1 port={server.port} dbname=postgres user=watcher password=s3cret"
    inspection = inspect(observe(dsn, duration_s=0.2, every_s=0.1))

    assert "ReplicationSlotHoldsWal" in {cause.code for cause in inspection.causes}
    (gap,) = [gap for gap in inspection.missing if gap.name == "column widths"]
    assert 'GRANT SELECT ON public.events TO "watcher";' == gap.remedy


def test_no_lock_is_left_and_none_is_waited_for(server: Postgres):
    """While a table is locked exclusively all of it is read, but for the relations that are locked."""
    connection = ServerConnection(server.dsn)
    reader = Reader(connection)
    try:
        reader.meet()
        with psycopg.connect(server.dsn) as other:
            other.execute("lock table events in access exclusive mode")
            began = time.monotonic()
            reading = reader.standing()
            took_s = time.monotonic() - began
            held = other.execute(
                "select count(*) from pg_locks l join pg_stat_activity a using (pid)"
                " where a.application_name = 'plimsoll' and l.locktype = 'relation'"
            ).fetchone()
    finally:
        connection.close()

    assert reading is not None
    assert reading.slots
    assert took_s < 3
    assert (0,) == held


@pytest.fixture(params=VERSIONS)
def old(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A cluster whose next transaction id was set 1,900 million ahead."""
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-old-", dir="/var/tmp"))
    try:
        # So late that no vacuum of the server's own accord comes before us.
        settings = {"fsync": "off", "autovacuum": "off", "autovacuum_freeze_max_age": "2000000000"}
        first = Postgres(settings, binaries=postgres_binaries(request.param), data_directory=folder / "data")
        first.account.own(folder)
        folder.chmod(0o755)
        with first:
            account = first.account
        resetwal = postgres_folder(request.param) / "pg_resetwal"
        # Ids of one file of pg_xact; the file has to be there.
        segment = 1_900_000_000 // 2**20
        file = folder / "data" / "pg_xact" / f"{segment:04X}"
        file.write_bytes(bytes(256 * 1024))
        account.own(file)
        who = {} if account.uid is None else {"user": account.uid, "group": account.gid}
        subprocess.run(
            [resetwal, "-x", str(segment * 2**20 + 1000), folder / "data"],
            check=True,
            stdout=subprocess.DEVNULL,
            extra_groups=[] if who else None,
            **who,
        )
        with first.relocated(folder / "data", settings) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_ids_that_run_out_are_the_headline(old: Postgres):
    """1,900 million transactions old: critical, with what is left, and before everything else."""
    inspection = inspect(observe(old.dsn, duration_s=0.2, every_s=0.1))
    near = inspection.causes[0]

    assert ("WraparoundNear", "critical") == (near.code, near.severity)
    assert "transaction IDs" in near.title
    assert any("autovacuum is off" in piece.text for piece in near.evidence)
    assert pytest.approx(1.9e9, rel=0.001) == near.evidence[0].value


def test_the_time_that_ids_last_is_measured(old: Postgres):
    """500 transactions in the window: what is left lasts as long as it takes at that pace. Our own questions use none."""

    def work_instead(_: float) -> None:
        with psycopg.connect(old.dsn, autocommit=True) as connection:
            for _ in range(500):
                connection.execute("select pg_current_xact_id()")

    inspection = inspect(observe(old.dsn, duration_s=0.01, sleep=work_instead))
    near = inspection.causes[0]
    (age, left) = (next(e for e in near.evidence if e.kind == kind) for kind in ("age", "time left"))

    assert near.title.endswith(" at the present rate")
    assert pytest.approx((age.reference - age.value) / 500, rel=0.01) == left.value / (
        inspection.end_s - inspection.start_s
    )
