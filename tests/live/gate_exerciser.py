"""What the safety tests do to a file: open, reserve, ask what is dirty, and anything at random."""

import contextlib
import ctypes
import mmap
import os
import random
from collections.abc import Iterator
from pathlib import Path

PAGE = 4096

# fallocate(2).
FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE = 1, 2


@contextlib.contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    """A descriptor of a file, made if the flags say so."""
    handle = os.open(path, flags, 0o644)
    try:
        yield handle
    finally:
        os.close(handle)


def allocate(handle: int, mode: int, offset: int, length: int) -> None:
    """
    fallocate(2) with its mode, which the os module lacks.

    Raises:
        OSError: the file system refuses.
    """
    library = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_int(handle), ctypes.c_int(mode), ctypes.c_int64(offset))
    if library.fallocate(*arguments, ctypes.c_int64(length)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def dirty_pages(path: Path) -> int:
    """Pages of a file that are not on its disk yet; 0 where the kernel cannot tell (before 6.5)."""
    found = (ctypes.c_uint64 * 5)()
    span = (ctypes.c_uint64 * 2)(0, 0)
    with path.open("rb") as file:
        # cachestat(2); the call has the same number on every machine.
        ctypes.CDLL(None).syscall(451, file.fileno(), ctypes.byref(span), ctypes.byref(found), 0)
    return found[1] + found[2]


class Exerciser:
    """A file, and the bytes that it has to hold."""

    SIZE_MAX = 512 * 1024

    def __init__(self, path: Path, dice: random.Random) -> None:
        self.path, self.dice = path, dice
        self.content = bytearray()
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT)
        self.steps = (
            *(self.write, self.read, self.map_write, self.map_read, self.truncate),
            *(self.punch, self.direct_read, self.direct_write, self.flush, self.reopen),
        )

    def step(self) -> None:
        """One operation."""
        self.dice.choice(self.steps)()

    def close(self) -> None:
        """Bring all to disk."""
        os.fsync(self.handle)
        os.close(self.handle)

    def span(self) -> tuple[int, int]:
        offset = self.dice.randrange(self.SIZE_MAX)
        return offset, min(self.dice.randrange(1, 60_000), self.SIZE_MAX - offset)

    def inside(self) -> tuple[int, int]:
        if not self.content:
            self.write()
        offset = self.dice.randrange(len(self.content))
        return offset, min(self.dice.randrange(1, 60_000), len(self.content) - offset)

    def grow(self, size: int) -> None:
        self.content.extend(bytes(max(size - len(self.content), 0)))

    def write(self) -> None:
        offset, length = self.span()
        data = self.dice.randbytes(length)
        self.grow(offset + length)
        self.content[offset : offset + length] = data
        assert length == os.pwrite(self.handle, data, offset)

    def read(self) -> None:
        offset, length = self.span()
        assert self.content[offset : offset + length] == os.pread(self.handle, length, offset)

    def map_write(self) -> None:
        offset, length = self.inside()
        data = self.dice.randbytes(length)
        self.content[offset : offset + length] = data
        with mmap.mmap(self.handle, len(self.content)) as mapped:
            mapped[offset : offset + length] = data

    def map_read(self) -> None:
        offset, length = self.inside()
        with mmap.mmap(self.handle, len(self.content), prot=mmap.PROT_READ) as mapped:
            assert self.content[offset : offset + length] == mapped[offset : offset + length]

    def truncate(self) -> None:
        size = self.dice.randrange(self.SIZE_MAX)
        del self.content[size:]
        self.grow(size)
        os.ftruncate(self.handle, size)

    def punch(self) -> None:
        offset, length = self.inside()
        self.content[offset : offset + length] = bytes(length)
        allocate(self.handle, FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE, offset, length)

    def direct_read(self) -> None:
        offset = self.inside()[0] // PAGE * PAGE
        with opened(self.path, os.O_RDONLY | os.O_DIRECT) as handle, mmap.mmap(-1, 65536) as page:
            length = os.preadv(handle, [page], offset)
            assert self.content[offset : offset + 65536] == page[:length]

    def direct_write(self) -> None:
        offset = self.span()[0] // PAGE * PAGE
        with opened(self.path, os.O_WRONLY | os.O_DIRECT) as handle, mmap.mmap(-1, PAGE) as page:
            page[:] = self.dice.randbytes(PAGE)
            self.grow(offset + PAGE)
            self.content[offset : offset + PAGE] = page[:]
            assert PAGE == os.pwrite(handle, page, offset)

    def flush(self) -> None:
        self.dice.choice((os.fsync, os.fdatasync))(self.handle)

    def reopen(self) -> None:
        os.close(self.handle)
        self.handle = os.open(self.path, os.O_RDWR)
