"""Checkpoints, WAL, temporary files: what each takes, and when that is more than a note."""

import msgspec
import pytest

from databases import (
    START_S,
    WINDOW_S,
    budget,
    counters,
    glance,
    io_row,
    observation,
    reading,
    server,
    session,
    statement,
    with_settings,
)
from plimsoll.causes.budget import budget_of
from plimsoll.causes.statements import temporary_files
from plimsoll.causes.wal import checkpoints, wal
from plimsoll.causes.wal.pace import pace_of
from plimsoll.model.cause import Cause
from plimsoll.model.database import Observation
from plimsoll.units import GIB, KIB

MB = 1e6
SETTINGS = {
    "max_wal_size": "1024",
    "checkpoint_timeout": "300",
    "checkpoint_completion_target": "0.9",
    "wal_compression": "off",
    "work_mem": "4096",
    "hash_mem_multiplier": "2",
}


def minute(*, info=None, first=None, last=None, statements=(None, None), **changes) -> Observation:
    """A minute of a server with default settings; counters begin at zero."""
    before = reading(START_S, counters=counters(**(first or {})), statements=statements[0])
    after = reading(START_S + WINDOW_S, counters=counters(**(last or {})), statements=statements[1])
    return observation(before, after, info or with_settings(server(), SETTINGS), **changes)


def of_wal(rate: float, **last) -> Observation:
    """A minute in which WAL is generated at a rate, and pages are written by checkpoints at 12 MB/s."""
    counted = {
        "wal_bytes": rate * WINDOW_S,
        "wal_full_pages": round(rate * WINDOW_S * 0.75 / 8192),
        "checkpoint_written_bytes": 12 * MB * WINDOW_S,
    }
    return minute(first={"wal_bytes": 0.0, "wal_full_pages": 0}, last=counted | last)


def only(found: tuple[Cause, ...]) -> Cause:
    (cause,) = found
    return cause


def test_too_small_a_max_wal_size_is_reported_with_the_size_it_should_have():
    """40 MB/s of WAL in 1 GiB: 565 MB trigger a checkpoint every 14 s; 300 s need 24 GiB and a little."""
    seen = of_wal(40 * MB, checkpoints_requested=4)
    cause = only(checkpoints.causes(seen, budget(10 * MB, 60 * MB)))
    pace = pace_of(seen)

    assert pytest.approx(GIB / 1.9) == pace.trigger_bytes
    assert pytest.approx(GIB / 1.9 / (40 * MB)) == pace.interval_s
    assert ("CheckpointsByWal", "critical") == (cause.code, cause.severity)
    assert pytest.approx(12 * MB) == cause.written_bytes_per_s
    assert 24 * GIB == pace.max_wal_bytes_for(300)
    assert (("max_wal_size", "24576MB"),) == cause.remedies[0].settings
    assert 40 * MB * 300 * 1.9 < 24 * GIB < 40 * MB * 300 * 1.9 * 1.2
    assert "every 14 s instead of every 5 min" in cause.title


def test_zeros_of_new_log_files_are_not_taken_for_small_commits():
    """A young server fills each log file before it uses it; bytes are written twice, commits are not small."""
    seen = of_wal(8 * MB)
    rows = [
        io_row("client backend", object="wal", written_bytes=8.2 * MB * WINDOW_S),
        io_row("client backend", "init", object="wal", written_bytes=8 * MB * WINDOW_S),
    ]
    young = msgspec.structs.replace(
        seen, first=msgspec.structs.replace(seen.first, io=()), last=msgspec.structs.replace(seen.last, io=tuple(rows))
    )
    cause = only(wal.causes(young, budget(0.0, 30 * MB)))

    assert "filled with zeros" in cause.text
    assert "8 MB/s of it zeros of new files" in cause.evidence[0].text
    assert not any("synchronous_commit" in c for r in cause.remedies for c in r.commands)


def test_room_for_wal_has_an_end():
    """200 MB/s for 300 s would take 117 GiB: less is advised, and what that gives."""
    cause = only(checkpoints.causes(of_wal(200 * MB, checkpoints_requested=40), budget(0.0, 300 * MB)))

    assert (("max_wal_size", "65536MB"),) == cause.remedies[0].settings
    assert "117 GiB" in cause.remedies[0].text
    assert "every 3 min" in cause.remedies[0].expected
    assert 1 == len(cause.remedies)
    assert "every 2.8 s" in cause.title


def test_its_wal_is_reported_as_whole_pages_that_need_not_be():
    """Three quarters of WAL are whole pages; the share that rarer checkpoints would save sets severity."""
    seen = of_wal(40 * MB, checkpoints_requested=4)
    cause = only(wal.causes(seen, budget(10 * MB, 60 * MB)))

    assert ("WalFullPages", "critical") == (cause.code, cause.severity)
    assert pytest.approx(40 * MB) == cause.written_bytes_per_s
    assert "75 %" in cause.title
    assert any(("wal_compression", "lz4") in r.settings for r in cause.remedies)


def ever(requested: int, timed: int) -> Observation:
    """A minute without a checkpoint of a server that had so many before it."""
    before = {"checkpoints_requested": requested, "checkpoints_timed": timed}
    counted = {"wal_bytes": 40 * MB * 60, "checkpoint_written_bytes": 12 * MB * 60} | before
    return minute(first={"wal_bytes": 0.0} | before, last=counted)


@pytest.mark.parametrize(
    ("seen", "code", "says"),
    [
        # No checkpoint in this minute, but nearly all before it were requested.
        (ever(90, 3), "CheckpointsByWal", ""),
        # Four that filled a young server tell nothing of this minute.
        (ever(4, 1), "CheckpointWrites", ""),
        # One at a rate that would fill the room in time.
        (of_wal(40 * MB, checkpoints_requested=1), "CheckpointsRequested", "Inspect for longer"),
        # CHECKPOINT by hand at a rate that would wait for its time.
        (of_wal(1 * MB, checkpoints_requested=3), "CheckpointsRequested", "not by WAL"),
    ],
    ids=["habit", "young", "seen once", "by hand"],
)
def test_the_habit_of_a_server_counts_where_the_window_is_short(seen: Observation, code: str, says: str):
    """Requests that WAL does not explain are a note."""
    cause = only(checkpoints.causes(seen, budget(0.0, 60 * MB)))

    assert code == cause.code
    assert says in cause.text
    assert not says or "note" == cause.severity


def test_timed_checkpoints_are_a_note_however_much_they_write():
    """A healthy server: three quarters of all bytes are checkpoints and WAL, and nothing is wrong."""
    seen = of_wal(1 * MB, checkpoints_timed=1)
    found = [only(checkpoints.causes(seen, budget(0.0, 13 * MB))), only(wal.causes(seen, budget(0.0, 13 * MB)))]

    assert [("CheckpointWrites", "note"), ("WalWrites", "note")] == [(cause.code, cause.severity) for cause in found]
    assert pytest.approx(12 / 13) == found[0].share_of_load


def test_a_burst_is_spread():
    """A completion target of 0.5 writes the same in half the time."""
    configured = with_settings(server(), SETTINGS | {"checkpoint_completion_target": "0.5"})
    seen = minute(info=configured, last={"checkpoint_written_bytes": 12 * MB * 60})
    cause = only(checkpoints.causes(seen, budget(0.0, 13 * MB)))

    assert (("checkpoint_completion_target", "0.9"),) == cause.remedies[0].settings
    assert "56 %" in cause.remedies[0].expected


STANDBY = with_settings(server(is_standby=True), SETTINGS)
LARGE = {"wal_bytes": 9e12, "checkpoint_written_bytes": 9e12, "temp_bytes": 10**12}
SMALL = {"wal_bytes": 1e9, "checkpoint_written_bytes": 1e9, "temp_bytes": 10**9}


@pytest.mark.parametrize(
    "observed",
    [
        minute(first={"wal_bytes": 0.0}, last={"wal_bytes": 1000.0}),
        minute(first=LARGE, last=SMALL),
        # What a standby replays is not its own.
        minute(info=STANDBY, last={"wal_bytes": 9e9}),
    ],
    ids=["writes nothing", "was reset", "standby"],
)
def test_nothing_is_said_of_what_is_not_written(observed: Observation):
    """No WAL, no checkpoints, no temporary files; or counters that went back."""
    for detector in (checkpoints, wal, temporary_files):
        assert () == detector.causes(observed, budget(5 * MB, 5 * MB))


@pytest.mark.parametrize(("version", "written"), [(170_009, 1 * MB), (180_000, 8 * MB)])
def test_written_wal_is_counted_from_the_first_18_on(version: int, written: float):
    """
    18.0 counts it already: small commits write eight times what is generated, and it stays a note. Before,
    rows of that name are somebody else's and what was generated stands.
    """
    before = reading(START_S, counters=counters(wal_bytes=0.0), io=())
    row = io_row("client backend", object="wal", written_bytes=8 * MB * 60)
    after = reading(START_S + 60, counters=counters(wal_bytes=1 * MB * 60), io=(row,))
    configured = with_settings(server(version_number=version), SETTINGS)
    cause = only(wal.causes(observation(before, after, configured), budget(0.0, 9 * MB)))

    assert pytest.approx(written) == cause.written_bytes_per_s
    assert "note" == cause.severity
    assert (version >= 180_000) == any("one transaction" in remedy.text for remedy in cause.remedies)


def test_of_many_statements_the_three_with_the_most_wal_are_named():
    """In their order, whichever came first."""
    rates = {"select a": 2, "select b": 8, "select c": 4, "select d": 16}
    first = tuple(statement(text, query_id=n) for n, text in enumerate(rates))
    last = tuple(
        statement(text, query_id=n, calls=60, wal_bytes=rate * MB * 60) for n, (text, rate) in enumerate(rates.items())
    )
    seen = minute(first={"wal_bytes": 0.0}, last={"wal_bytes": 40 * MB * 60}, statements=(first, last))
    cause = only(wal.causes(seen, budget(0.0, 40 * MB)))
    named = [piece.text for piece in cause.evidence if piece.kind == "statement"]

    assert named == ["16 MB/s by select d", "8 MB/s by select b", "4 MB/s by select c"]


@pytest.mark.parametrize(("wal_mb", "is_told"), [(0.8, False), (1.2, True)])
def test_wal_is_worth_a_line_from_a_hundredth_of_the_load_on(wal_mb: float, is_told: bool):
    """Of 100 MB/s; a smaller part explains nothing."""
    seen = minute(first={"wal_bytes": 0.0}, last={"wal_bytes": wal_mb * MB * WINDOW_S})

    assert is_told == bool(wal.causes(seen, budget(60 * MB, 40 * MB)))


def test_wal_whose_pages_are_not_counted_has_no_whole_pages():
    """Without a count of full-page images, none are assumed to be avoidable."""
    seen = minute(first={"wal_bytes": 0.0}, last={"wal_bytes": 0.3 * MB * WINDOW_S})
    cause = only(wal.causes(seen, budget(0.0, 1 * MB)))

    assert "at most 0 % of it are full-page images" in cause.title


def spilled(**changes) -> Observation:
    """A minute of 20 MB/s into files of 20 MB, with five sessions at work at once."""
    busy = glance(1.0, sessions=tuple(session(pid=n, state="active") for n in range(5)))
    return minute(last={"temp_bytes": round(20 * MB * 60), "temp_files": 60}, glances=(busy,), **changes)


def spilled_by(text: str, load: tuple[float, float] = (10 * MB, 50 * MB), **counted) -> Cause:
    """What is found of one statement that spilled in that minute."""
    seen = spilled(statements=((statement(text),), (statement(text, **counted),)))
    return only(temporary_files.causes(seen, budget(*load)))


def test_temporary_files_are_a_part_of_the_load():
    """20 MB/s written, as much read back by estimate; `pg_stat_io` has neither, and the load has both."""
    rows = ((io_row("client backend"),), (io_row("client backend", read_bytes=60 * MB * 60),))
    seen = spilled()
    seen = msgspec.structs.replace(
        seen, first=msgspec.structs.replace(seen.first, io=rows[0]), last=msgspec.structs.replace(seen.last, io=rows[1])
    )
    whole = budget_of(seen)
    cause = only(temporary_files.causes(seen, whole))

    assert pytest.approx(100 * MB) == whole.load_bytes_per_s

    assert "critical" == cause.severity
    assert pytest.approx(20 * MB) == cause.written_bytes_per_s
    assert pytest.approx(20 * MB) == cause.read_bytes_per_s
    assert cause.is_estimated
    assert pytest.approx(40 / 100) == cause.share_of_load


def test_work_mem_is_advised_with_its_price():
    """Files of 20 MB take 40 MB in memory, 38.1 MiB: 40 MB for each, 200 MiB for five sessions at work."""
    cause = only(temporary_files.causes(spilled(), budget(10 * MB, 50 * MB)))

    (command,) = cause.remedies[0].commands

    assert ["BEGIN;", "SET LOCAL work_mem = '40MB';", "-- the statement", "COMMIT;"] == (command.splitlines())
    assert "5 active sessions" in cause.remedies[0].text
    assert "200 MiB" in cause.remedies[0].text
    assert any(("log_temp_files", "10MB") in r.settings for r in cause.remedies)


def test_the_statement_tells_how_much_was_read_back():
    """With pg_stat_statements the reads are measured, and the statement is the subject."""
    text = "select * from orders order by note"
    blocks = round(20 * MB * 60 / 8192)
    cause = spilled_by(text, calls=6, temp_written_blocks=blocks, temp_read_blocks=2 * blocks)

    assert not cause.is_estimated
    assert pytest.approx(40 * MB, rel=1e-3) == cause.read_bytes_per_s
    assert text == cause.subject
    assert "SET LOCAL work_mem = '384MB';" in cause.remedies[0].commands[0]


def test_passes_of_a_merge_are_bytes_and_not_memory():
    """A file of 20 MB a second, each byte written three times: 60 MB/s, and memory for what one file takes."""
    blocks = round(60 * MB * 60 / 8192)
    load = (60 * MB, 60 * MB)
    cause = spilled_by("select 1 order by 1", load, calls=60, temp_written_blocks=blocks, temp_read_blocks=blocks)

    assert pytest.approx(120 * MB, rel=1e-3) == cause.bytes_per_s
    assert "written 3 times" in next(e.text for e in cause.evidence if e.kind == "passes")
    assert "SET LOCAL work_mem = '40MB';" in cause.remedies[0].commands[0]


def test_memory_is_not_advised_beyond_what_a_machine_has():
    """Files of 4 GB a call: the remedy is fewer rows."""
    cause = spilled_by("select 2", calls=1, temp_written_blocks=round(4e9 / 8192))

    assert () == cause.remedies[0].commands
    assert "fewer rows" in cause.remedies[0].text


def test_building_an_index_has_a_memory_of_its_own():
    """It is maintenance_work_mem that it spills from."""
    cause = spilled_by("CREATE INDEX ON orders (note)", calls=1, temp_written_blocks=round(20 * MB * 60 / 8192))

    assert "maintenance_work_mem" in cause.remedies[0].commands[0]


def test_a_few_small_files_are_a_note():
    """8 kB a second on a busy server."""
    seen = minute(last={"temp_bytes": 8 * KIB * 60, "temp_files": 3})

    assert "note" == only(temporary_files.causes(seen, budget(50 * MB, 50 * MB))).severity
