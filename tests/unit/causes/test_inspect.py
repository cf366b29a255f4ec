"""Every detector over one observation: what is run, in which order, and what silence means."""

from importlib import import_module
from inspect import isfunction, signature
from pkgutil import walk_packages

import pytest
from msgspec.structs import replace

import databases
import plimsoll.causes
from plimsoll.causes import inspect as composition
from plimsoll.causes.inspect import DETECTORS, inspect
from plimsoll.model.cause import Cause, CauseKind


def quiet(seconds=60, **changes):
    """Two readings so many seconds apart of a server that does nothing."""
    return databases.observation(
        databases.reading(io=()), databases.reading(databases.START_S + seconds, io=()), **changes
    )


def found(kind, severity, written=None):
    """A cause with so many bytes."""
    return Cause(
        kind=kind,
        code=f"{kind}{severity}",
        severity=severity,
        subject="",
        title="it is so",
        written_bytes_per_s=written,
    )


def test_every_detector_that_there_is_is_run():
    """A module of `causes` with a function `causes(observation, budget)` is in the list."""
    modules = [import_module(module.name) for module in walk_packages(plimsoll.causes.__path__, "plimsoll.causes.")]
    there = {m.__name__ for m in modules if _detects(m)}

    assert there == {detect.__module__ for detect in DETECTORS}


def test_every_detector_with_missing_data_reports_it():
    """A detector with a function `missing_of(observation)` is in the list of those that report gaps."""
    modules = [import_module(detect.__module__) for detect in DETECTORS]
    there = {m.__name__ for m in modules if isfunction(getattr(m, "missing_of", None))}

    assert there == {missing.__module__ for missing in composition._REPORT_GAPS}


def _detects(module):
    """Whether it has a detector of its own."""
    detect = getattr(module, "causes", None)
    return (
        isfunction(detect)
        and detect.__module__ == module.__name__
        and ["observation", "budget"] == list(signature(detect).parameters)
    )


def test_a_server_that_does_nothing_has_no_cause():
    """NoAnswer where there is nothing, for every detector."""
    inspection = inspect(quiet())

    assert () == inspection.causes
    assert () == inspection.missing
    assert 0.0 == inspection.load_read_bytes_per_s == inspection.load_written_bytes_per_s


def test_shares_are_of_what_running_vacuums_do_as_well(monkeypatch):
    """The server counts a vacuum when it ends; until then its estimate is a part of the whole for all."""
    owner, toast = databases.toast_of(databases.table(10, "public.a"), size_bytes=8 * 1024**3)
    runs = [databases.vacuum(toast, scanned_blocks=round(mb * 1e6 / 8192), running_s=60.0 + mb) for mb in (0, 600)]
    seen = databases.observation(
        databases.reading(relations=(owner, toast), io=()),
        databases.reading(
            databases.START_S + 60,
            relations=(owner, toast),
            io=(databases.io_row("client backend", written_bytes=1800e6),),
        ),
        glances=tuple(databases.glance(60.0 * n, vacuums=(run,)) for n, run in enumerate(runs)),
    )
    budgets = []
    monkeypatch.setattr(composition, "DETECTORS", (lambda o, b: budgets.append(b) or (),))
    inspect(seen)

    assert 40e6 == pytest.approx(budgets[0].load_bytes_per_s, rel=0.01)
    assert 0.5 == pytest.approx(budgets[0].of_load(20e6), rel=0.01)


def test_the_worst_comes_first_then_the_largest(monkeypatch):
    """Causes of all detectors stand in one order."""
    made = (
        found(CauseKind.WAL, "warning", 9e6),
        found(CauseKind.CONNECTIONS, "critical"),
        found(CauseKind.TOAST, "warning", 20e6),
        found(CauseKind.VACUUM, "note", 30e6),
    )
    monkeypatch.setattr(composition, "DETECTORS", tuple(lambda o, b, one=one: (one,) for one in made))
    inspection = inspect(quiet())

    assert [made[1], made[2], made[0], made[3]] == list(inspection.causes)
    assert any("do not add their shares" in note for note in inspection.notes)


def test_the_ceiling_reaches_every_detector(monkeypatch):
    """Shares are of the ceiling that was given."""
    budgets = []
    monkeypatch.setattr(composition, "DETECTORS", (lambda o, b: budgets.append(b) or (),))
    inspection = inspect(quiet(), ceiling_bytes_per_s=287.5e6, ceiling_name="instance")

    assert (287.5e6, "instance") == (budgets[0].ceiling_bytes_per_s, budgets[0].ceiling_name)
    assert (287.5e6, "instance") == (inspection.ceiling_bytes_per_s, inspection.ceiling_name)


def test_one_reading_is_no_health(monkeypatch):
    """Without a second reading no detector runs, and nothing can be reported."""
    monkeypatch.setattr(composition, "DETECTORS", (lambda o, b: 1 / 0,))
    one = databases.reading()
    inspection = inspect(databases.observation(one, one, missing=(("last reading", "It died."),)))

    assert () == inspection.causes
    assert 1 == inspection.reading_count
    assert [("a second reading", "verdict"), ("last reading", "")] == [
        (gap.name, gap.hides) for gap in inspection.missing
    ]


@pytest.mark.parametrize(
    ("name", "hides"), [("sessions", "connections"), ("relations", "vacuum"), ("statements", "statements")]
)
def test_what_was_not_read_is_handed_on_with_what_it_hides(name, hides):
    """The remedy is the reader's; what is hidden follows from the detectors."""
    inspection = inspect(quiet(missing=((name, "GRANT pg_monitor TO watcher;"),)))

    assert [name] == [gap.name for gap in inspection.missing]
    assert hides in inspection.missing[0].hides
    assert "GRANT pg_monitor TO watcher;" == inspection.missing[0].remedy


def test_remarks_on_the_window_are_notes():
    """That somebody interrupted it is no gap."""
    inspection = inspect(quiet(missing=(("window", "It was interrupted."),)))

    assert () == inspection.missing
    assert "It was interrupted." == inspection.notes[0]


def before_16(**changes):
    """A minute of a PostgreSQL 15, with counters that grew so much."""
    return databases.observation(
        databases.reading(counters=databases.counters(backend_written_bytes=0.0, wal_bytes=0.0)),
        databases.reading(
            databases.START_S + 60,
            counters=databases.counters(**({"backend_written_bytes": 0.0, "wal_bytes": 0.0} | changes)),
        ),
        databases.server(version="15.18", version_number=150_018),
    )


def test_before_16_pages_by_which_files_grew_are_not_read():
    """They are counted among the blocks read, and written only."""
    orders = databases.table(100, "public.orders", size_bytes=8192 * 1000)
    seen = before_16(blocks_read=60_000, backend_written_bytes=180e6)
    grown = replace(
        seen,
        first=replace(seen.first, relations=(orders,)),
        last=replace(seen.last, relations=(replace(orders, size_bytes=8192 * 7000),)),
    )

    assert 900 * 8192 == inspect(grown).load_read_bytes_per_s


def test_before_16_the_load_is_estimated_and_reported():
    """Blocks read, blocks by who wrote them, temporary files and WAL, each counted once; the files are read back."""
    inspection = inspect(
        before_16(
            blocks_read=60_000,
            checkpoint_written_bytes=60e6,
            background_written_bytes=120e6,
            backend_written_bytes=180e6,
            temp_bytes=240_000_000,
            wal_bytes=600e6,
        )
    )

    assert inspection.load_is_estimated
    assert 1000 * 8192 + 4e6 == inspection.load_read_bytes_per_s
    assert 20e6 == inspection.load_written_bytes_per_s
    assert any("15.18 does not count its system I/O" in note for note in inspection.notes)
    assert not inspect(quiet()).load_is_estimated


def test_a_server_that_counts_no_bytes_has_no_load():
    """Where not even checkpoints could be read, the whole is not known, and is not zero."""
    still = databases.reading(), databases.reading(databases.START_S + 60)
    old = databases.server(version="15.4", version_number=150004)
    inspection = inspect(databases.observation(*still, old))

    assert inspection.load_read_bytes_per_s is None
    assert inspection.load_written_bytes_per_s is None
    assert not inspection.load_is_estimated


def test_a_short_look_says_that_it_was_short():
    """Three seconds tell less than a minute, and a minute needs no excuse."""
    short, ten, minute = (inspect(quiet(seconds)).notes for seconds in (3, 10, 60))

    assert any(note.startswith("3 s is short") for note in short)
    assert not any("short" in note for note in (*ten, *minute))


def test_a_standby_is_pointed_to_its_primary():
    """Writes come from elsewhere, and commands can only be run there."""
    inspection = inspect(replace(quiet(), server=databases.server(is_standby=True)))

    assert inspection.is_standby
    assert any("primary" in note for note in inspection.notes)
