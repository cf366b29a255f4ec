"""
Decode the fields of a message in the protobuf wire format.

Source: protobuf.dev, "Encoding": a message is a row of (key, value); the key is field × 8 + type.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Literal, overload

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_VARINT = 10
"""Bytes of a 64-bit number at seven bits each (protobuf.dev, "Base 128 Varints")."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """
    Return the number at `at`, and where it ends.

    Raises:
        ValueError: longer than 64 bits.
        IndexError: cut off.
    """
    value = shift = 0
    for end in range(at, at + _LONGEST_VARINT):
        byte = data[end]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, end + 1
        shift += 7
    raise ValueError(at)


def piece(data: bytes, at: int, length: int) -> bytes:
    """
    Return the `length` bytes at `at`.

    Raises:
        ValueError: cut off.
    """
    if at + length > len(data):
        raise ValueError(at)
    return data[at : at + length]


@overload
def fields(message: bytes) -> Iterator[tuple[int, bytes]]: ...
@overload
def fields(message: bytes, numbers: Mapping[int, Literal["Q", "d"]]) -> Iterator[tuple[int, Any]]: ...
def fields(message: bytes, numbers: Mapping[int, Literal["Q", "d"]] | None = None) -> Iterator[tuple[int, Any]]:
    """
    Yield field number and value of a message, in the order written.

    Without `numbers`, yield only the length-delimited fields, as bytes. With it, yield only its eight-byte
    fields, as integers (`Q`) or floats (`d`).

    Raises:
        ValueError: not the wire format, or cut off.
        IndexError: cut off within a key.
    """
    at, end = 0, len(message)
    while at < end:
        key = message[at]
        if key < 0x80:  # a key of one byte, as nearly all are: saves a call
            at += 1
        else:
            key, at = varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            _, at = varint(message, at)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
            if at + size > end:
                raise ValueError(at)
            if numbers is not None and number in numbers and size == 8:
                yield number, struct.unpack_from("<" + numbers[number], message, at)[0]
            at += size
        elif kind == _BYTES:
            length, at = varint(message, at)
            value = piece(message, at, length)
            if numbers is None:
                yield number, value
            at += length
        else:
            raise ValueError(at)


def text_of(value: bytes) -> str:
    """Return a string field; replace bytes that are not UTF-8."""
    return value.decode("utf-8", errors="replace")
