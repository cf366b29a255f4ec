"""SFTP to S3: whole files only, once, over connections that break, and in bounded memory."""

import hashlib
import os
import random
import re
import signal
import time
from pathlib import Path

import pytest
from between import PASS, Between
from conftest import World
from servers import command, put, wait_for

from claims_pipeline.settings import settings_of
from claims_pipeline.storage import PART_BYTES, Storage

# What is lost once in two runs is lost: no second chance.
pytestmark = pytest.mark.xdist_group("servers")
LARGE = random.Random(1).randbytes(2 * PART_BYTES + 12_345)


@pytest.fixture
def store(bare: World, monkeypatch: pytest.MonkeyPatch) -> Storage:
    for name, value in bare.settings.items():
        monkeypatch.setenv(name, value)
    return Storage(settings_of())


def deliver(world: World, *contents: bytes, **more: object) -> None:
    files = [(f"file{n}", "part_a_claims", content, dict(more)) for n, content in enumerate(contents)]
    put(world.folder, "A1001", "2023-01", files)


def between_sftp(world: World, plan) -> Between:
    host, _, port = world.settings["CLAIMS_SFTP_URL"].rpartition("@")[2].partition("/")[0].partition(":")
    return Between((host, int(port)), plan)


def through(world: World, between: Between) -> dict[str, str]:
    user, _, rest = world.settings["CLAIMS_SFTP_URL"].rpartition("@")
    folder = rest.partition("/")[2]
    return {**world.settings, "CLAIMS_SFTP_URL": f"{user}@127.0.0.1:{between.port}/{folder}"}


def test_files_arrive_whole_and_the_manifest_last(bare: World, store: Storage):
    deliver(bare, LARGE, b"", b"small\n")
    bare.run("transfer")
    keys = set(store.keys("raw/"))

    assert {f"raw/A1001/2023-01/{name}" for name in ("file0", "file1", "file2", "manifest.json")} == keys
    assert hashlib.sha256(LARGE).hexdigest() == store.sha256("raw/A1001/2023-01/file0")
    assert b"small\n" == store.get("raw/A1001/2023-01/file2")
    assert (bare.folder / "A1001/2023-01/manifest.json").read_bytes() == store.get("raw/A1001/2023-01/manifest.json")


def test_a_delivery_without_a_manifest_is_not_touched(bare: World, store: Storage):
    deliver(bare, b"early\n")
    (bare.folder / "A1001/2023-01/manifest.json").unlink()
    said = bare.run("transfer")

    assert "no complete delivery is there\n" == said
    assert [] == list(store.keys(""))


def test_a_second_run_reads_nothing(bare: World):
    deliver(bare, b"once\n")
    bare.run("transfer")

    assert "A1001/2023-01: received before, nothing to do\n" == bare.run("transfer")


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda path: path.write_bytes(LARGE[:-1]), "in the manifest"),
        (lambda path: path.write_bytes(LARGE[:-1] + b"x"), "has not the SHA-256 of the manifest"),
        (lambda path: path.unlink(), "is in a manifest, and not on"),
    ],
    ids=["truncated", "changed", "missing"],
)
def test_a_file_that_is_not_the_manifests_never_appears(bare: World, store: Storage, harm, sentence: str):
    """Nor does the manifest, which would call the delivery complete; the other file does."""
    deliver(bare, LARGE, b"fine\n")
    harm(bare.folder / "A1001/2023-01/file0")
    said = bare.run("transfer", status=2)

    assert sentence in said
    assert ["raw/A1001/2023-01/file1"] == list(store.keys("raw/"))


def test_a_transfer_survives_connections_that_break_in_mid_file(bare: World, store: Storage):
    """The first two break after 3 and 9 MB."""
    deliver(bare, LARGE)
    plans = {1: ("cut", 3_000_000), 2: ("cut", 9_000_000)}
    with between_sftp(bare, lambda n: plans.get(n, PASS)) as between:
        running = command(through(bare, between), "transfer")
        said = running.communicate(timeout=120)

    assert 0 == running.returncode, said
    assert 3 <= between.count
    assert hashlib.sha256(LARGE).hexdigest() == store.sha256("raw/A1001/2023-01/file0")


def test_a_transfer_that_was_killed_goes_on_with_the_parts_that_are_missing(bare: World, store: Storage):
    deliver(bare, LARGE)
    key = "raw/A1001/2023-01/file0"

    def has_part() -> bool:
        return any(store.parts(key, upload) for upload in store.uploads(key))

    store.prepare()
    with between_sftp(bare, lambda _: ("slow", 8_000_000)) as between:
        running = command(through(bare, between), "transfer")
        wait_for("the first part", has_part)
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
    was_there = store.head(key)
    said = bare.run("transfer")
    read_bytes = int(said.rpartition("complete, ")[2].partition(" ")[0].replace(",", ""))

    assert was_there is None
    assert 0 < read_bytes < len(LARGE)
    assert hashlib.sha256(LARGE).hexdigest() == store.sha256(key)
    assert [] == store.uploads(key)


def test_parts_of_a_file_that_was_replaced_meanwhile_do_not_survive(bare: World, store: Storage):
    """The mixture is refused, and the next run begins anew."""
    deliver(bare, LARGE)
    key = "raw/A1001/2023-01/file0"
    store.prepare()
    upload = store.begin(key, hashlib.sha256(LARGE).hexdigest())
    store.put_part(key, upload, 1, b"x" * PART_BYTES)
    refused = bare.run("transfer", status=2)
    was_there = store.head(key)
    bare.run("transfer")

    assert "has not the SHA-256" in refused
    assert was_there is None
    assert hashlib.sha256(LARGE).hexdigest() == store.sha256(key)


def test_an_s3_that_fails_and_is_slow_gets_the_files_nevertheless(bare: World, store: Storage):
    deliver(bare, LARGE)
    host, _, port = bare.settings["CLAIMS_S3_ENDPOINT"].removeprefix("http://").partition(":")
    plans = {1: ("500", 0), 2: ("500", 0), 3: ("cut", 700)}
    with Between((host, int(port)), lambda n: plans.get(n, ("slow", 200_000))) as between:
        settings = {**bare.settings, "CLAIMS_S3_ENDPOINT": f"http://{host}:{between.port}"}
        running = command(settings, "transfer")
        said = running.communicate(timeout=120)

    assert 0 == running.returncode, said
    assert 4 <= between.count
    assert hashlib.sha256(LARGE).hexdigest() == store.sha256("raw/A1001/2023-01/file0")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"CLAIMS_SFTP_URL": "sftp://lab@127.0.0.1:1/"}, "the SFTP server 127.0.0.1:1 does not answer"),
        ({"CLAIMS_S3_ENDPOINT": "http://127.0.0.1:1"}, "S3 at http://127.0.0.1:1 does not answer"),
        ({"CLAIMS_SFTP_KEY": ""}, "CLAIMS_SFTP_KEY is not set"),
        ({"CLAIMS_SFTP_KEY": __file__}, "is no private key"),
        ({"CLAIMS_SFTP_HOST_KEY": "nonsense"}, "CLAIMS_SFTP_HOST_KEY is no public key"),
        ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "refuses"),
    ],
)
def test_what_is_away_or_wrong_is_one_sentence(bare: World, change: dict[str, str], sentence: str):
    deliver(bare, b"x\n")
    running = command({**bare.settings, **change}, "transfer")
    _, error = running.communicate(timeout=120)

    assert 2 == running.returncode
    assert sentence in error
    assert ["error", "hint"] == [line.partition(":")[0] for line in error.splitlines()]


def test_another_server_than_the_pinned_one_gets_nothing(bare: World):
    import asyncssh

    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
    running = command({**bare.settings, "CLAIMS_SFTP_HOST_KEY": other}, "transfer")
    _, error = running.communicate(timeout=120)

    assert 2 == running.returncode
    assert "is not the one whose key is in CLAIMS_SFTP_HOST_KEY" in error


def test_memory_does_not_grow_with_the_file(bare: World):
    """
    Three files at the same time, of 168 MiB together, need less than 112 MiB more than one small file does.
    """

    def peak_kib(settings: dict[str, str]) -> int:
        # Not ru_maxrss: it begins with the memory of the process that started it.
        running = command(settings, "transfer")
        peak = 0
        while running.poll() is None:
            status = Path(f"/proc/{running.pid}/status").read_text()
            peak = max([peak, *(int(found) for found in re.findall(r"VmHWM:\s+(\d+)", status))])
            time.sleep(0.01)
        running.communicate()
        assert 0 == running.returncode
        return peak

    deliver(bare, b"small\n")
    small = peak_kib(bare.settings)
    contents = [random.Random(n).randbytes(56 * 1024 * 1024) for n in range(3)]
    put(bare.folder, "A1002", "2023-01", [(f"f{n}", "part_a_claims", c, {}) for n, c in enumerate(contents)])
    large = peak_kib(bare.settings)
    print(f"{small / 1024:.0f} MiB for a small file, {large / 1024:.0f} MiB for three large ones")

    assert large - small < 112 * 1024
