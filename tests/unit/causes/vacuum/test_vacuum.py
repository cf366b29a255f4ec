"""What is reported about vacuums that run, and how long cost limits make them."""

import math

import msgspec
import pytest

from databases import (
    BLOCK_BYTES,
    START_S,
    budget,
    glance,
    io_row,
    observation,
    reading,
    server,
    table,
    toast_of,
    vacuum,
    with_settings,
)
from plimsoll.causes.vacuum.vacuum import causes, missing_of, overlap_s
from plimsoll.model.cause import Cause
from plimsoll.model.database import Glance, Observation
from plimsoll.units import mb_per_s

GIB = 1024**3
CEILING = mb_per_s(212.5)


def watched(
    *,
    size_gib: int = 400,
    read: float = 100e6,
    written: float = 20e6,
    info=None,
    options: dict[str, str] | None = None,
    **run,
) -> Observation:
    """A minute of an autovacuum of a TOAST relation that has run for an hour."""
    blocks = size_gib * GIB // BLOCK_BYTES
    # As many dead rows as make that share of the pages dirty, four chunks together.
    dead = round(-4 * blocks * math.log(1 - written / read))
    owner, toast = toast_of(
        table(16384, "public.documents"), size_bytes=size_gib * GIB, options=options or {}, dead_rows=dead
    )
    done = vacuum(toast, scanned_blocks=blocks // 4, running_s=3600.0, **run)
    later = msgspec.structs.replace(done, scanned_blocks=blocks // 4 + round(read * 60 / BLOCK_BYTES), running_s=3660.0)
    return observation(
        # Nothing yet in pg_stat_io, which hears of a vacuum when it ends.
        reading(START_S, relations=(owner, toast), io=(io_row("autovacuum worker", "vacuum"),)),
        reading(START_S + 60, relations=(owner, toast), io=(io_row("autovacuum worker", "vacuum"),)),
        info,
        glances=(glance(0, vacuums=(done,)), glance(60, vacuums=(later,))),
    )


def without_io(seen: Observation) -> Observation:
    """The same on PostgreSQL 15."""
    return msgspec.structs.replace(
        seen,
        server=msgspec.structs.replace(seen.server, version_number=150018),
        first=msgspec.structs.replace(seen.first, io=None),
        last=msgspec.structs.replace(seen.last, io=None),
    )


def test_cost_limits_are_compared_with_the_ceiling():
    """At 200 per 2 ms, 100,000 a second, reads alone may come at 409.6 MB/s: above 212.5."""
    seen = watched(written=0.0)
    (cause,) = causes(seen, budget(150e6, 0.0, ceiling_bytes_per_s=CEILING))
    limit = next(e for e in cause.evidence if e.kind == "cost_limit")

    assert limit.value == pytest.approx(409.6e6)
    assert "is not below" in limit.text
    # A quarter of 212.5 MB/s is 6,485 pages of 2: 12,970 a second, 25.9 in 2 ms; 130 with 10 ms.
    assert "toast.autovacuum_vacuum_cost_limit = 25," in cause.remedies[0].commands[0]
    # 400 GiB at 53.125 MB/s.
    assert "2 h 15 min" in cause.remedies[0].expected


def test_each_command_that_limits_a_vacuum_can_be_run():
    """A manual one is limited by its session; of another database only the number of the relation is known."""
    by_hand = watched(
        written=0.0,
        is_automatic=False,
        info=with_settings(server(), {"vacuum_cost_delay": "0", "vacuum_cost_limit": "9999"}),
    )
    elsewhere = watched(written=0.0)
    elsewhere = msgspec.structs.replace(elsewhere, last=msgspec.structs.replace(elsewhere.last, relations=()))
    found = [
        causes(seen, budget(150e6, 0.0, ceiling_bytes_per_s=CEILING))[0].remedies[0] for seen in (by_hand, elsewhere)
    ]

    assert "VACUUM public.documents;" == found[0].commands[-1]
    assert all(c.startswith("SET vacuum_cost_") for c in found[0].commands[:-1])
    assert () == found[1].commands
    assert "in its own database" in found[1].text


def test_a_relation_of_its_own_limits_is_left_as_it_is():
    """Where the TOAST relation's own limit keeps it below a quarter, no other is recommended."""
    seen = watched(options={"autovacuum_vacuum_cost_limit": "10"})
    (cause,) = causes(seen, budget(150e6, 60e6, ceiling_bytes_per_s=CEILING))
    limit = next(e for e in cause.evidence if e.kind == "cost_limit")

    assert "that is below" in limit.text
    assert not any("cost_limit" in c for r in cause.remedies for c in r.commands)


def test_overlap_with_plateaus_is_reported():
    """A vacuum that ran for 61 minutes covers all of a plateau of half an hour, and half of another."""
    seen = watched()
    plateaus = ((START_S - 1800, START_S), (START_S - 4200, START_S - 3000))
    (cause,) = causes(seen, budget(plateaus=plateaus))
    overlap = next(e for e in cause.evidence if e.kind == "overlap")

    assert overlap.value == pytest.approx(1800 + 600)
    assert overlap.reference == pytest.approx(3000)
    assert "80 %" in overlap.text
    assert 0 == overlap_s(0, 10, ((10, 20),))


def test_before_16_bytes_are_estimated_and_it_is_reported():
    """Without pg_stat_io blocks are counted; there never will be more, and that is named as missing."""
    seen = without_io(watched(written=0.0))
    (cause,) = causes(seen, budget(None, None))
    assert cause.is_estimated
    assert "estimated" in cause.text
    assert cause.bytes_per_s == pytest.approx(100e6, rel=0.01)
    assert ["pg_stat_io"] == [missing.name for missing in missing_of(seen)]
    assert not missing_of(watched())


def test_two_vacuums_are_distinguished():
    """Each has the bytes of the blocks that it went through."""
    seen = watched(written=0.0)
    small = table(20000, "public.small", size_bytes=GIB)
    extra = [vacuum(small, pid=201, scanned_blocks=blocks) for blocks in (0, 1000)]
    both = msgspec.structs.replace(
        seen,
        glances=tuple(
            msgspec.structs.replace(g, vacuums=(*g.vacuums, run)) for g, run in zip(seen.glances, extra, strict=True)
        ),
    )
    large, little = causes(both, budget(100e6, 0.0))

    assert large.bytes_per_s == pytest.approx(100e6, rel=0.01)
    # Of a relation that was not read itself, every page is taken to be dirtied.
    assert little.bytes_per_s == pytest.approx(2 * 1000 * BLOCK_BYTES / 60, rel=0.01)


def inside(*, read: float, own_blocks: int) -> Observation:
    """A vacuum of 10 GiB that began and ended in the window; autovacuum read so many bytes in all."""
    owner = table(16384, "public.orders", size_bytes=10 * GIB)
    counted = msgspec.structs.replace(owner, heap_blocks_read=own_blocks)
    io = io_row("autovacuum worker", "vacuum")
    return observation(
        reading(START_S, relations=(owner,), io=(io,)),
        reading(
            START_S + 60, relations=(counted,), io=(msgspec.structs.replace(io, read_bytes=read, written_bytes=6e6),)
        ),
        glances=(
            glance(10, vacuums=(vacuum(owner, running_s=1.0),)),
            glance(40, vacuums=(vacuum(owner, scanned_blocks=GIB // BLOCK_BYTES, running_s=31.0),)),
            glance(50),
        ),
    )


def ended() -> Observation:
    """A vacuum that ends in the window gives `pg_stat_io` all its bytes at once."""
    seen = watched()
    whole = io_row("autovacuum worker", "vacuum", read_bytes=300e9)
    last = msgspec.structs.replace(seen.last, io=(whole,))
    return msgspec.structs.replace(seen, last=last, glances=(*seen.glances, glance(59)))


@pytest.mark.parametrize(
    ("seen", "read_bytes_per_s", "is_estimated"),
    [
        # What began and ended between the readings is in pg_stat_io whole.
        (inside(read=60e6, own_blocks=10**6), 1e6, False),
        # Workers read catalogs too: a vacuum read no more than its relation was read.
        (inside(read=60e6, own_blocks=1000), 1000 * BLOCK_BYTES / 60, False),
        # Hours that were not watched are not counted.
        (ended(), 100e6, True),
        # Blocks that go by faster than costs allow were skipped; the cost limit bounds the bytes.
        (watched(read=4000e6, written=0.0), 409.6e6, True),
    ],
    ids=["inside", "catalogs", "ended", "skipped"],
)
def test_only_the_reads_of_a_vacuum_in_the_window_are_its_bytes(seen, read_bytes_per_s, is_estimated):
    """Counted where `pg_stat_io` has them, and estimated where not."""
    (cause,) = causes(seen, budget(2e6, 1e6))

    assert is_estimated == cause.is_estimated
    assert is_estimated != cause.text.startswith("Bytes are counted by pg_stat_io.")
    assert read_bytes_per_s == pytest.approx(cause.read_bytes_per_s, rel=0.01)


def test_the_run_that_goes_on_is_added_to_those_that_ended():
    """One that read 600 MB and ended is counted; of the next one, half a minute at 20 MB/s is estimated."""
    seen = watched(written=0.0)
    toast = next(r for r in seen.last.relations if r.owner_oid)

    def at(moment_s: float, pid: int, blocks: float) -> Glance:
        run = vacuum(toast, pid=pid, scanned_blocks=round(blocks), running_s=moment_s - pid)
        return glance(moment_s, vacuums=(run,))

    page = BLOCK_BYTES
    both = msgspec.structs.replace(
        seen,
        last=msgspec.structs.replace(seen.last, io=(io_row("autovacuum worker", "vacuum", read_bytes=600e6),)),
        glances=(at(5, 5, 100e6 / page), at(25, 5, 600e6 / page), at(30, 30, 0), at(60, 30, 600e6 / page)),
    )
    (cause,) = causes(both, budget(10e6, 0.0, ceiling_bytes_per_s=CEILING))
    unread = msgspec.structs.replace(both, glances=both.glances[2:])
    (alone,) = causes(unread, budget(10e6, 0.0))
    begun = msgspec.structs.replace(both, glances=(*both.glances[:2], both.glances[3]))
    (known,) = causes(begun, budget(10e6, 0.0))

    assert "ran 2 times" in cause.title
    assert any("First check the updates" in remedy.text for remedy in cause.remedies)
    assert cause.bytes_per_s == pytest.approx(10e6 + 10e6, rel=0.01)
    assert cause.uncounted_bytes_per_s == pytest.approx(10e6, rel=0.01)
    assert cause.share_of_load == pytest.approx(20 / 20, rel=0.01)
    assert "ended vacuums are counted by pg_stat_io; the running one is estimated" in cause.text
    # Of one that was seen once nothing is known; what ended is.
    assert (10e6, 0.0) == (known.bytes_per_s, known.uncounted_bytes_per_s)
    # Alone it is told at the rate that it has while it runs, half a minute of the minute.
    assert alone.bytes_per_s == pytest.approx(20e6, rel=0.01)
    assert alone.uncounted_bytes_per_s == pytest.approx(10e6, rel=0.01)


def test_one_that_ended_after_the_last_glance_is_over():
    """The relation's own count says so; its bytes are counted then, and not added once more."""
    seen = watched()
    done = tuple(msgspec.structs.replace(r, autovacuum_count=1) if r.owner_oid else r for r in seen.last.relations)
    ended = msgspec.structs.replace(seen, last=msgspec.structs.replace(seen.last, relations=done))
    (cause,) = causes(ended, budget())

    assert "and has ended" in cause.title
    assert 0.0 == cause.uncounted_bytes_per_s


def vacuumed_before(seen: Observation) -> Observation:
    """The same, with three vacuums by hand before the first reading."""
    first, last = (
        msgspec.structs.replace(r, relations=tuple(msgspec.structs.replace(x, vacuum_count=3) for x in r.relations))
        for r in (seen.first, seen.last)
    )
    return msgspec.structs.replace(seen, first=first, last=last)


@pytest.mark.parametrize(
    ("seen", "words", "is_cancelled"),
    [
        # Those of other days are no sign that this one is over.
        (vacuumed_before(watched(is_automatic=False)), "scanning heap", True),
        # The last glance no longer sees it.
        (
            msgspec.structs.replace(watched(), glances=(*watched().glances, glance(70))),
            "ran for 1 h 1 min and has ended",
            False,
        ),
        # What prevents wraparound may only be slowed down.
        (watched(is_wraparound=True), "do not cancel it", False),
    ],
    ids=["other days", "over", "wraparound"],
)
def test_only_a_vacuum_that_runs_and_may_end_is_cancelled(seen: Observation, words: str, is_cancelled: bool):
    """No command ends what is over already, or what keeps the server alive."""
    (cause,) = causes(seen, budget(ceiling_bytes_per_s=CEILING))

    assert words in cause.title + cause.text
    assert is_cancelled == any("pg_cancel_backend" in c for r in cause.remedies for c in r.commands)


@pytest.mark.parametrize(("running_s", "words"), [(0.0, []), (40.0, ["25 % of its time"])])
def test_sleep_is_a_share_of_the_time_that_it_ran(running_s: float, words: list[str]):
    """A vacuum that was seen in its first moment has no share yet."""
    seen = watched()
    begun, later = (
        msgspec.structs.replace(g, vacuums=(msgspec.structs.replace(g.vacuums[0], running_s=running_s, delay_s=10.0),))
        for g in seen.glances
    )
    (cause,) = causes(msgspec.structs.replace(seen, glances=(begun, later)), budget())
    texts = [e.text for e in cause.evidence if e.kind == "delay"]

    assert len(words) == len(texts)
    assert all(word in text for word, text in zip(words, texts, strict=True))


def test_what_is_over_and_took_nothing_is_not_reported():
    """A vacuum that found its pages in memory is nothing to slow down; nor is a hundredth of the load."""
    seen = watched(written=0.0)
    small = msgspec.structs.replace(
        seen,
        last=msgspec.structs.replace(seen.last, io=(io_row("autovacuum worker", "vacuum", read_bytes=600e3),)),
        glances=(
            *(
                glance(5.0 + n, vacuums=(msgspec.structs.replace(g.vacuums[0], running_s=1.0 + n),))
                for n, g in enumerate(seen.glances)
            ),
            glance(60.0),
        ),
    )

    assert not causes(small, budget(10e6, 0.0))
    assert causes(small, budget(0.5e6, 0.0))
    assert causes(seen, budget(1e12, 0.0))


@pytest.mark.parametrize(("size_mb", "count"), [(1, 0), (100, 1)])
def test_a_moment_of_a_small_vacuum_is_not_reported(size_mb: int, count: int):
    """Seen once and over, before 16, so that nobody knows its bytes: of 1 MB read and written twice they are few."""
    small = table(7, "public.small", size_bytes=size_mb * 1_000_000)
    seen = without_io(
        observation(
            reading(START_S, relations=(small,)),
            reading(START_S + 60, relations=(small,)),
            glances=(glance(5, vacuums=(vacuum(small, running_s=0.2),)), glance(6), glance(60)),
        )
    )

    assert count == len(causes(seen, budget(10e6, 10e6)))
    # Without a load its size alone tells.
    assert count == len(causes(seen, budget(None, None)))


def test_runs_too_short_for_a_glance_are_summed():
    """What autovacuum did unseen is reported, with the tables it ended with, by what it read and wrote."""

    def cause_of_runs(count: int, load: float, *, written: float = 0.0, read: float = 6000e6) -> Cause:
        seen = msgspec.structs.replace(inside(read=read, own_blocks=0), glances=())
        relations = tuple(msgspec.structs.replace(r, autovacuum_count=count) for r in seen.last.relations)
        last = msgspec.structs.replace(seen.last, relations=relations)
        (cause,) = causes(msgspec.structs.replace(seen, last=last), budget(load, written))
        return cause

    # 100 MB/s of 210, and of 3,000; what came once is chance.
    assert ("AutovacuumIo", "public.orders") == (cause_of_runs(2, 210e6).code, cause_of_runs(2, 210e6).subject)
    assert ["critical", "note", "note"] == [
        cause_of_runs(*case).severity for case in ((2, 210e6), (2, 3000e6), (1, 210e6))
    ]
    assert "is chance" in cause_of_runs(1, 210e6).text
    # 6 MB/s read and 0.1 MB/s written are 6.1 MB/s of the load.
    small = cause_of_runs(2, 10e6, written=2.2e6, read=360e6)
    assert small.share_of_load == pytest.approx(0.5)
    assert (small.read_bytes_per_s, small.written_bytes_per_s) == pytest.approx((6e6, 1e5))


def test_a_large_vacuum_that_ended_in_a_plateau_is_recalled():
    """Nothing runs any more; the end of the last one while storage was at a ceiling is reported."""
    owner, toast = toast_of(table(16384, "public.documents"), size_bytes=2 * GIB, last_autovacuum_s=START_S - 100)
    seen = observation(reading(relations=(owner, toast)), reading(START_S + 60, relations=(owner, toast)))
    (cause,) = causes(seen, budget(plateaus=((START_S - 500, START_S),)))

    assert ("VacuumDuringPlateau", "public.documents (TOAST)") == (cause.code, cause.subject)
    assert not causes(seen, budget(plateaus=((START_S - 50, START_S),)))


def test_without_vacuums_nothing_is_reported():
    """A server whose autovacuum moved less than a hundredth of the load is silent."""
    seen = msgspec.structs.replace(inside(read=6e6, own_blocks=0), glances=())

    assert not causes(seen, budget(200e6, 100e6))
