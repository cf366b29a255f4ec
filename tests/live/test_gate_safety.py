"""
What a program may rely on behind a gate: as on the disk itself, and after kill -9.

Tests with the fixture `place` have one body and two arms: a folder on the disk, and a mount.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.gate_exerciser import FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE, PAGE, Exerciser, allocate, dirty_pages, opened
from live.gate_ledger import Ledger
from live.gate_machine import T3, fill, quick_folder
from live.gate_programs import APPENDER, FILLER, OPENER, READER, WRITER
from plimsoll.model.ceiling import Family
from plimsoll.units import GIB, MIB
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.place import is_gate_at

PATIENCE_S = 60
SETUP = GateSetup(instance=T3, clock=60.0, memory_bytes=32 * MIB)


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    """db.t3.xlarge at credit clock 60 with 32 MiB of page cache, before a disk that is never slower."""
    with quick_folder() as folder, Gate(SETUP, folder / "data", folder / "disk") as mounted:
        yield mounted


@pytest.fixture(params=["disk", "gate"])
def place(request: pytest.FixtureRequest, gate: Gate) -> Iterator[Path]:
    """A fresh folder: beside the mount on the same disk, or in the mount."""
    parent = gate.mount if request.param == "gate" else gate.backing.parent
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        yield Path(folder)


def test_no_acknowledged_commit_is_lost_by_kill_9():
    """PostgreSQL under load, killed with the gate under it and with it: every commit is there once."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir="/var/tmp") as folder:
        ledger = Ledger(Path(folder), SETUP)
        commits = [ledger.crash(victim, 0.7) for victim in ("gate", "both")]
        ledger.settle()

    assert min(commits) >= 10, commits


def test_random_operations_leave_what_a_file_in_memory_would_have(gate: Gate):
    """Reads, writes, maps, cuts, holes, direct I/O, flushes and reopening, compared at every read."""
    dice = random.Random(18)
    with tempfile.TemporaryDirectory(dir=gate.mount) as folder:
        path = Path(folder) / "file"
        model = Exerciser(path, dice)
        for _ in range(3000):
            model.step()
        model.close()

        assert bytes(model.content) == path.read_bytes()
        assert bytes(model.content) == (gate.backing / Path(folder).name / "file").read_bytes()


def test_names_links_and_files_without_a_name(place: Path):
    """A file lives as long as a name or an opener; renaming over one changes nothing for its readers."""
    (place / "one").write_text("first")
    (place / "two").hardlink_to(place / "one")
    assert (2, 2) == ((place / "one").stat().st_nlink, (place / "two").stat().st_nlink)
    (place / "other").write_text("second")
    with (place / "one").open() as old:
        (place / "other").rename(place / "one")
        assert "second" == (place / "one").read_text()
        assert 1 == (place / "two").stat().st_nlink
        (place / "two").unlink()
        assert "first" == old.read()
        assert 0 == os.fstat(old.fileno()).st_nlink
    with (place / "one").open("r+") as file:
        (place / "one").unlink()
        file.write("third!")
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        assert "third!" == file.read()

    assert [] == list(place.iterdir())


def test_a_shared_map_is_one_memory_and_reaches_the_disk(place: Path, gate: Gate):
    """What one maps another reads, through a map, a read and a direct read; a flush brings it to disk."""
    path = place / "map"
    path.write_bytes(bytes(4 * PAGE))
    with (
        opened(path, os.O_RDWR) as one,
        opened(path, os.O_RDWR) as two,
        opened(path, os.O_RDWR | os.O_DIRECT) as direct,
        mmap.mmap(one, 4 * PAGE) as first,
        mmap.mmap(two, 4 * PAGE) as second,
        mmap.mmap(-1, PAGE) as page,
    ):
        first[PAGE : PAGE + 5] = b"hello"
        assert b"hello" == second[PAGE : PAGE + 5]
        assert b"hello" == os.pread(two, 5, PAGE)
        os.preadv(direct, [page], PAGE)
        assert b"hello" == page[:5]
        page[:5] = b"again"
        os.pwrite(direct, page, PAGE)
        assert b"again" == first[PAGE : PAGE + 5]
        first[0:3] = b"end"
        first.flush()
    if place.is_relative_to(gate.mount):
        behind = (gate.backing / path.relative_to(gate.mount)).read_bytes()
        assert (b"end", b"again") == (behind[:3], behind[PAGE : PAGE + 5])


def test_space_is_reserved_and_given_back(place: Path):
    """Reserving grows the file or keeps its size, as asked; a punched hole reads as zeros and is free."""
    with opened(place / "file", os.O_RDWR | os.O_CREAT) as handle:
        allocate(handle, FALLOC_KEEP_SIZE, 0, MIB)
        assert 0 == os.fstat(handle).st_size
        os.posix_fallocate(handle, 0, MIB)
        assert MIB == os.fstat(handle).st_size
        os.pwrite(handle, b"x" * MIB, 0)
        os.fsync(handle)
        before = os.fstat(handle).st_blocks
        allocate(handle, FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE, 64 * PAGE, 128 * PAGE)
        assert bytes(128 * PAGE) == os.pread(handle, 128 * PAGE, 64 * PAGE)
        assert b"x" == os.pread(handle, 1, 192 * PAGE)
        os.fsync(handle)
        assert 128 * PAGE == 512 * (before - os.fstat(handle).st_blocks)


def test_a_sparse_file_beyond_4_gib_keeps_its_holes(place: Path):
    """Data at 5 GiB and 1 TiB is found there, by seeking too, and what lies between takes no space."""
    with opened(place / "sparse", os.O_RDWR | os.O_CREAT) as handle:
        for at in (5 * GIB, 1024 * GIB):
            os.pwrite(handle, b"far", at)
        assert 5 * GIB == os.lseek(handle, 0, os.SEEK_DATA)
        assert 5 * GIB + PAGE == os.lseek(handle, 5 * GIB, os.SEEK_HOLE)
        assert 1024 * GIB == os.lseek(handle, 6 * GIB, os.SEEK_DATA)
        assert b"far" == os.pread(handle, 99, 1024 * GIB)
        assert bytes(10) == os.pread(handle, 10, 3 * GIB)
        os.fsync(handle)
        assert os.fstat(handle).st_blocks * 512 < MIB
        os.ftruncate(handle, 5 * GIB + 2)
        assert b"fa" == os.pread(handle, 99, 5 * GIB)


@pytest.mark.parametrize("flags", [0, os.O_DIRECT], ids=["cached", "direct"])
@pytest.mark.parametrize("way", ["fsync", "O_DSYNC", "RWF_DSYNC"])
def test_what_was_acknowledged_as_synchronous_is_on_the_real_disk(way: str, flags: int):
    """Whichever of the three ways a program asks in, no page of the backing file is dirty afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir="/var/tmp") as name,
        Gate(SETUP, Path(name) / "data", Path(name) / "disk") as gate,
        mmap.mmap(-1, 16 * PAGE) as page,
    ):
        flags |= os.O_RDWR | os.O_CREAT | (os.O_DSYNC if way == "O_DSYNC" else 0)
        with opened(gate.mount / "file", flags) as handle:
            os.pwritev(handle, [page], 0)
            if way == "fsync":
                os.fsync(handle)
            if way == "RWF_DSYNC":
                os.pwritev(handle, [page], 0, os.RWF_DSYNC)
            assert 0 == dirty_pages(gate.backing / "file")
        with (gate.backing / "other").open("wb", buffering=0) as other:
            other.write(bytes(16 * PAGE))
            # The measure itself; a kernel before 6.5 cannot tell.
            assert dirty_pages(gate.backing / "other") in {16, 0}


def test_two_processes_append_without_overwriting_each_other(place: Path):
    """2,000 lines of two processes, each whole, each once."""
    path = place / "log"
    appenders = [subprocess.Popen([sys.executable, "-c", APPENDER, str(path), name]) for name in "ab"]
    assert [0, 0] == [appender.wait(PATIENCE_S) for appender in appenders]
    lines = path.read_text().splitlines()
    found = {tuple(line.split(" ")[:2]) for line in lines}

    assert {64 - 1} == {len(line) for line in lines}
    assert {(name, str(i)) for name in "ab" for i in range(1000)} == found
    assert 2000 == len(lines)


def test_eight_writers_at_once(place: Path):
    """Each has a file of its own and every eighth block of a shared one; all of it is there."""

    def work(index: int) -> None:
        data = bytes([65 + index]) * PAGE
        with (
            opened(place / f"own-{index}", os.O_RDWR | os.O_CREAT) as own,
            opened(place / "shared", os.O_RDWR | os.O_CREAT) as shared,
        ):
            for block in range(100):
                os.pwrite(own, data, block * PAGE)
                os.pwrite(shared, data, (block * 8 + index) * PAGE)
                if block % 25 == 0:
                    os.fsync(shared)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    expected = b"".join(bytes([65 + i]) * PAGE for i in range(8)) * 100

    assert expected == (place / "shared").read_bytes()
    for index in range(8):
        assert bytes([65 + index]) * PAGE * 100 == (place / f"own-{index}").read_bytes()


def test_locks_hold_between_openers(place: Path):
    """A whole-file lock and a lock on a range each keep the second one out until they are let go."""
    with opened(place / "lock", os.O_RDWR | os.O_CREAT) as one, opened(place / "lock", os.O_RDWR) as two:
        fcntl.flock(one, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(one, fcntl.LOCK_UN)
        fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_ten_thousand_files_are_open_at_once(gate: Gate):
    """
    Four processes hold 1,250 files each, every one opened twice; each has its own content, and the
    daemon stays small.
    """
    with tempfile.TemporaryDirectory(dir=gate.mount) as folder, contextlib.ExitStack() as running:
        openers = [
            running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", OPENER, f"{folder}/{name}", "1250"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for name in "abcd"
        ]
        assert ["open\n"] * 4 == [opener.stdout.readline() for opener in openers]
        held = len(list(Path(f"/proc/{gate.daemon_pid}/fd").iterdir()))
        texts = [opener.communicate("\n", timeout=PATIENCE_S)[0] for opener in openers]

    assert held > 10_000
    assert ["1250\n"] * 4 == texts
    pages = int(Path(f"/proc/{gate.daemon_pid}/statm").read_text().split()[1])
    assert pages * os.sysconf("SC_PAGE_SIZE") < 64 * MIB


def test_signals_do_not_break_requests_that_wait(gate: Gate):
    """A signal each millisecond while the limit makes reads wait: every byte arrives."""
    fill(gate.backing, size_mib=16).rename(gate.backing / "signals")
    path, rung = gate.mount / "signals", []
    gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 0.0)
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        with path.open("rb", buffering=0) as file:
            found = b"".join(iter(lambda: file.read(64 * 1024), b""))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 1.0)

    assert (gate.backing / "signals").read_bytes() == found
    assert len(rung) > 10


def test_a_process_killed_while_it_waits_ends_and_leaves_nothing(gate: Gate):
    """Its read is answered or dropped; it is gone within seconds, and the mount serves on."""
    path = fill(gate.backing, size_mib=16).rename(gate.backing / "killed")
    gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 0.0)
    readers = [
        subprocess.Popen([sys.executable, "-c", READER, str(gate.mount / "killed")], stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    for reader in readers:
        assert b"reading\n" == reader.stdout.readline()
    for reader in readers:
        reader.kill()
    begun = time.monotonic()
    for reader in readers:
        reader.communicate(timeout=PATIENCE_S)
    assert {-signal.SIGKILL} == {reader.returncode for reader in readers}
    assert time.monotonic() - begun < 10
    gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 1.0)

    assert path.read_bytes()[:MIB] == (gate.mount / "killed").read_bytes()[:MIB]


def test_a_full_disk_is_told_and_survived():
    """ENOSPC reaches the writer, through the cache and past it; what was acknowledged stays."""
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "-r", "--mount"]
    with quick_folder() as folder:
        (folder / "data").mkdir()
        done = subprocess.run(
            [*unshare, sys.executable, "-c", FILLER, str(folder)],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    assert (0, "filled\n") == (done.returncode, done.stdout), done.stderr


def test_unmounting_a_busy_mount_writes_everything_out():
    """A program that holds a file open neither keeps the mount nor loses what it had written."""
    with quick_folder() as folder, Gate(SETUP, folder / "data", folder / "disk") as gate:
        handle = os.open(gate.mount / "busy", os.O_RDWR | os.O_CREAT)
        os.pwrite(handle, b"b" * MIB, 0)
        gate.stop()
        assert not is_gate_at(folder / "disk")
        with pytest.raises(OSError) as raised:  # noqa: PT012 - whichever of the two comes first
            os.pwrite(handle, b"late", 0)
            os.fsync(handle)
        with contextlib.suppress(OSError):
            os.close(handle)

        assert b"b" * MIB == (folder / "data" / "busy").read_bytes()
        assert raised.value.errno in {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO}


@pytest.mark.parametrize("is_killed", [True, False], ids=["kill -9", "stop"])
def test_nobody_is_left_waiting_when_it_ends_under_load(is_killed: bool):
    """Its page cache is full and being dropped while four write: each of them gets an error at once."""
    with quick_folder() as folder, contextlib.ExitStack() as running:
        gate = running.enter_context(Gate(SETUP, folder / "data", folder / "disk"))
        writers = [
            running.enter_context(
                subprocess.Popen([sys.executable, "-c", WRITER, str(gate.mount / str(index))], stdout=subprocess.PIPE)
            )
            for index in range(4)
        ]
        assert [b"full\n"] * 4 == [writer.stdout.readline() for writer in writers]
        begun = time.monotonic()
        if is_killed:
            os.kill(gate.daemon_pid, signal.SIGKILL)
            assert gate.wait(PATIENCE_S)
        else:
            gate.stop()
        texts = [writer.communicate(timeout=PATIENCE_S)[0] for writer in writers]

        assert time.monotonic() - begun < 15
        assert set(texts) <= {b"%d\n" % n for n in (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO)}


def test_a_dead_mount_with_people_in_it_makes_room_for_the_next():
    """After kill -9 a program still stands in the dead mount; it gets errors, and the next one works."""
    with quick_folder() as folder:
        with Gate(SETUP, folder / "data", folder / "disk") as gate:
            (gate.mount / "kept").write_bytes(b"kept")
            inside = os.open(gate.mount, os.O_RDONLY)
            os.kill(gate.daemon_pid, signal.SIGKILL)
            assert gate.wait(PATIENCE_S)
            with Gate(SETUP, folder / "data", folder / "disk") as again:
                assert b"kept" == (again.mount / "kept").read_bytes()
                with pytest.raises(OSError, match="not connected"):
                    os.listdir(inside)  # noqa: PTH208 - a Path has no descriptor
                with contextlib.suppress(OSError):
                    os.close(inside)

        assert not is_gate_at(folder / "disk")
