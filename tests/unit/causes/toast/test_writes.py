"""How much of what a server wrote is owed to values that were sent again."""

import msgspec
import pytest

from databases import budget, counters, glance, io_row, server, table, vacuum
from plimsoll.causes.toast.toast import causes
from plimsoll.causes.toast.writes import written_by
from plimsoll.causes.toast_rewrites import rewrites_of
from plimsoll.model.database import Observation
from unit.causes.toast.test_toast import sent


def pressed(*, data: float = 0.0, wal: float = 0.0, whole_pages: int = 0, zeros: float = 0.0, **more) -> Observation:
    """
    A minute of updates on a TOAST relation of 40 MB, with what the server wrote in that time.

    Args:
        data: bytes that backends wrote to data files.
        wal: bytes of WAL that were generated, with so many whole pages.
        zeros: bytes that new log files were filled with.
    """
    plain = sent(statements=("update documents set title = $1, status = $2, body = $3, note = $4",), **more)
    rows = (
        io_row("client backend", written_bytes=data),
        io_row("autovacuum worker", "vacuum", written_bytes=9e9),
        io_row("client backend", "init", object="wal", written_bytes=zeros),
    )
    return msgspec.structs.replace(
        plain,
        first=msgspec.structs.replace(plain.first, io=(), counters=counters(wal_bytes=0.0, wal_full_pages=0)),
        last=msgspec.structs.replace(plain.last, io=rows, counters=counters(wal_bytes=wal, wal_full_pages=whole_pages)),
    )


def test_pages_of_old_values_are_written_too():
    """
    6,000 updates of 5 chunks mark 2 pages of old values each and put new ones on 2 that had room; where nothing
    else was changed, all that was written to data files is theirs, and what vacuum wrote is not.
    """
    pages = 6000 * (2 + 2) * 8192
    (cause,) = causes(pressed(data=pages), budget(written=20e6))
    (least,) = causes(pressed(), budget(written=20e6))

    assert least.bytes_per_s < cause.bytes_per_s
    assert cause.bytes_per_s == pytest.approx((pages + 6000 * 5 * (1996 + 185)) / 60, rel=0.06)
    assert "data files 3.28 MB/s" in " ".join(e.text for e in cause.evidence)
    assert "by changed pages" in cause.text
    # Where no page has been written yet, WAL alone has.
    assert least.bytes_per_s == pytest.approx(6000 * 5 * (1800 + 185) / 60, rel=0.01)


def test_no_more_is_theirs_than_every_page_of_every_value():
    """Of another database's terabyte only as much as their pages could be, each written for one value."""
    (cause,) = causes(pressed(data=1e12), budget(written=20e9))

    assert cause.evidence[2].value * 60 <= 6000 * (2 + 2 * 1.25) * 8192 + 6000 * 5 * 2200


def test_other_tables_have_their_part():
    """Where as many pages of another table were changed, half is theirs."""
    pages = 6000 * 3.25 * 8192
    alone = pressed(data=pages)
    before = table(90_000, "public.orders", size_bytes=10**9)
    changed = 2000 * 5 / 4 * 0.99 + 6000 * 2
    after = msgspec.structs.replace(before, updated=round(changed), hot_updated=round(changed))
    beside = msgspec.structs.replace(
        alone,
        first=msgspec.structs.replace(alone.first, relations=(*alone.first.relations, before)),
        last=msgspec.structs.replace(alone.last, relations=(*alone.last.relations, after)),
    )
    of_all, of_half = (written_by(seen, rewrites_of(seen)[0]) for seen in (alone, beside))

    assert of_half.data_bytes_per_s / of_all.data_bytes_per_s == pytest.approx(0.5, abs=0.05)


def test_whole_pages_and_zeros_of_their_wal_are_theirs():
    """After a checkpoint the page of an old value goes whole into WAL; a young server writes all WAL twice."""
    least = 6000 * 5 * (1996 + 185)
    whole = 4000 * 8192
    seen = pressed(wal=least + whole, whole_pages=4000, zeros=least + whole)
    written = written_by(seen, rewrites_of(seen)[0])

    assert written.whole_pages_bytes_per_s == pytest.approx(whole / 60, rel=0.05)
    assert written.wal_bytes_per_s == pytest.approx(2 * (least + whole) / 60, rel=0.1)
    assert written.is_shared_out


def test_before_16_what_vacuums_wrote_is_taken_off():
    """Backends' writes are counted together there; without those of a vacuum the rest is shared out."""
    pages = 6000 * (2 + 2) * 8192
    result = sent(server_info=server(version_number=150018))
    toast = next(r for r in result.last.relations if r.owner_oid)
    runs = [vacuum(toast, scanned_blocks=n, vacuumed_blocks=n, running_s=n + 1.0) for n in (0, 600)]
    both = msgspec.structs.replace(
        result,
        first=msgspec.structs.replace(result.first, counters=counters(backend_written_bytes=0.0)),
        last=msgspec.structs.replace(result.last, counters=counters(backend_written_bytes=pages + 600 * 8192)),
        glances=tuple(glance(60.0 * n, vacuums=(run,)) for n, run in enumerate(runs)),
    )
    found = written_by(both, rewrites_of(both)[0])

    assert found.has_old_pages
    assert found.data_bytes_per_s == pytest.approx(pages / 60, rel=0.01)
