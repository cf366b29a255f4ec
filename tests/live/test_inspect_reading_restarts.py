"""A server that crashes while it is read, and one that only follows another."""

import os
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest

from live.installed import postgres_binaries
from plimsoll.lab.postgres import Postgres
from plimsoll.sources.database.read import observe

pytestmark = pytest.mark.live

SETTINGS = {"fsync": "off", "autovacuum": "off"}
TABLE = (
    "create table document as select i, repeat('x', 100) as body from generate_series(1, 5000) i"
)


@pytest.fixture(params=["the wheel's", "Debian's"])
def binaries(request: pytest.FixtureRequest) -> Path | None:
    """
    Programs of two versions; None for the wheel's.
    """
    return None if request.param == "the wheel's" else postgres_binaries()


def test_after_a_crash_the_window_begins_again(binaries: Path | None):
    """
    A killed session makes the server recover and forget its counters: none of them goes back.
    """
    now_s = 0.0
    sleeps = 0

    with Postgres(SETTINGS, binaries=binaries) as server:
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            admin.execute(TABLE)

        def sleep(seconds: float) -> None:
            nonlocal now_s, sleeps
            now_s += seconds
            sleeps += 1
            if sleeps == 2:
                with psycopg.connect(server.dsn, autocommit=True) as victim:
                    os.kill(victim.info.backend_pid, signal.SIGKILL)
            elif sleeps > 2:
                wait_for_recovery(server)

        found = observe(server.dsn, duration_s=6, clock=lambda: now_s, sleep=sleep)

    missing = dict(found.missing)
    before, after = found.first.counters, found.last.counters
    assert "forgotten" in missing["window"]
    assert "did not come" in missing["glances"]
    assert 0 <= after.committed - before.committed < 100
    assert before.blocks_hit <= after.blocks_hit
    assert found.first.time_s < found.last.time_s
    assert len(found.glances) >= 4


def wait_for_recovery(server: Postgres) -> None:
    """Until it takes connections again."""
    for _ in range(400):
        try:
            psycopg.connect(server.dsn, connect_timeout=2).close()
        except psycopg.OperationalError:
            continue
        return
    raise AssertionError("the server did not come back")


def test_a_standby_is_read_like_any_other_and_says_that_it_is_one():
    """
    Its tables are those of the primary, and nothing is written to read them.
    """
    with Postgres(SETTINGS) as primary:
        with psycopg.connect(primary.dsn, autocommit=True) as admin:
            admin.execute(TABLE)
        data = Path(primary.data_directory).parent / "standby"
        subprocess.run(
            [str(primary.program("pg_basebackup")), "-D", str(data), "-X", "stream", "-c", "fast"],
            env={**os.environ, **primary.environment},
            check=True,
        )
        (data / "standby.signal").touch()
        for path in (data, *data.rglob("*")):
            primary.account.own(path)
        standby = primary.elsewhere(
            data, {**SETTINGS, "primary_conninfo": primary.dsn.replace("'", "")}
        )
        with standby:
            found = observe(
                standby.dsn, duration_s=20, clock=iter(range(10**6)).__next__, sleep=lambda _: None
            )

    assert found.server.is_standby
    assert "public.document" in [one.name for one in found.last.relations]
    assert len(found.glances) >= 1
    assert not {"relations", "sizes", "wal", "counters"} & dict(found.missing).keys()
