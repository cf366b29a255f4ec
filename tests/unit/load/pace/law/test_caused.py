"""Pages that a server has changed and not yet written."""

from dataclasses import replace

from plimsoll.load.pace.law.caused import DebtChange, UnwrittenPages, as_merged
from plimsoll.load.pace.law.truths import FastTruth, ServerCounts

MB = 1e6


def interval(*, sent=0.0, extended=0.0, written=0.0, cache=1000.0) -> FastTruth:
    """One second of a batch; amounts in MB."""
    server = ServerCounts(
        read_bytes=0,
        write_bytes=written * MB,
        extend_bytes=extended * MB,
        ops=0,
        wal_bytes=0,
        full_page_images=0,
        cache_bytes=cache * MB,
    )
    return FastTruth(start_s=0, end_s=1, batch_bytes=sent * MB, server=server)


def test_bytes_that_were_sent_are_pages_until_the_session_reports_them():
    """Four seconds of 10 MB, then the transaction ends and reports 44 MB of growth: 44 MB, not 84."""
    pages = UnwrittenPages()
    grown = [pages.add(interval(sent=10)).owed_bytes for _ in range(4)]
    grown.append(pages.add(interval(extended=44)).owed_bytes)

    assert [10 * MB] * 4 + [4 * MB] == grown
    assert 44 * MB == pages.bytes


def test_a_checkpoint_pays_the_debt():
    """It may write more than what is known to be owed: pages of indexes do not grow."""
    pages = UnwrittenPages()
    pages.add(interval(extended=40))

    assert DebtChange(owed_bytes=-25 * MB, paid_bytes=25 * MB) == pages.add(interval(written=25))
    assert DebtChange(owed_bytes=-15 * MB, paid_bytes=15 * MB) == pages.add(interval(written=60))
    assert 0 == pages.bytes


def test_the_debt_fits_into_the_cache():
    """A table that is compressed to a tenth grows by less than what is sent."""
    pages = UnwrittenPages()
    for _ in range(100):
        pages.add(interval(sent=10, extended=1, written=1, cache=64))

    assert 64 * MB == pages.bytes
    assert 0 == pages.add(interval(sent=10, extended=1, written=1, cache=64)).owed_bytes


def test_pages_of_the_debt_are_merged_on_their_way():
    """16 MiB are 2,048 pages for the server, and 128 requests of 128 KiB for the device; other operations stay."""
    paid = 16 * 1024 * 1024
    server = replace(interval(written=paid / MB).server, ops=3_000)

    assert 3_000 - 2_048 + 128 == as_merged(server, paid).ops
    assert 3_000 == as_merged(server, 0).ops


def test_pages_that_were_counted_together_already_stay_so():
    """PostgreSQL 17 writes several pages at once, so the debt may be more pages than there were operations."""
    server = replace(interval(written=16).server, ops=10)

    assert 10 == as_merged(server, 16 * MB).ops
