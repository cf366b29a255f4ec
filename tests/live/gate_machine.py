"""What live tests of the gate share: a quick disk, reads past the page cache, how much passed."""

import mmap
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from plimsoll.model.instance import Instance, Storage
from plimsoll.units import MIB
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.record import truth_of

T3 = Instance(db_class="db.t3.xlarge", engine="postgres", storage=Storage(kind="gp2", size_gib=1000))
BASELINE = 86.875e6
BURST = 347.5e6
CAPACITY = (BURST - BASELINE) * 1800
"""Bytes of credit of db.t3.xlarge, in the reading that the chain takes."""

TOLERANCE = 0.02
"""Wider than what the gate keeps by itself, as test machines are shared and the runs are short."""
ROUNDS = 3
HELD_MIN = 0.25
"""A limit that held requests for less of the time was not tested."""


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory if there is one, so that the emulated disk is never faster than the real one."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir=place) as folder:
        yield Path(folder)


def fill(folder: Path, *, size_mib: int = 64) -> Path:
    """A file to read, made behind the gate's back so that it costs no credits."""
    path = folder / "table"
    path.write_bytes(os.urandom(MIB) * size_mib)
    return path


def read_for(path: Path, seconds: float, *, size: int = MIB) -> tuple[int, float]:
    """
    Read a file over and over past the page cache.

    Returns:
        Bytes read, and seconds that it really took.
    """
    handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, size)
    total, offset = 0, 0
    end_of_file = os.fstat(handle).st_size
    begun = time.monotonic()
    try:
        while time.monotonic() - begun < seconds:
            total += os.preadv(handle, [buffer], offset)
            offset = (offset + size) % end_of_file
    finally:
        os.close(handle)
        buffer.close()
    return total, time.monotonic() - begun


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What clients got, and what the gate says of the same moments."""

    bytes_per_s: float
    held_ratio: float
    """Share 0–1 of the time in which a limit held requests; the rest of it this machine took."""
    is_void: bool
    """Whether the gate calls these moments void."""

    def is_of(self, limit_bytes_per_s: float) -> bool:
        """
        Whether this is what the limit gives.

        Held requests are served at the limit, to the tolerance; where the machine stood still for longer
        than the gate makes up for nothing was held, and that share of the time need not have served
        anything. More than the limit is never right.
        """
        ratio = self.bytes_per_s / limit_bytes_per_s
        if abs(ratio - 1) <= TOLERANCE:
            return True
        is_reached = ratio >= self.held_ratio * (1 - TOLERANCE)
        return self.held_ratio >= HELD_MIN and is_reached and ratio <= 1 + TOLERANCE


def rate_of(gate: Gate, path: Path, seconds: float = 1.2, *, is_write: bool = False, size: int = MIB) -> Rate:
    """
    What four clients past the page cache get together, once they have used up what idle time had saved.

    Several, so that one that this machine forgets for some milliseconds leaves no gap; requests smaller
    than a mebibyte at random places, so that none continues another one. Measured again where the gate
    itself says that this machine spoiled it.
    """
    for _ in range(ROUNDS):
        measured = _rate_of(gate, path, seconds, is_write=is_write, size=size)
        if measured.held_ratio >= 1 - TOLERANCE / 2 and not measured.is_void:
            break
    return measured


def _rate_of(gate: Gate, path: Path, seconds: float, *, is_write: bool, size: int) -> Rate:
    handle = os.open(path, os.O_RDWR | os.O_DIRECT)
    end_of_file = os.fstat(handle).st_size
    counts, is_over = [0] * 4, threading.Event()

    def work(which: int) -> None:
        dice, move = random.Random(which), os.pwritev if is_write else os.preadv
        with mmap.mmap(-1, size) as buffer:
            while not is_over.is_set():
                in_order = (counts[which] * 4 + which * size) % end_of_file
                at = in_order if size >= MIB else dice.randrange(end_of_file // size) * size
                counts[which] += move(handle, [buffer], at)

    clients = [threading.Thread(target=work, args=(which,)) for which in range(4)]
    for client in clients:
        client.start()
    time.sleep(0.2)
    before, began_s, begun = sum(counts), time.time(), time.monotonic()
    time.sleep(seconds)
    total, passed = sum(counts) - before, time.monotonic() - begun
    # The line that covers the end.
    while (lines := gate.lines())[-1].t < began_s + passed:
        time.sleep(0.02)
    is_over.set()
    for client in clients:
        client.join()
    os.close(handle)
    within = [x for x in lines if began_s <= x.t - x.dt and x.t <= began_s + passed]
    truth = truth_of(within)
    held_s = sum(max((b.seconds for b in x.binding.values()), default=0.0) for x in within)
    return Rate(bytes_per_s=total / passed, held_ratio=min(held_s / truth.length_s, 1.0), is_void=truth.is_void)
