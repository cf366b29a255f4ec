"""Read offer files in CSV: lines about the file, a line with the columns, then a row for each rate."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from plimsoll.errors import AccessDenied, DataError, SourceError
from plimsoll.sources.prices.products import OFFER, Attributes, Gathered, Product, Rate

_GZIP = b"\x1f\x8b"
# Bytes that contain the first field of an offer file, which no other CSV has.
_HEAD_BYTES = 64
_MARK = b"\xef\xbb\xbf"
# The rows above the columns are five in the files of 2026-04; ten more would be another format.
_ABOVE_MAX = 16
_AGAIN = "Download or write the file again."

_ATTRIBUTES = {
    "Location Type": "location_type",
    "Region Code": "region_code",
    "Instance Type": "instance_type",
    "Database Engine": "database_engine",
    "Database Edition": "database_edition",
    "License Model": "license_model",
    "Deployment Option": "deployment_option",
    "Deployment Model": "deployment_model",
    "Engine Media Type": "engine_media_type",
    "Engine Code": "engine_code",
    "Extended Support Pricing Year": "extended_support_pricing_year",
    "Unbundled Licensing": "unbundled_licensing",
    "usageType": "usagetype",
    "operation": "operation",
}
_NEEDED = ("TermType", "Unit", "PricePerUnit", "Currency", "Product Family", "usageType")


class About(Struct):
    """The lines above the columns."""

    offer_code: str | None = None
    published: str | None = None
    version: str | None = None


def looks_like_csv(path: Path) -> bool:
    """
    Return whether a file is an offer in CSV, not in JSON; false if it cannot be opened.

    The code that reads such a file reports what is wrong with it.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head.startswith(_GZIP):
            with gzip.open(path) as unpacked:
                head = unpacked.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return False
    text = head.removeprefix(_MARK).lstrip()
    return text.startswith((b'"FormatVersion"', b"FormatVersion", b'"SKU"', b"SKU,"))


def read_csv_offer(path: Path, gathered: Gathered) -> About:
    """
    Add every on-demand rate of a file, and return what it says about itself.

    Raises:
        AccessDenied, SourceError: it cannot be read.
        DataError: cut off, or without the columns that are needed.
    """
    about = About()
    with _opened(path) as file:
        rows = csv.reader(file, strict=True)
        names = _columns(rows, about, path)
        if about.offer_code != OFFER:
            return about
        at = {field: names.index(name) for name, field in _ATTRIBUTES.items() if name in names}
        kind, unit, usd, currency, family = (names.index(name) for name in _NEEDED[:5])
        for row in rows:
            if len(row) != len(names):
                raise DataError(f"'{path}' is cut off or damaged at line {rows.line_num:,}", _AGAIN)
            if row[kind] != "OnDemand" or row[currency] != "USD":
                continue
            attributes = Attributes(**{field: row[index] for field, index in at.items()})
            rate = Rate(row[usd], row[unit])
            gathered.add(Product(row[family], attributes, (rate,)))
    return about


def _columns(rows: Iterator[list[str]], about: About, path: Path) -> list[str]:
    fields = {"OfferCode": "offer_code", "Publication Date": "published", "Version": "version"}
    for _, row in zip(range(_ABOVE_MAX), rows, strict=False):
        if row and row[0] == "SKU":
            missing = [name for name in _NEEDED if name not in row]
            if missing:
                raise DataError(f"'{path}' has no column '{missing[0]}', which offer files have", _AGAIN)
            return row
        if len(row) > 1 and row[0] in fields:
            setattr(about, fields[row[0]], row[1])
    raise DataError(f"'{path}' ends before the columns of an offer, or has none", _AGAIN)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """Open a file as text, decompressed while reading."""
    try:
        with path.open("rb") as raw:
            is_packed = raw.read(2) == _GZIP
            raw.seek(0)
            stream = gzip.GzipFile(fileobj=raw) if is_packed else raw
            with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
                yield text
    except PermissionError as error:
        raise AccessDenied(
            f"unable to read '{path}': permission denied", "Check the owner and mode of the file."
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"'{path}' is not a whole gzip file", _AGAIN) from error
    except OSError as error:
        raise SourceError(
            f"unable to read '{path}': {(error.strerror or str(error)).lower()}",
            "Check that the path names a readable file.",
        ) from error
    except csv.Error as error:
        raise DataError(f"'{path}' is cut off or damaged: {error}", _AGAIN) from error
    except UnicodeDecodeError as error:
        raise DataError(f"'{path}' is not UTF-8 text", _AGAIN) from error
