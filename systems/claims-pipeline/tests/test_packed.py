"""aws_s3 for plain PostgreSQL: objects that are stored as gzip."""

import gzip
import re
import subprocess
import time
from pathlib import Path

import psycopg
import pytest
from between import PASS, Between
from conftest import World
from test_extension import load, rows

from claims_pipeline.programs import fetch_command, with_keys
from claims_pipeline.settings import settings_of
from claims_pipeline.storage import Storage

pytestmark = pytest.mark.xdist_group("servers")
ROWS = rows(40_000)
COUNTS = "SELECT count(*), count(DISTINCT n), max(n) FROM t"


def put(store: Storage, content: bytes, encoding: str) -> None:
    store.client.put_object(
        Bucket=store.bucket, Key="k", Body=content, ContentEncoding=encoding, ContentType="text/csv"
    )


@pytest.mark.parametrize("encoding", ["gzip", "aws-chunked,gzip"])
def test_an_object_whose_metadata_say_gzip_is_unpacked(world: World, store: Storage, encoding: str):
    """
    Of one member or several, and over connections that break; the size is that of the object, as on RDS.
    """
    packed = gzip.compress(ROWS[:500_000], 6) + gzip.compress(ROWS[500_000:], 6)
    put(store, packed, encoding)
    host, _, port = world.settings["CLAIMS_S3_ENDPOINT"].removeprefix("http://").partition(":")
    world.ask("CREATE TABLE t (n bigint, what text)")
    plans = {2: ("cut", 30_000), 3: ("cut", 60_000)}
    with Between((host, int(port)), lambda n: plans.get(n, PASS)) as between:
        world.ask("UPDATE aws_s3.settings SET endpoint = %s", f"http://{host}:{between.port}")
        said = load(world, "t", "k")

    assert f'40000 rows imported into relation "t" from file k of {len(packed)} bytes' == said
    assert [(40_000, 40_000, 39_999)] == world.ask(COUNTS)
    assert between.count > 3


def test_the_name_of_an_object_says_nothing(world: World, store: Storage):
    """Only the metadata do, as on RDS."""
    store.put("k.gz", b"1,x\n")
    world.ask("CREATE TABLE t (n bigint, what text)")
    load(world, "t", "k.gz")

    assert [(1, 1, 1)] == world.ask(COUNTS)


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip"])
def test_another_encoding_is_refused_with_a_sentence(world: World, store: Storage, encoding: str):
    put(store, b"1,x\n", encoding)
    world.ask("CREATE TABLE t (n bigint, what text)")
    word = encoding.rpartition(" ")[2]
    with pytest.raises(
        psycopg.errors.ExternalRoutineException, match=f"has the content encoding '{word}', and only gzip is supported"
    ):
        load(world, "t", "k")


@pytest.mark.parametrize("content", [gzip.compress(ROWS)[:-4], ROWS, b""], ids=["cut", "plain", ""])
def test_an_object_that_is_no_whole_gzip_file_imports_nothing(world: World, store: Storage, content: bytes):
    put(store, content, "gzip")
    world.ask("CREATE TABLE t (n bigint, what text)")
    with pytest.raises(
        psycopg.errors.ExternalRoutineException, match=r"unable to import s3://.*/k: it is no whole gzip file"
    ):
        load(world, "t", "k")

    assert [(0,)] == world.ask("SELECT count(*) FROM t")


def test_memory_does_not_grow_with_what_is_unpacked(world: World, store: Storage, tmp_path: Path):
    """100 MB that are stored in 100 KB."""
    put(store, gzip.compress(bytes(100_000_000), 9), "gzip")
    words = fetch_command(settings_of(), "k", "")
    words = [word for word in words if word not in ("--sha256", "")]
    peak_kib = 0
    with (tmp_path / "unpacked").open("wb") as to:
        running = subprocess.Popen(words, stdout=to, env=with_keys())
        while running.poll() is None:
            status = Path(f"/proc/{running.pid}/status").read_text()
            peak_kib = max([peak_kib, *map(int, re.findall(r"VmHWM:\s+(\d+)", status))])
            time.sleep(0.01)

    assert 0 == running.returncode
    assert 100_000_000 == (tmp_path / "unpacked").stat().st_size
    assert 0 < peak_kib < 32 * 1024
