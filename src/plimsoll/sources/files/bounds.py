"""
Bound the size of files: limits on bytes, and on the work that bytes can cause.

Rule 1: a limit is checked before the work it bounds: while unpacking, and before parsing.
Rule 2: a limit is above every export that the formats allow; the comment gives the reason.

Each refusal is one sentence. docs/reference/inputs.md lists these numbers.
"""

from plimsoll.errors import DataError
from plimsoll.sources.files.text import Content
from plimsoll.units import GIB, MIB

# A year of twelve metrics at one minute is 6.3 million samples: 0.4 GB as indented
# `get-metric-data` JSON. Twice that, and room for a fleet's stream, is two GiB.
MAX_BYTES = 2 * int(GIB)

# A megabyte of gzip can hold a gigabyte of nothing. Of the formats we read, streams in OpenTelemetry
# pack best: 145 times where every value is zero (tests/unit/sources/files/test_bounds.py packs each of
# them). What unpacks to a few megabytes costs nothing, whatever its ratio.
MOST_TIMES_PACKED = 200
UNPACKED_FREELY_BYTES = 16 * int(MIB)

# A decoded object takes some 200 bytes of memory, however short it is written. The densest export is
# again OpenTelemetry, with a bracket every 28 bytes; a million more cost 0.2 GB at most.
LEAST_BYTES_PER_OBJECT = 24
OBJECTS_FREELY = 1_000_000

# A year of twelve metrics at a minute has 12.6 million numbers and times in a document; a decoded one
# takes 32 to 82 bytes. What has more is split.
MOST_VALUES = 25_000_000

# A line of a stream names its metric, instance and time: 200 bytes and more. Each one that is not
# what it should be costs 20 µs to tell.
LEAST_BYTES_PER_LINE = 64
LINES_FREELY = 200_000

# A window has at most ten million steps (assemble.py), and a long table of a year of twelve metrics
# 6.3 million rows. A row of text has a time and a value: an epoch second, a digit, a delimiter.
MOST_ROWS = 10_000_000
LEAST_BYTES_PER_ROW = 12
ROWS_FREELY = 1_000_000

# A cell takes 16 bytes and more: the whole table then fits into a few gigabytes.
MOST_CELLS = 100_000_000

_HINT = "Export a shorter window, or split the file and give its folder."
_EMPTY_HINT = "Check the content of the file: an export has samples."


def most_unpacked(packed_bytes: int) -> int:
    """Return how many bytes a packed file of this size may hold."""
    return min(MAX_BYTES, max(UNPACKED_FREELY_BYTES, MOST_TIMES_PACKED * packed_bytes))


def check_unpacked(unpacked_bytes: int, packed_bytes: int, where: str) -> None:
    """
    Check what came out of a packed file so far.

    Raises:
        DataError: the file is too large, or unpacks to more than any export does.
    """
    if unpacked_bytes > MAX_BYTES:
        raise too_large(where)
    if unpacked_bytes > most_unpacked(packed_bytes):
        raise DataError(
            f"{where} unpacks to more than {MOST_TIMES_PACKED} times its size, which no export does", _EMPTY_HINT
        )


def too_large(where: str) -> DataError:
    """Return the error that says that a file has too many bytes."""
    return DataError(f"{where} contains more than 2 GiB", _HINT)


def check_json(data: bytes, where: str) -> None:
    """
    Check a JSON text that is going to be decoded as a whole.

    Raises:
        DataError: it has more objects than an export of its size, or more values than the limit.
    """
    # Brackets and commas inside strings count too; the limits leave room for them.
    objects = data.count(b"{") + data.count(b"[")
    if objects > max(OBJECTS_FREELY, len(data) // LEAST_BYTES_PER_OBJECT):
        raise DataError(f"{where} contains {objects:,} almost empty objects", _EMPTY_HINT)
    values = data.count(b",")
    if values > MOST_VALUES:
        raise DataError(f"{where} contains more than {MOST_VALUES:,} values", _HINT)


def check_lines(data: bytes, where: str) -> None:
    """
    Check a file that is going to be read as one JSON document per line.

    Raises:
        DataError: it has more lines than an export of its size.
    """
    count = data.count(b"\n")
    if count > max(LINES_FREELY, len(data) // LEAST_BYTES_PER_LINE):
        raise DataError(f"{where} contains {count:,} almost empty lines", _EMPTY_HINT)


def check_text_rows(data: Content, columns: int, where: str) -> None:
    """
    Check a table of text.

    Raises:
        DataError: it has more rows than an export of its size, or more rows or cells than the limit.
    """
    rows = data.count(b"\n")
    if rows > max(ROWS_FREELY, len(data) // LEAST_BYTES_PER_ROW):
        raise DataError(f"{where} contains {rows:,} almost empty rows", _EMPTY_HINT)
    check_rows(rows, columns, where)


def check_rows(rows: int, columns: int, where: str) -> None:
    """
    Check the size that a table has, or says it has.

    Raises:
        DataError: it has more rows or cells than the limit.
    """
    if rows > MOST_ROWS:
        raise DataError(f"{where} contains {rows:,} rows, and {MOST_ROWS:,} are the most", _HINT)
    if rows * columns > MOST_CELLS:
        raise DataError(f"{where} contains {rows * columns:,} cells, and {MOST_CELLS:,} are the most", _HINT)
