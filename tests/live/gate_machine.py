"""What live tests of the gate share: a quick disk, reads past the page cache, how much passed."""

import mmap
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plimsoll.model.instance import Instance, Storage
from plimsoll.units import MIB

T3 = Instance(
    db_class="db.t3.xlarge", engine="postgres", storage=Storage(kind="gp2", size_gib=1000)
)
BASELINE = 86.875e6
BURST = 347.5e6
CAPACITY = (BURST - BASELINE) * 1800
"""Bytes of credit of db.t3.xlarge, in the reading that the chain takes."""


@contextmanager
def quick_folder() -> Iterator[Path]:
    """
    A folder in memory if there is one, so that the emulated disk is never faster than the real one.
    """
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir=place) as folder:
        yield Path(folder)


def fill(folder: Path, *, size_mib: int = 64) -> Path:
    """
    A file to read, made behind the gate's back so that it costs no credits.
    """
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


def rate_of(path: Path, seconds: float = 1.2) -> float:
    """
    Bytes per second that four readers get together, once they have used up what idle time had saved.

    Several, so that a reader that this machine forgets for some milliseconds leaves no gap.
    """
    handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
    end_of_file = os.fstat(handle).st_size
    counts, is_over = [0] * 4, threading.Event()

    def read(which: int) -> None:
        with mmap.mmap(-1, MIB) as buffer:
            while not is_over.is_set():
                at = (counts[which] * 4 + which * MIB) % end_of_file
                counts[which] += os.preadv(handle, [buffer], at)

    readers = [threading.Thread(target=read, args=(which,)) for which in range(4)]
    for reader in readers:
        reader.start()
    time.sleep(0.2)
    before, begun = sum(counts), time.monotonic()
    time.sleep(seconds)
    total, passed = sum(counts) - before, time.monotonic() - begun
    is_over.set()
    for reader in readers:
        reader.join()
    os.close(handle)
    return total / passed
