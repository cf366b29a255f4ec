"""
Keep a disk as busy as it can be: `python saturate.py DIRECTORY SECONDS [MIX]`.

Several threads read and write a file of their own past the page cache (O_DIRECT), in blocks of
64 KiB at random places. MIX is the share of reads, 0.5 if not given. Prints, as JSON, the bytes and
operations it did. Removes its file at the end.
"""

import json
import mmap
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

BLOCK_BYTES = 64 * 1024
FILE_BYTES = 128 * 1024 * 1024
THREADS = 8


def saturate(directory: Path, seconds: float, read_share: float) -> dict[str, int]:
    """Read and write for so many seconds; bytes and operations done."""
    handle, name = tempfile.mkstemp(prefix="plimsoll-saturate-", dir=directory)
    done = {"read_ops": 0, "write_ops": 0}
    try:
        os.posix_fallocate(handle, 0, FILE_BYTES)
        _fill(handle)
        os.close(handle)
        handle = os.open(name, os.O_RDWR | os.O_DIRECT)
        end = time.monotonic() + seconds
        counts: list[dict[str, int]] = []
        threads = [
            threading.Thread(target=_work, args=(handle, end, read_share, seed, counts)) for seed in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for key in done:
            done[key] = sum(count[key] for count in counts)
    finally:
        os.close(handle)
        Path(name).unlink()
    return {**done, "read_bytes": done["read_ops"] * BLOCK_BYTES, "write_bytes": done["write_ops"] * BLOCK_BYTES}


def _fill(handle: int) -> None:
    # Blocks that were never written are answered without asking the disk.
    block = os.urandom(1 << 20)
    for at in range(0, FILE_BYTES, len(block)):
        os.pwrite(handle, block, at)
    os.fsync(handle)


def _work(handle: int, end: float, read_share: float, seed: int, counts: list[dict[str, int]]) -> None:
    dice = random.Random(seed)
    buffer = mmap.mmap(-1, BLOCK_BYTES)  # Aligned to a page, as O_DIRECT demands.
    buffer.write(os.urandom(BLOCK_BYTES))
    count = {"read_ops": 0, "write_ops": 0}
    while time.monotonic() < end:
        at = dice.randrange(FILE_BYTES // BLOCK_BYTES) * BLOCK_BYTES
        if dice.random() < read_share:
            os.preadv(handle, [buffer], at)
            count["read_ops"] += 1
        else:
            os.pwritev(handle, [buffer], at)
            count["write_ops"] += 1
    counts.append(count)


if __name__ == "__main__":
    mix = float(sys.argv[3]) if len(sys.argv) > 3 else 0.5
    print(json.dumps(saturate(Path(sys.argv[1]), float(sys.argv[2]), mix)))
