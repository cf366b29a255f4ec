"""
Block mode on a real disk: ext4 on a loop device over the image that the gate serves, for root.

The image is read past the page cache below where that has nothing, and written through it.
"""

import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from live.gate_exerciser import PAGE, dirty_pages, opened
from live.gate_machine import fill, rate_of
from live.gate_programs import KEEPER
from plimsoll.errors import UsageError
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import KIB, MIB
from plimsoll_lab.gate.block import IMAGE
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.gate import Gate
from simulated_sweeps import stage

PATIENCE_S = 60
# Less than any disk has: what is tested is the gate.
THROUGHPUT = 30e6
IOPS = 400.0
SETUP = GateSetup(
    instance=Instance(storage=Storage(kind="gp3", size_gib=1)),
    stages=(stage("volume_throughput", "bytes", THROUGHPUT), stage("volume_iops", "ops", IOPS, unit_bytes=256.0 * KIB)),
    limits_name="a test",
    clock=240.0,
    mode="block",
)
UNLIMITED = replace(SETUP, is_limited=False)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder on the disk, not in memory: there nothing lies past the cache."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir="/var/tmp") as name:
        yield Path(name)


def gate_at(folder: Path, setup: GateSetup = SETUP) -> Gate:
    return Gate(setup, folder / "data", folder / "disk")


def is_refused(folder: Path) -> bool:
    """Whether we are not root, and therefore refused in so many words."""
    if os.geteuid() == 0:
        return False
    with pytest.raises(UsageError, match="which only root may"), gate_at(folder):
        pass
    return True


def ways_past_the_cache(gate: Gate) -> int:
    """Descriptors by which the daemon has its image open past the page cache below."""
    process, found = Path(f"/proc/{gate.daemon_pid}"), 0
    for entry in (process / "fd").iterdir():
        if entry.is_symlink() and str(entry.readlink()).endswith(f"/{IMAGE}"):
            words = (process / "fdinfo" / entry.name).read_text().split()
            found += bool(int(words[words.index("flags:") + 1], 8) & os.O_DIRECT)
    return found


def forget(gate: Gate, handle: int) -> None:
    """Bring what was written to the disk, and drop it from the page cache below."""
    os.fsync(handle)
    with opened(gate.backing / IMAGE, os.O_RDONLY) as image:
        os.posix_fadvise(image, 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.realtime
def test_block_mode_keeps_the_rates_of_the_limits(folder: Path):
    """Large requests get the bytes of the limit and small ones its operations, reads and writes alike."""
    if is_refused(folder):
        return
    with gate_at(folder) as gate:
        table = fill(gate.mount, size_mib=32)
        with opened(table, os.O_RDONLY) as handle:
            forget(gate, handle)
        assert 0 == ways_past_the_cache(gate)
        found = {
            (size, is_write): rate_of(gate, table, is_write=is_write, size=size)
            for size in (MIB, 16 * KIB)
            for is_write in (False, True)
        }

        assert ways_past_the_cache(gate)
    for (size, _), rate in found.items():
        assert rate.is_of(THROUGHPUT if size == MIB else IOPS * size), found


def test_what_was_just_written_is_what_is_read_past_the_cache(folder: Path):
    """Writes lie in the page cache below while reads go past it: each read has the newest of both."""
    if is_refused(folder):
        return
    dice, blocks = random.Random(18), 256
    written = [0] * blocks
    with gate_at(folder, UNLIMITED) as gate:
        table = gate.mount / "table"
        table.write_bytes(bytes(blocks * PAGE))
        with opened(table, os.O_RDWR | os.O_DIRECT) as direct, mmap.mmap(-1, PAGE) as page, mmap.mmap(-1, PAGE) as back:
            forget(gate, direct)
            for number in range(1, 3000):
                at = dice.randrange(blocks)
                if dice.random() < 0.5:
                    page[:] = number.to_bytes(8, "little") * (PAGE // 8)
                    os.pwritev(direct, [page], at * PAGE)
                    written[at] = number
                os.preadv(direct, [back], at * PAGE)
                assert written[at].to_bytes(8, "little") * (PAGE // 8) == back[:], (number, at)
                if number % 300 == 0:
                    forget(gate, direct)
        assert ways_past_the_cache(gate)


@pytest.mark.parametrize("flags", [0, os.O_DIRECT], ids=["cached", "direct"])
def test_kill_9_loses_nothing_that_fsync_acknowledged(folder: Path, flags: int):
    """Three times over: pages whose fsync returned are whole in the next mount, and ext4 finds no fault."""
    if is_refused(folder):
        return
    dice, acknowledged = random.Random(flags), 0
    for _ in range(3):
        with gate_at(folder) as gate:
            assert_kept(gate.mount / "ledger", acknowledged)
            with subprocess.Popen(
                [*(sys.executable, "-c", KEEPER, str(gate.mount / "ledger")), *(str(flags), str(acknowledged))],
                stdout=subprocess.PIPE,
                text=True,
            ) as keeper:
                for _ in range(20):
                    assert keeper.stdout.readline()
                time.sleep(dice.uniform(0.0, 0.4))
                os.kill(gate.daemon_pid, signal.SIGKILL)
                assert gate.wait(PATIENCE_S)
                output = keeper.communicate(timeout=PATIENCE_S)[0].split()
        acknowledged += 20 + len(output)
    with gate_at(folder) as gate:
        assert_kept(gate.mount / "ledger", acknowledged)
    checked = subprocess.run(
        ["e2fsck", "-f", "-n", str(folder / "data" / IMAGE)], capture_output=True, text=True, check=False
    )

    assert 0 == checked.returncode, checked.stdout


def assert_kept(ledger: Path, pages: int) -> None:
    """Each of so many pages has its number all over it."""
    content = ledger.read_bytes() if pages else b""
    for number in range(pages):
        found = content[number * PAGE : (number + 1) * PAGE]
        assert b"%016d" % number * (PAGE // 16) == found, number


def test_what_fsync_acknowledged_is_on_the_real_disk(folder: Path):
    """
    No page of the image is dirty when fsync returns. ext4 writes at times of its own as well, so this
    need not be seen at the first attempt.
    """
    if is_refused(folder):
        return
    with gate_at(folder, UNLIMITED) as gate, (gate.mount / "file").open("wb", buffering=0) as file:
        image = gate.backing / IMAGE
        dirty = []
        for _ in range(10):
            file.write(os.urandom(MIB))
            os.fsync(file.fileno())
            dirty.append(dirty_pages(image))

    assert 0 in dirty, dirty
