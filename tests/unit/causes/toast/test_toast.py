"""When the counters of a TOAST relation are called a rewrite, and when they are not."""

import msgspec
import pytest

from databases import CHUNK_BYTES, budget, column, reading, seen, server, statement, table, toast_of
from plimsoll.causes.toast.statements import columns_set
from plimsoll.causes.toast.toast import causes, missing_of
from plimsoll.model.database import Observation
from plimsoll.model.toast import ToastSample, chunks_of, dead_rows_of_update

ROWS = 1000


def sent(
    *,
    updates: int = 6000,
    chunks: int = 5,
    written: int | None = None,
    dead: int | None = None,
    columns=("body",),
    statements: tuple[str, ...] = (),
    **changes,
) -> Observation:
    """A minute of updates, each of which leaves `chunks` chunks dead and writes as many."""
    plain = table(16384, "public.documents", live_rows=ROWS, columns=tuple(column(name) for name in columns))
    owner, toast = toast_of(plain, live_rows=ROWS * chunks, size_bytes=ROWS * chunks * 2048)
    after = msgspec.structs.replace(owner, updated=updates)
    toast_after = msgspec.structs.replace(
        toast,
        inserted=updates * chunks if written is None else written,
        deleted=updates * chunks if dead is None else dead,
    )
    watched = seen((owner, toast), (after, toast_after), **changes)
    if not statements:
        return watched
    found = tuple(statement(text, calls=updates) for text in statements)
    first = msgspec.structs.replace(watched.first, statements=())
    last = msgspec.structs.replace(watched.last, statements=found)
    return msgspec.structs.replace(watched, first=first, last=last)


def sample(same: int, changed: int) -> ToastSample:
    """Ten seconds of logical decoding."""
    return ToastSample(
        table="public.documents",
        column="body",
        seconds=10.0,
        untouched=5,
        resent_same=same,
        resent_changed=changed,
        resent_unknown=0,
    )


def test_a_value_of_five_chunks_leaves_six_dead_rows():
    """An update that sends a value of 9,980 bytes leaves 6 dead rows at 1,996 bytes a chunk."""
    assert 6 == dead_rows_of_update(9980, CHUNK_BYTES)
    assert 7 == dead_rows_of_update(10_000, CHUNK_BYTES)
    assert 6 == dead_rows_of_update(10_000, 2000)
    assert 0 == chunks_of(0, CHUNK_BYTES)


def test_what_may_have_changed_is_no_more_than_a_warning():
    """Without a sample or a statement, half the load is a warning; a sample makes it critical."""
    alone = sent()
    sampled = msgspec.structs.replace(alone, toast_samples=(sample(same=500, changed=0),))

    (guess,) = causes(alone, budget(written=4e6))
    (known,) = causes(sampled, budget(written=4e6))

    assert ("warning", "critical") == (guess.severity, known.severity)
    assert "ToastValuesRewritten" == known.code


def test_only_the_unchanged_share_of_a_sample_counts():
    """Where a sample saw three quarters unchanged, three quarters of the bytes are wasted."""
    alone = sent()
    sampled = msgspec.structs.replace(alone, toast_samples=(sample(same=300, changed=100),))
    (every,) = causes(alone, budget())
    (some,) = causes(sampled, budget())

    assert every.bytes_per_s * 0.75 == pytest.approx(some.bytes_per_s)


def loaded(owner: dict[str, int], toast: dict[str, int], *, live_rows: int = ROWS) -> Observation:
    """A minute in which these rows of the table and chunks of its values were counted."""
    before, chunks = sent().first.relations
    if not live_rows:
        before, chunks = (msgspec.structs.replace(r, live_rows=0) for r in (before, chunks))
    after = msgspec.structs.replace(before, updated=6000, **owner)
    return seen((before, chunks), (after, msgspec.structs.replace(chunks, **toast)))


GUARDED = (
    "INSERT INTO documents AS d (id, body) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE "
    "SET body = EXCLUDED.body WHERE d.body IS DISTINCT FROM EXCLUDED.body"
)


@pytest.mark.parametrize(
    "watched",
    [
        # A sample in which all values differ from those stored ends the suspicion.
        msgspec.structs.replace(sent(), toast_samples=(sample(same=2, changed=400),)),
        # Updates that write more chunks than they leave dead change their values.
        sent(written=36_000, dead=30_000),
        sent(written=30_000, dead=36_000),
        # What is still written where the statement compares first has changed.
        sent(statements=(GUARDED,)),
        # Inserts and deletes move chunks as well; without replaced values nothing is reported.
        sent(written=0, dead=0),
        loaded({"inserted": 500, "deleted": 500}, {"inserted": 2500, "deleted": 2500}),
    ],
    ids=["sampled", "growing", "shrinking", "compared", "untouched", "came and went"],
)
def test_values_that_change_or_are_left_alone_are_no_finding(watched: Observation):
    """Only values that are sent again are one."""
    assert not causes(watched, budget())


def test_a_statement_that_sets_the_whole_row_makes_it_likely():
    """A program that sets all columns does not look what changed; one that sets one means to."""
    whole = "UPDATE documents SET title = $1, body = $2, status = $3, updated_at = $4 WHERE id = $5"
    narrow = "UPDATE public.documents SET body = $1, updated_at = $2 WHERE id = $3"
    (likely,) = causes(sent(statements=(whole,)), budget(written=4e6))
    (meant,) = causes(sent(statements=(narrow,)), budget(written=4e6))

    assert ("critical", "note") == (likely.severity, meant.severity)
    assert "set 4 columns at once" in likely.evidence[-1].text
    assert "Counters do not show whether" in meant.text


def test_of_several_columns_it_is_reported_that_none_is_sure():
    """
    Two columns that are both out of line are both named, and neither is the subject, unless a statement
    sets it.
    """
    (cause,) = causes(sent(columns=("body", "scan")), budget())
    (told,) = causes(
        sent(columns=("body", "scan"), statements=("update documents set scan = $1 where id = $2",)), budget()
    )

    assert "public.documents" == cause.subject
    assert "body, scan (one or more of them" in cause.text
    assert "public.documents.scan" == told.subject


@pytest.mark.parametrize(
    ("owner", "toast", "live_rows"),
    [
        # Chunks of rows that came and went are taken off before updates are counted.
        ({"inserted": 400, "deleted": 400}, {"inserted": 32_000, "deleted": 32_000}, ROWS),
        # As many rows inserted as updated: their chunks are not taken for values that grow.
        ({"inserted": 6000}, {"inserted": 60_000, "deleted": 30_000}, ROWS),
        # Rows that were counted after a reset tell how much is theirs.
        ({"inserted": 6000, "live_rows": 6000}, {"inserted": 60_000, "deleted": 30_000, "live_rows": 30_000}, 0),
    ],
    ids=["came and went", "many came", "counted later"],
)
def test_rewrites_show_next_to_inserts_and_deletes(owner, toast, live_rows):
    """Six dead rows for each update remain, and values do not grow."""
    (cause,) = causes(loaded(owner, toast, live_rows=live_rows), budget())

    assert 6 == cause.evidence[0].value
    assert 0 == cause.evidence[1].value
    assert "corrected" in cause.evidence[0].text


@pytest.mark.parametrize(("inserted", "deleted"), [(12_000, 6000), (100, 0), (0, 100)], ids=["both", "came", "went"])
def test_rows_that_came_or_went_hide_rewrites_where_rows_were_not_counted(inserted, deleted):
    """After a reset of statistics no row is counted as alive: nothing says which chunks are theirs."""
    chunks = {"inserted": 60_000, "deleted": 60_000}
    watched = loaded({"inserted": inserted, "deleted": deleted}, chunks, live_rows=0)

    assert () == causes(watched, budget())


def test_updates_alone_show_rewrites_though_rows_were_not_counted():
    """There were no inserts or deletes, so all chunks are of updates."""
    watched = sent()
    before, toast = (
        tuple(msgspec.structs.replace(r, live_rows=0) for r in reading.relations)
        for reading in (watched.first, watched.last)
    )
    (cause,) = causes(seen(before, toast), budget())

    assert 6 == cause.evidence[0].value


def test_bytes_hold_for_every_size_of_value():
    """From two chunks on, whatever the size and however rows fill pages, bytes are within 15 %."""
    # Bytes of a value; per chunk, the space and the WAL beside the data, measured on PostgreSQL 18.
    for size, space, wal in ((1997, 365, 178), (3000, 548, 178), (9980, 52, 190), (50_000, 125, 196)):
        chunks = chunks_of(size, CHUNK_BYTES)
        true = 100 * (2 * size + chunks * (space + wal + 20))
        watched = sent(chunks=chunks)
        place = size / chunks + space
        relations = tuple(
            msgspec.structs.replace(r, size_bytes=round(ROWS * chunks * place)) if r.kind == "toast" else r
            for r in watched.last.relations
        )
        last = msgspec.structs.replace(watched.last, relations=relations)
        (cause,) = causes(msgspec.structs.replace(watched, last=last), budget())

        assert cause.bytes_per_s == pytest.approx(true, rel=0.15), size


def test_a_bloated_relation_does_not_double_the_bytes():
    """Free space in the TOAST relation is not taken for data."""
    watched = sent()
    relations = tuple(msgspec.structs.replace(r, size_bytes=r.size_bytes * 10) for r in watched.last.relations)
    last = msgspec.structs.replace(watched.last, relations=relations)
    (cause,) = causes(msgspec.structs.replace(watched, last=last), budget())

    assert cause.bytes_per_s == pytest.approx(500 * 4249, rel=0.15)


def test_an_unknown_chunk_size_follows_from_the_block():
    """Four rows of a TOAST relation fill a page: 1,996 bytes each of 8,192."""
    found = server(toast_chunk_bytes=None)
    (known,) = causes(sent(), budget())
    (derived,) = causes(sent(server_info=found), budget())

    assert known.bytes_per_s == derived.bytes_per_s


def test_counters_that_were_reset_are_named_as_missing():
    """After a reset between the readings nothing is claimed, and the gap is reported."""
    watched = sent()
    turned = msgspec.structs.replace(
        watched,
        first=reading(watched.first.time_s, relations=watched.last.relations),
        last=reading(watched.last.time_s, relations=watched.first.relations),
    )

    assert not causes(turned, budget())
    assert "table statistics" in {missing.name for missing in missing_of(turned)}


def test_assignments_are_read_out_of_a_statement():
    """Quoted names, functions with commas and upserts are understood; `body = body` sets nothing."""
    assert ("a", "b") == columns_set("update t set a = f(x, y), b = $1 where a = 3", "public.t")
    assert ("Body",) == columns_set('UPDATE ONLY "t" AS x SET "Body" = $1', "public.t")
    assert () == columns_set("update t set body = body where id = 1", "public.t")
    assert () == columns_set("update other.t set body = $1", "public.t")
    assert ("body",) == columns_set(
        "insert into public.t (id, body) values ($1,$2) on conflict (id) do update set body = excluded.body", "public.t"
    )
    assert () == columns_set("select 1", "public.t")
