"""Loads that are killed, and servers that go away: afterwards every line is accounted for, and none is there twice."""

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import psutil
import pytest
from between import PASS, Between
from conftest import World
from records import claims, line
from servers import ROOT, command, put, query, wait_for

from claims_pipeline.errors import ClaimsError
from claims_pipeline.layout import record
from claims_pipeline.storage import Storage

# What is lost once in two runs is lost: no second chance.
pytestmark = pytest.mark.xdist_group("faults")
paths = pytest.mark.parametrize("path", ["new", "old"])
ROUNDS = 20
# A load of these tests takes seconds. One that takes so long waits for something that does not come.
STUCK_S = 60.0
ORGANISATIONS = ("A1001", "A1002", "A1003")


def deliver(world: World, organisation: str, month: str, seed: int, rows: int) -> tuple[int, int, Decimal]:
    """
    Write a delivery of two files with defects of each kind; return its lines, its rows and their sum.
    """
    dice, files, good, lines, total = random.Random(seed), [], 0, 0, Decimal(0)
    for n in range(2):
        start = 1_000_000 * (n + 1) + 10_000_000 * int(month[-2:])
        content, paid = claims(range(rows), start=start)
        length = len(content) // rows
        records = [content[at : at + length] for at in range(0, len(content), length)]
        bad = [
            line(record("part_a_claims"), cur_clm_uniq_id=str(start + rows + k), clm_from_dt="2023-13-01")
            for k in range(7)
        ]
        more = dice.sample(records, 5) + bad + [records[0][:99] + b"\n"]
        for one in more:
            records.insert(dice.randrange(1, len(records)), one)
        files.append((f"{month}-{n}", "part_a_claims", b"".join(records), {}))
        good, lines, total = good + rows, lines + len(records), total + paid
    put(world.folder, organisation, month, files)
    return lines, good, total


def assert_complete(
    world: World, organisation: str, expected: tuple[int, int, Decimal], *, deliveries: int = 1
) -> None:
    """
    Ledger, rows and quarantine agree with what was delivered, and no line is twice or nowhere.
    """
    lines, good, total = expected
    name = f"claims.part_a_claims_{organisation.lower()}"

    assert [(good, good, total)] == world.ask(
        f"SELECT count(*), count(DISTINCT cur_clm_uniq_id), sum(clm_pmt_amt) FROM {name}"
    )
    assert [(lines, good, lines - good, 10 * deliveries)] == world.ask(
        "SELECT sum(records), sum(rows), sum(quarantined), sum(duplicates) FROM claims.files WHERE organisation = %s",
        organisation,
    )
    # Every line number of every file, in exactly one place.
    assert [] == world.ask(
        f"""SELECT f.name FROM claims.files f WHERE f.organisation = '{organisation}' AND (
              SELECT array_agg(n ORDER BY n) FROM (
                SELECT line_number AS n FROM {name} t WHERE t.file_id = f.file_id
                UNION ALL SELECT line_number FROM claims.quarantine q WHERE q.file_id = f.file_id) l)
            IS DISTINCT FROM (SELECT array_agg(n) FROM generate_series(1, f.records) n)"""
    )
    assert [(0,)] == world.ask(
        f"SELECT count(*) FROM {name} t WHERE NOT EXISTS (SELECT FROM claims.files f WHERE f.file_id = t.file_id)"
    )


def test_a_pipeline_that_is_killed_at_any_time_loses_and_doubles_nothing(world: World):
    """
    SIGKILL to the transfer or the load, with all its programs, at a moment that the seed chooses; on both paths.
    """
    dice = random.Random(20_230_115)
    expected: dict[str, tuple[int, int, Decimal]] = dict.fromkeys(ORGANISATIONS, (0, 0, Decimal(0)))
    months = [f"2023-{number + 1:02}" for number in range(ROUNDS // 4)]
    length_s, killed = 0.0, 0
    for number in range(ROUNDS):
        month = months[number // 4]
        if number % 4 == 0:
            # New work, so that every round has something to interrupt.
            for seed, organisation in enumerate(ORGANISATIONS):
                added = deliver(world, organisation, month, 10 * number + seed, 2000)
                old = expected[organisation]
                expected[organisation] = (old[0] + added[0], old[1] + added[1], old[2] + added[2])
        if number == 0:
            begun = time.monotonic()
            command(world.settings, "transfer", "--organisation", ORGANISATIONS[0]).communicate()
            # How long a command takes undisturbed, here and now.
            length_s = time.monotonic() - begun
        words = ["transfer"]
        if number % 4 >= 2:
            world.run("transfer", "--month", month)
            path = dice.choice(["new", "old"])
            words = ["load", dice.choice(ORGANISATIONS), month, "--path", path]
        running = command(world.settings, *words)
        time.sleep(dice.random() * length_s)
        is_killed = running.poll() is None
        killed += is_killed
        # Too late this time: commands take less than was thought.
        length_s *= 1.0 if is_killed else 0.7
        for process in [*children(running.pid), running.pid]:
            kill(process)
        running.communicate()
    world.run("transfer")
    for organisation in ORGANISATIONS:
        for month in months:
            world.run("load", organisation, month)
    print(f"{killed} of {ROUNDS} were killed while they ran")

    assert killed >= ROUNDS // 3
    for organisation, wanted in expected.items():
        assert_complete(world, organisation, wanted, deliveries=len(months))


def children(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@paths
def test_a_database_that_is_killed_in_mid_copy_gets_every_row_once(world: World, path: str):
    """The load waits until it is back, and does it again."""
    expected = deliver(world, "A1001", "2023-01", 5, 20_000)
    world.run("transfer")
    host, _, port = world.settings["CLAIMS_S3_ENDPOINT"].removeprefix("http://").partition(":")
    # The server reads slowly, so that it is in the middle when it is killed; the worker does for the old path.
    with Between((host, int(port)), lambda _: ("slow", 4_000_000)) as between:
        if path == "new":
            world.ask("UPDATE aws_s3.settings SET endpoint = %s", f"http://{host}:{between.port}")
        running = command(world.settings, "load", "A1001", "2023-01", "--path", path)
        state = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE %s"
        pattern = "%table_import_from_s3%" if path == "new" else "COPY %staged_rows%"
        wait_for(
            "the copy",
            lambda: (
                query(world.servers.addresses["postgres"], state + " AND pid <> pg_backend_pid()", pattern) == [(1,)]
            ),
        )
        ((file,),) = query(world.servers.addresses["postgres"], "SELECT pg_read_file('postmaster.pid')")
        os.kill(int(file.split()[0]), signal.SIGKILL)
        output, error = running.communicate(timeout=120)

    assert 0 == running.returncode, error
    assert "the database does not answer" in error
    assert 2 == output.count("20,000 rows")
    assert_complete(world, "A1001", expected)


def limited(folder: str, limit_bytes: int, settings: dict[str, str], *words: str) -> subprocess.CompletedProcess:
    """
    Run the command with a limit on the length of files, which makes writing fail as a full disk does.
    """
    clean = {n: v for n, v in os.environ.items() if not n.startswith(("CLAIMS_", "AWS_"))}
    return subprocess.run(
        [sys.executable, "-m", "claims_pipeline", *words, "--disk", folder],
        env={**clean, "PYTHONPATH": str(ROOT / "src"), **settings},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes)),
        capture_output=True,
        text=True,
        check=False,
        timeout=STUCK_S,
    )


def test_a_full_disk_of_the_worker_is_one_sentence_and_harms_nothing(world: World, tmp_path):
    """The old path needs the disk; the new one does not notice."""
    expected = deliver(world, "A1001", "2023-01", 9, 3000)
    world.run("transfer")
    full = limited(str(tmp_path), 1_000_000, world.settings, "load", "A1001", "2023-01", "--path", "old")
    left, loaded = list(tmp_path.iterdir()), world.ask("SELECT count(*) FROM claims.files")
    fine = limited(str(tmp_path), 1_000, world.settings, "load", "A1001", "2023-01", "--path", "new")

    assert 2 == full.returncode
    assert ["error", "hint"] == [part.partition(":")[0] for part in full.stderr.splitlines()]
    assert "error: the worker's disk is full" in full.stderr
    assert ([], [(0,)]) == (left, loaded)
    assert 0 == fine.returncode, fine.stderr
    assert_complete(world, "A1001", expected)


def deliver_mostly_bad(world: World) -> None:
    """
    Write a delivery with 100 rows and 6,000 lines for the quarantine, which has four letters for each bad byte.

    Its quarantine has 10 MB, more than a part of an upload and more than the raw file.
    """
    bad = b"\x01" * record("part_a_claims").width + b"\n"
    content = claims(range(100))[0] + 6000 * bad
    put(world.folder, "A1001", "2023-01", [("one", "part_a_claims", content, {})])
    world.run("transfer")


@contextmanager
def formatter_ends_at_last() -> Iterator[None]:
    """
    End a formatter for which nobody reads, so that the test fails instead of waiting for ever.
    """

    def end() -> None:
        for pid in children(os.getpid()):
            if psutil.Process(pid).name() == "claims-format":
                kill(pid)

    timer = threading.Timer(STUCK_S, end)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def test_a_disk_that_is_full_of_quarantined_lines_ends_the_load(world: World, tmp_path):
    """
    The formatter has more lines than the disk takes, and does not wait for somebody to read them.
    """
    deliver_mostly_bad(world)
    words = ("load", "A1001", "2023-01", "--path", "old")
    full = limited(str(tmp_path), 4_000_000, world.settings, *words)
    said = world.run(*words)

    assert 2 == full.returncode
    assert ["error", "hint"] == [part.partition(":")[0] for part in full.stderr.splitlines()]
    assert "error: the worker's disk is full" in full.stderr
    assert "one: 100 rows, 6,000 lines quarantined (0 duplicates)\n" == said


def test_an_s3_that_refuses_quarantined_lines_ends_the_load(world: World, monkeypatch: pytest.MonkeyPatch):
    """The sentence is S3's, not that the formatter was ended because of it."""
    put_part = Storage.put_part

    def refuse(storage: Storage, key: str, *rest) -> str:
        if "quarantine" in key:
            raise ClaimsError("S3 refuses the quarantine", "Ask its owner.")
        return put_part(storage, key, *rest)

    deliver_mostly_bad(world)
    words = ("load", "A1001", "2023-01", "--path", "new")
    with monkeypatch.context() as patch, formatter_ends_at_last():
        patch.setattr(Storage, "put_part", refuse)
        refused = world.run(*words, status=2)
    said = world.run(*words)

    assert "error: S3 refuses the quarantine\nhint: Ask its owner.\n" == refused
    assert "one: 100 rows, 6,000 lines quarantined (0 duplicates)\n" == said


@paths
def test_a_file_of_another_kind_is_the_same_sentence_on_both_outputs(world: World, path: str):
    """Both readers come to their end at once, and the formatter says only once why it ended."""
    put(world.folder, "A1001", "2023-01", [("one", "part_d_events", claims(range(9))[0], {})])
    world.run("transfer")
    said = {world.run("load", "A1001", "2023-01", "--path", path, status=2).splitlines()[0] for _ in range(5)}

    assert ["error: claims-format: 'one' "] == [sentence[:28] for sentence in said]


@paths
def test_an_s3_that_fails_and_is_slow_is_survived(world: World, path: str):
    expected = deliver(world, "A1001", "2023-01", 11, 3000)
    world.run("transfer")
    host, _, port = world.settings["CLAIMS_S3_ENDPOINT"].removeprefix("http://").partition(":")
    plan = lambda n: [PASS, ("500", 0), ("slow", 4_000_000), ("cut", 500_000)][n % 4]  # noqa: E731
    with Between((host, int(port)), plan) as between:
        endpoint = f"http://{host}:{between.port}"
        world.ask("UPDATE aws_s3.settings SET endpoint = %s", endpoint)
        running = command(
            {**world.settings, "CLAIMS_S3_ENDPOINT": endpoint}, "load", "A1001", "2023-01", "--path", path
        )
        _, error = running.communicate(timeout=120)

    assert 0 == running.returncode, error
    assert 4 < between.count
    assert_complete(world, "A1001", expected)


@paths
def test_an_object_that_was_cut_in_s3_loads_nothing(world: World, path: str):
    """Somebody replaced it after the transfer."""
    deliver(world, "A1001", "2023-01", 13, 100)
    world.run("transfer")
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=world.settings["CLAIMS_S3_ENDPOINT"],
        aws_access_key_id=world.settings["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=world.settings["AWS_SECRET_ACCESS_KEY"],
        region_name="us-east-1",
    )
    place = {"Bucket": world.settings["CLAIMS_S3_BUCKET"], "Key": "raw/A1001/2023-01/2023-01-0"}
    content = client.get_object(**place)["Body"].read()
    client.put_object(**place, Body=content[:20_000])
    running = command(world.settings, "load", "A1001", "2023-01", "--path", path)
    _, error = running.communicate(timeout=120)

    assert 2 == running.returncode
    assert error.startswith("error: ")
    assert [(0, 0)] == world.ask(
        "SELECT (SELECT count(*) FROM claims.files), (SELECT count(*) FROM claims.part_a_claims)"
    )
