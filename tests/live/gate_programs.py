"""What the safety tests run in processes of their own, as texts for `python -c`."""

# Opens files, each twice, says so, waits for a word, and reads with one what the other wrote.
OPENER = """
import os, sys
name, count = sys.argv[1], int(sys.argv[2])
writers, readers = ([os.open(f"{name}-{i}", os.O_RDWR | os.O_CREAT) for i in range(count)] for _ in "wr")
for i, handle in enumerate(writers):
    os.write(handle, b"%d" % i)
print("open", flush=True)
sys.stdin.readline()
print(sum(os.pread(handle, 9, 0) == b"%d" % i for i, handle in enumerate(readers)))
"""
# Appends lines of 64 bytes, each in one write, without asking where the end is.
APPENDER = """
import os, sys
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for i in range(1000):
    os.write(handle, (f"{sys.argv[2]} {i} ".ljust(63, "x") + "\\n").encode())
"""
# Reads past the page cache without end.
READER = """
import mmap, os, sys
handle, page, at = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 20), 0
print("reading", flush=True)
while True:
    at = (at + os.preadv(handle, [page], at)) % (16 << 20)
"""
# Reads and writes at random until that fails; says when it has been twice round the page cache.
WRITER = """
import os, random, sys
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
data, count = os.urandom(1 << 16), 0
try:
    while True:
        count += 1
        os.pwrite(handle, data, random.randrange(512) << 16)
        os.pread(handle, 1 << 16, random.randrange(512) << 16)
        if count == 200:
            print("full", flush=True)
except OSError as error:
    print(error.errno)
os._exit(0)
"""
# Writes numbered pages one after the other, each flushed, and says which were; ends when that fails.
KEEPER = """
import mmap, os, sys
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | int(sys.argv[2]))
page, number = mmap.mmap(-1, 4096), int(sys.argv[3])
try:
    while True:
        page[:] = b"%016d" % number * 256
        os.pwrite(handle, page, number * 4096)
        os.fsync(handle)
        print(number, flush=True)
        number += 1
except OSError:
    os._exit(0)
"""
# In a mount namespace of its own, where a small disk can be made: fills it up, twice.
FILLER = """
import errno, mmap, os, subprocess, sys, time
from pathlib import Path
from live.test_gate_safety import SETUP
from plimsoll_lab.gate.gate import Gate
folder = Path(sys.argv[1])
options = ["-t", "tmpfs", "-o", "size=8m", "none", str(folder / "data")]
subprocess.run(["mount", *options], check=True)
block = mmap.mmap(-1, 1 << 20)
block.write(b"z" * (1 << 20))

def fill(path, flags):
    handle, written = os.open(path, os.O_RDWR | os.O_CREAT | flags), 0
    try:
        while True:
            written += os.pwrite(handle, block, written)
            os.fsync(handle)
    except OSError as error:
        return written, error.errno
    finally:
        try:
            os.close(handle)
        except OSError as error:
            assert error.errno == errno.ENOSPC

with Gate(SETUP, folder / "data", folder / "disk") as gate:
    (gate.mount / "before").write_bytes(b"kept" * 1000)
    for flags in (0, os.O_DIRECT):
        written, error = fill(gate.mount / "large", flags)
        assert error == errno.ENOSPC, error
        assert written >= 6 << 20, written
        assert (gate.mount / "large").read_bytes()[:written] == b"z" * written
        assert (gate.mount / "before").read_bytes() == b"kept" * 1000
        (gate.mount / "large").unlink()
        # The kernel tells of a file's end without waiting for the answer: room comes back soon after.
        end = time.monotonic() + 10
        while os.statvfs(gate.mount).f_bavail < os.statvfs(gate.mount).f_blocks * 3 // 4:
            assert time.monotonic() < end
    with (gate.mount / "after").open("wb") as file:
        file.write(b"room" * 1000)
        file.flush()
        os.fsync(file.fileno())
    assert (folder / "data" / "after").read_bytes() == b"room" * 1000
print("filled")
"""
