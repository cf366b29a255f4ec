"""
Read the bytes of a file, without gzip, byte order marks and UTF-16.

Rule: memory is bounded: `bounds.py` says how many bytes a file may hold, packed or not.
"""

import io
import os
import stat
import zlib
from pathlib import Path

from plimsoll.errors import DataError
from plimsoll.sources.files import bounds
from plimsoll.sources.files.opened import opened, read_to_end
from plimsoll.wire import unpacked

HEAD_BYTES = 1 << 18
"""What is looked at to tell formats apart."""

# Unpacked at once: a bomb is noticed after this much more than is allowed.
_CHUNK_BYTES = 1 << 24
# Of a member at first: hundreds of thousands of members may be in a small file.
_FIRST_BYTES = 1 << 8
_GZIP = b"\x1f\x8b"
_new_member = zlib.decompressobj


def load(path: Path) -> bytes:
    """
    Return the content of a file: unpacked if gzipped, UTF-8 without byte order mark if it is text.

    Raises:
        AccessDenied: the operating system denied access.
        SourceError: the file does not exist, is not a file, or cannot be read, or nobody writes to the pipe.
        DataError: it is too large, a broken gzip file, or broken UTF-16.
    """
    with opened(path) as file:
        found = os.fstat(file.fileno())
        if found.st_size > bounds.MAX_BYTES:
            raise bounds.too_large(f"'{path}'")
        if stat.S_ISREG(found.st_mode):
            data = file.read(bounds.MAX_BYTES + 1)
        else:
            too_large = bounds.too_large(f"'{path}'")
            data, was_interrupted = read_to_end(file, bounds.MAX_BYTES, too_large, lambda _: None)
            if was_interrupted:
                raise KeyboardInterrupt
    if len(data) > bounds.MAX_BYTES:
        raise bounds.too_large(f"'{path}'")
    return unwrapped(data, path)


def unwrapped(data: bytes, path: Path) -> bytes:
    """
    Return content that is at hand already, as `load` gives it; `path` names it in messages.

    Raises:
        DataError: it is too large when unpacked, a broken gzip file, or broken UTF-16.
    """
    if data.startswith(_GZIP):
        data = _unpacked(data, path)
    return _as_utf8(data, path)


def _broken_gzip(path: Path) -> DataError:
    return DataError(f"'{path}' is not a whole gzip file", "Copy or download the file again.")


def _unpacked(data: bytes, path: Path) -> bytes:
    """Return every member of a gzip file, as Firehose writes them, in time that grows with its bytes."""
    # Nearly all files have one member, which names its size.
    whole = unpacked(data, bounds.most_unpacked(len(data)))
    if whole is not None:
        return whole
    # Its value is handed out without a copy, which joining parts would make.
    content = io.BytesIO()
    rest = memoryview(data)
    try:
        while rest[:2] == _GZIP:
            rest = _after_member(rest, content, data, path)
    except zlib.error as error:
        raise _broken_gzip(path) from error
    return content.getvalue()


def _after_member(rest: memoryview, content: io.BytesIO, data: bytes, path: Path) -> memoryview:
    """Add the member with which `rest` begins, and return what follows it."""
    member = _new_member(wbits=31)
    given: bytes | memoryview = b""
    step = _FIRST_BYTES
    while not member.eof:
        if not given:
            # More and more of it: what follows a small member is copied, so it has to be small as well.
            given, rest, step = rest[:step], rest[step:], min(8 * step, _CHUNK_BYTES)
        part = member.decompress(given, _CHUNK_BYTES)
        given = member.unconsumed_tail
        if not part and not given and not rest and not member.eof:
            raise _broken_gzip(path)
        content.write(part)
        # Of what was unpacked so far: the rest need not be unpacked to know.
        after = len(rest) + len(given) + len(member.unused_data)
        bounds.check_unpacked(content.tell(), len(data) - after, f"'{path}'")
    return memoryview(data)[len(data) - len(rest) - len(member.unused_data) :]


def _as_utf8(data: bytes, path: Path) -> bytes:
    if data.startswith(b"\xef\xbb\xbf"):
        return data[3:]
    encoding = _utf16(data)
    if encoding is None:
        return data
    try:
        return data.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        raise DataError(f"'{path}' begins like UTF-16 but is not", "Save the file as UTF-8.") from error


def _utf16(data: bytes) -> str | None:
    """Return UTF-16 by its mark, or by the zero that every other byte of ASCII text then is."""
    if data.startswith(b"\xff\xfe"):
        return "utf-16-le"
    if data.startswith(b"\xfe\xff"):
        return "utf-16-be"
    head = data[:64]
    if len(head) < 8:
        return None
    even, odd = head[0::2], head[1::2]
    if not any(odd) and all(even):
        return "utf-16-le"
    if not any(even) and all(odd):
        return "utf-16-be"
    return None
