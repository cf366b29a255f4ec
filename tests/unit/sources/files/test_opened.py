"""A pipe is read like a file: without end it is refused and not held, and its writer is not waited for for ever."""

import io
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from plimsoll.errors import DataError, PlimsollError, SourceError
from plimsoll.sources.files import bounds, opened, standard_input
from plimsoll.sources.files.bytes import load
from plimsoll.sources.files.standard_input import load_standard_input
from plimsoll.sources.pooler.config import read_pooler_config
from plimsoll.units import MIB

MOST_BYTES = 192 * MIB


class Endless(io.RawIOBase):
    """A stream that always has more."""

    def read1(self, size: int = -1, /) -> bytes:
        return b"1,2\n" * (size // 4)


def endless_pipe(folder: Path) -> Path:
    """A named pipe into which a thread writes until nobody reads."""
    path = folder / "pipe"
    os.mkfifo(path)

    def write() -> None:
        try:
            with path.open("wb", buffering=0) as pipe:
                while True:
                    pipe.write(b"1,2\n" * 16_384)
        except BrokenPipeError:
            pass

    threading.Thread(target=write, daemon=True).start()
    return path


READ: dict[str, Callable[[Path], object]] = {
    "a target": lambda folder: load(endless_pipe(folder)),
    "standard input": lambda _: load_standard_input(Endless()),
    "a configuration": lambda folder: read_pooler_config(endless_pipe(folder), kind="pgpool"),
}


@pytest.mark.attack("A pipe that is named as a target has no end", "one sentence, status 2, in bounded memory")
@pytest.mark.parametrize("what", READ)
def test_a_pipe_without_end_is_refused_and_not_held(monkeypatch, tmp_path, what):
    """Nothing of it is held beyond 16 MiB before its end has come."""
    monkeypatch.setattr(bounds, "MAX_BYTES", MOST_BYTES)
    monkeypatch.setattr(standard_input, "MAX_BYTES", MOST_BYTES)
    tracemalloc.start()
    try:
        with pytest.raises(DataError):
            READ[what](tmp_path)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak_bytes < 48 * MIB


@pytest.mark.attack(
    "A named pipe into which nobody writes is named as a target", "one sentence, status 2, after 30 seconds"
)
@pytest.mark.parametrize("read", [load, read_pooler_config])
def test_a_pipe_without_a_writer_is_refused(monkeypatch, tmp_path, read):
    """Opening it would wait for ever."""
    monkeypatch.setattr(opened, "WRITER_S", 0.0)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(SourceError) as refused:
        read(path)

    assert f"nobody wrote to the pipe '{path}' within 0 s" == refused.value.message


@pytest.mark.parametrize("size_bytes", [0, 7, 40 * MIB])
def test_a_pipe_that_ends_is_read_whole(tmp_path, size_bytes):
    """Small and large, and one that its writer closed at once."""
    path, content = tmp_path / "pipe", bytes(range(1, 8)) * (size_bytes // 7)
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()

    assert content == load(path)
    writer.join()


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/tty", "/"])
def test_a_device_and_a_folder_are_not_opened(name):
    """As a pooler's configuration too: reading a device may have no end."""
    with pytest.raises(PlimsollError):
        load(Path(name))
    with pytest.raises(PlimsollError) as refused:
        read_pooler_config(Path(name), kind="pgbouncer")

    assert f"'{name}' is not a file" == refused.value.message
