"""Small files that would unpack to a great deal: what they cost to make is what they hold packed."""

import io
import zlib

_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"


def packed(head: bytes, piece: bytes, times: int) -> bytes:
    """
    Gzip of `head` and of `piece` so many times, without its end.

    A block of deflate that needs nothing before it can be repeated as it stands.
    """
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    opening = deflate.compress(head) + deflate.flush(zlib.Z_FULL_FLUSH)
    block = deflate.compress(piece) + deflate.flush(zlib.Z_FULL_FLUSH)
    return _GZIP_HEAD + opening + block * times


EMPTY_RESULT = b'{"Id":"m1","Label":"ReadIOPS","Timestamps":[],"Values":[]},'


def empty_results() -> bytes:
    """Six million results without a sample: 1 MB that holds 350 MB of JSON."""
    return packed(b'{"MetricDataResults":[', EMPTY_RESULT * 10_000, 600)


def zeros() -> bytes:
    """3.3 MB that hold 3.4 GB of nothing."""
    return packed(b"", bytes(1 << 24), 200)


def rows(count: int) -> bytes:
    """A Parquet table of equal rows, two bytes for a thousand of them."""
    import polars as pl

    out = io.BytesIO()
    times = pl.repeat(1_615_198_440, count, dtype=pl.Int32, eager=True)
    pl.DataFrame({"timestamp": times, "ReadIOPS": times}).write_parquet(out)
    return out.getvalue()
