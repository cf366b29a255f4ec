"""Decode JSON as tools write it: one document, several in a row, one per line, `NaN` for a number."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from plimsoll.errors import DataError
from plimsoll.sources.files.bounds import check_json, check_lines

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

_RETRY_HINT = "Export the file again; a whole JSON document ends with its last bracket."
_CHUNK_BYTES = 1 << 23
"""Lines are decoded in pieces of this size, so that memory follows the result, not the file."""


def decode(data: bytes, where: str) -> Any:
    """
    Return the single document in `data`.

    Raises:
        DataError: it is not JSON, truncated, nested too deeply, or larger than any export; the message
            names `where` and the position.
    """
    check_json(data, where)
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _lenient(data, where)


def documents(data: bytes, where: str) -> Iterator[Any]:
    """
    Yield every document in `data`, be it one, one per line, or several after each other.

    Raises:
        DataError: a document cannot be read, for the reasons of `decode`.
    """
    check_json(data, where)
    try:
        yield msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        yield from _one_after_another(data, where)


def as_type(document: Any, kind: type[T], where: str) -> T:
    """
    Return a decoded document as a typed value.

    Raises:
        DataError: a field has the wrong type; the message names it.
    """
    try:
        return msgspec.convert(document, kind)
    # The reader's own message cannot be made where it would quote half of a pair of surrogates.
    except (msgspec.ValidationError, RecursionError, UnicodeError) as error:
        raise DataError(
            f"{where} is not what its format says: {_one_line(error)}",
            "Export the file again with the AWS command line, without a --query filter.",
        ) from error


def field_by_field(document: Any, kind: type[S], where: str) -> tuple[S, list[str]]:
    """
    Convert an object to a struct, leaving out each field that is not what it should be.

    Numbers and booleans written as text are taken for what they say.

    Args:
        document: a decoded object.
        kind: a msgspec struct.
        where: name of the document, for the message.

    Returns:
        The struct, and the names of ignored fields as in the document.

    Raises:
        DataError: it is not an object, or a required field is missing or has the wrong type.
    """
    if not isinstance(document, dict):
        return as_type(document, kind, where), []
    kept, odd = dict(document), []
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in kept:
            continue
        try:
            value = msgspec.convert(kept[field.encode_name], field.type, strict=False)
            kept[field.encode_name] = msgspec.to_builtins(value)
        except (msgspec.ValidationError, RecursionError, TypeError, UnicodeError):
            if field.required:
                continue
            odd.append(field.encode_name)
            del kept[field.encode_name]
    return as_type(kept, kind, where), odd


def lines(data: bytes, kind: type[T], where: str) -> Iterator[tuple[list[T], int]]:
    """
    Yield the documents of a file with one per line, in pieces, with the number of unreadable lines.

    A line that is cut off or of another shape is counted, not fatal: streams are often cut.

    Raises:
        DataError: it has more lines than an export of its size.
    """
    check_lines(data, where)
    decoder = msgspec.json.Decoder(kind)
    start = 0
    while start < len(data):
        end = data.find(b"\n", min(start + _CHUNK_BYTES, len(data)))
        end = len(data) if end < 0 else end + 1
        chunk = data[start:end]
        start = end
        try:
            yield decoder.decode_lines(chunk), 0
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            yield _line_by_line(chunk, decoder, kind, where)


def first_lines(data: bytes, count: int = 5) -> list[Any]:
    """
    Return the documents among the first lines of a file that has one per line.

    A few lines are looked at, for the first may be damaged. A document over several lines gives
    none, and neither does a file that is a single line.
    """
    found: list[Any] = []
    start = 0
    for _ in range(count):
        end = data.find(b"\n", start)
        if end < 0 or (start == 0 and end >= len(data.rstrip())):
            break
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found.append(msgspec.json.decode(data[start:end]))
        start = end + 1
    return found


def _line_by_line(chunk: bytes, decoder: msgspec.json.Decoder[T], kind: type[T], where: str) -> tuple[list[T], int]:
    good: list[T] = []
    bad = 0
    for line in chunk.splitlines():
        if not line.strip():
            continue
        try:
            # As among whole lines only: what a line is does not depend on those around it.
            good.append(decoder.decode(line))
            continue
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        try:
            good.append(as_type(decode(line, where), kind, where))
        except DataError:
            bad += 1
    return good, bad


def _lenient(data: bytes, where: str) -> Any:
    """Return Python's own reader, which takes the `NaN` and `Infinity` that Python's writer writes."""
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise _broken(where, error) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is neither UTF-8 nor UTF-16 text", _RETRY_HINT) from error
    except ValueError as error:
        raise _too_long_a_number(where) from error
    except RecursionError as error:
        raise DataError(f"{where} is nested too deeply to be an export", _RETRY_HINT) from error


def _one_after_another(data: bytes, where: str) -> Iterator[Any]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is neither UTF-8 nor UTF-16 text", _RETRY_HINT) from error
    decoder = json.JSONDecoder()
    at, end = _next_start(text, 0), len(text)
    while at < end:
        try:
            document, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _broken(where, error) from error
        except ValueError as error:
            raise _too_long_a_number(where) from error
        except RecursionError as error:
            raise DataError(f"{where} is nested too deeply to be an export", _RETRY_HINT) from error
        yield document
        at = _next_start(text, at)


def _next_start(text: str, at: int) -> int:
    """Return where the next document begins; some tools put a comma between them."""
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _too_long_a_number(where: str) -> DataError:
    """Return the only other thing Python's reader refuses: an integer of more than 4,300 digits."""
    return DataError(f"{where} contains a number of thousands of digits", _RETRY_HINT)


def _broken(where: str, error: json.JSONDecodeError) -> DataError:
    place = f"line {error.lineno}, column {error.colno}"
    if not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated"):
        return DataError(f"{where} is cut off at {place}", _RETRY_HINT)
    return DataError(f"{where} is not JSON at {place}: {error.msg.lower()}", _RETRY_HINT)


def _one_line(error: BaseException) -> str:
    if isinstance(error, UnicodeError):
        return "a text in it is not Unicode"
    return " ".join(str(error).split())[:200]
