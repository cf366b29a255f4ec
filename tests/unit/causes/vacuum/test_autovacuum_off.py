"""Autovacuum that is off: once for the server, once for a table with its TOAST relation."""

import msgspec
import pytest

from databases import budget, seen, server, table, toast_of, with_settings
from plimsoll.causes.vacuum.autovacuum_off import causes
from plimsoll.causes.vacuum.autovacuum_settings import causes as settings_causes

MILLION = 1_000_000
OFF = {"autovacuum_enabled": "off"}


def documents(oid: int = 16384, *, toast_options=None, dead: int = 0, **changes):
    """Two million documents of ten chunks each."""
    plain = table(
        oid,
        f"public.documents_{oid}",
        size_bytes=2 * 1024**3,
        row_estimate=2.0 * MILLION,
        live_rows=2 * MILLION,
        dead_rows=dead,
        **changes,
    )
    return toast_of(
        plain,
        size_bytes=60 * 1024**3,
        row_estimate=20.0 * MILLION,
        live_rows=20 * MILLION,
        dead_rows=10 * dead,
        options=toast_options or {},
    )


def found_in(*relations, settings=None, dying: int = 0):
    """What is found in a minute in which so many rows of each relation die."""
    later = [msgspec.structs.replace(one, deleted=one.deleted + dying) for one in relations]
    return causes(seen(relations, later, with_settings(server(), settings or {})), budget())


def test_off_for_the_server_is_reported_once():
    """Five large tables, one finding: the dead rows of all, the worst table first, the way back on."""
    tables = [one for n in range(5) for one in documents(1000 * (n + 1), dead=n)]
    (found,) = found_in(*tables, settings={"autovacuum": "off"})

    assert ("AutovacuumOff", "warning", "") == (found.code, found.severity, found.subject)
    assert "110 dead rows" in found.title
    assert found.evidence[0].text.startswith("40 in pg_toast")
    assert (("autovacuum", "on"),) == found.remedies[0].settings


@pytest.mark.parametrize(
    ("relations", "settings", "code", "words"),
    [
        # `track_counts = off` switches it off as well.
        (documents(), {"track_counts": "off"}, "AutovacuumOff", "track_counts = off"),
        # Ids are used up whatever the size of the tables.
        ((), {"autovacuum": "off"}, "AutovacuumOff", ""),
        # The TOAST relation has a setting of its own.
        (documents(toast_options=OFF, dead=1), None, "AutovacuumDisabled", "10 in the TOAST relation"),
    ],
    ids=["no counters", "no large table", "values alone"],
)
def test_it_is_off_in_other_ways_too(relations, settings, code: str, words: str):
    """By another setting, on a small server, or for the values alone."""
    (found,) = found_in(*relations, settings=settings)

    assert code == found.code
    assert words in found.title + found.text


def test_one_command_covers_the_table_and_its_values():
    """Off for the table is off for its TOAST relation; one finding, and a remedy that ends both."""
    (found,) = found_in(*documents(options=OFF), dying=1000)

    assert ("AutovacuumDisabled", "warning") == (found.code, found.severity)
    assert (
        "ALTER TABLE public.documents_16384 RESET (autovacuum_enabled, toast.autovacuum_enabled);",
    ) == found.remedies[0].commands


def test_a_setting_that_has_done_no_harm_is_a_note():
    """Nothing dead and nothing dying; with dead rows beyond the trigger it is a warning."""
    quiet, due = found_in(*documents(options=OFF)), found_in(*documents(options=OFF, dead=MILLION))

    assert ["note"] == [cause.severity for cause in quiet]
    assert ["warning"] == [cause.severity for cause in due]


def test_many_tables_are_reported_in_part_and_counted():
    """Of eight tables five are reported one by one."""
    tables = [one for n in range(8) for one in documents(1000 * (n + 1), options=OFF, dead=MILLION)]

    assert 6 == len(found_in(*tables))


def test_a_trigger_that_never_fires_is_not_judged_as_well():
    """A table with autovacuum off is not also reported as vacuumed too late."""
    pair = documents(options=OFF, updated=900 * MILLION, inserted=MILLION)

    assert () == settings_causes(seen(pair, pair), budget())
