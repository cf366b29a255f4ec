"""A TOAST relation has the parameters of its table or its own, the whole set of one or the other."""

import pytest
from msgspec.structs import replace

from databases import WINDOW_S, budget, seen, table, toast_of, vacuum, with_settings
from databases import glance as glance_at
from databases import server as plain_server
from plimsoll.causes.vacuum import autovacuum_off, autovacuum_settings, toast_options
from plimsoll.causes.vacuum import vacuum as vacuums
from plimsoll.causes.vacuum.runs import pace_of_run, runs_of

MIB = 1024**2
ROWS = 500_000
TOAST = "public.tc (TOAST)"


def pair(of_table: dict[str, str], of_toast: dict[str, str]):
    """A table that is updated often, and its TOAST relation, with parameters."""
    owner = table(
        100,
        "public.tc",
        options=of_table,
        size_bytes=200 * MIB,
        live_rows=ROWS,
        row_estimate=float(ROWS),
        inserted=1_000,
        updated=2_000_000,
    )
    return toast_of(
        owner,
        options=of_toast,
        size_bytes=900 * MIB,
        live_rows=ROWS,
        row_estimate=float(ROWS),
        updated=0,
        deleted=100_000,
    )


def looked(of_table: dict[str, str], of_toast: dict[str, str]):
    relations = pair(of_table, of_toast)
    return seen(relations, relations)


def trigger(of_table: dict[str, str], of_toast: dict[str, str]):
    watched = looked(of_table, of_toast)
    owner, toast = watched.last.relations
    return autovacuum_settings.trigger_of(watched, toast, owner)


@pytest.mark.parametrize(
    ("of_table", "of_toast", "enabled", "scale_factor"),
    [
        ({"autovacuum_enabled": "off"}, {}, False, 0.2),
        ({"autovacuum_enabled": "off"}, {"autovacuum_vacuum_cost_delay": "1"}, True, 0.2),
        ({"autovacuum_enabled": "off"}, {"vacuum_truncate": "off"}, True, 0.2),
        ({"autovacuum_vacuum_scale_factor": "0.01"}, {}, True, 0.01),
        ({"autovacuum_vacuum_scale_factor": "0.01"}, {"autovacuum_vacuum_threshold": "9"}, True, 0.2),
    ],
)
def test_one_own_parameter_drops_all_of_the_table(of_table, of_toast, enabled, scale_factor):
    """As autovacuum chooses on 15 and 18: whatever the parameter is, also one of another kind."""
    found = trigger(of_table, of_toast)

    assert (enabled, scale_factor) == (found.is_enabled, found.scale_factor)


def running(relations, info=None, *, scanned: int = 9_000):
    """A minute in which the TOAST relation is vacuumed."""
    glances = (
        glance_at(1.0, vacuums=(vacuum(relations[1]),)),
        glance_at(WINDOW_S - 1, vacuums=(vacuum(relations[1], scanned_blocks=scanned),)),
    )
    return seen(relations, relations, info, glances=glances)


def test_the_pace_is_of_one_set_too():
    """A cost limit of the table does not bound its TOAST relation once that has a parameter."""
    limited = {"autovacuum_vacuum_cost_limit": "100", "autovacuum_vacuum_cost_delay": "20"}
    observed = [running(pair(limited, own)) for own in ({}, {"autovacuum_vacuum_threshold": "9"})]
    paces = [pace_of_run(one, runs_of(one)[0]) for one in observed]

    assert [(100.0, 0.02), (200.0, 0.002)] == [(pace.limit, pace.delay_s) for pace in paces]


def test_the_limit_of_a_running_vacuum_repeats_them_too():
    """The remedy that bounds a vacuum of the TOAST relation keeps the table's other parameters."""
    fast = with_settings(plain_server(), {"autovacuum_vacuum_cost_delay": "0"})
    watched = running(pair({"autovacuum_vacuum_scale_factor": "0.03"}, {}), fast, scanned=90_000)
    found = vacuums.causes(watched, budget(20e6, 20e6, ceiling_bytes_per_s=20e6))
    commands = [c for cause in found for remedy in cause.remedies for c in remedy.commands]
    (limit,) = [command for command in commands if "cost_limit" in command]

    assert "toast.autovacuum_vacuum_scale_factor = 0.03" in limit


def test_a_remedy_repeats_what_the_table_has():
    """The smaller trigger for the TOAST relation does not lift the table's cost limits off it."""
    limits = {
        "autovacuum_vacuum_cost_delay": "20",
        "autovacuum_freeze_max_age": "300000000",
        "fillfactor": "70",
        "autovacuum_analyze_scale_factor": "0.01",
    }
    remedy = remedy_for(TOAST, limits, {})
    (command,) = remedy.commands

    assert (
        "ALTER TABLE public.tc SET (toast.autovacuum_freeze_max_age = 300000000, "
        "toast.autovacuum_vacuum_cost_delay = 20, toast.autovacuum_vacuum_scale_factor = 0.01, "
        "toast.autovacuum_vacuum_threshold = 50);"
    ) == command
    assert "autovacuum_freeze_max_age" in remedy.text


def remedy_for(subject: str, of_table: dict[str, str], of_toast: dict[str, str]):
    """The first way out for the table or its TOAST relation."""
    found = autovacuum_settings.causes(looked(of_table, of_toast), budget())
    (cause,) = [cause for cause in found if cause.subject == subject]
    return cause.remedies[0]


def test_an_own_set_is_only_added_to():
    """A TOAST relation that has its own parameters keeps them: nothing of the table's is brought back."""
    own = {"autovacuum_vacuum_insert_threshold": "5"}

    assert "cost_delay" not in remedy_for(TOAST, {"autovacuum_vacuum_cost_delay": "20"}, own).commands[0]


def test_a_change_of_the_table_says_what_it_does_to_its_toast_relation():
    """It takes the same parameters where it has none of its own."""
    first, alone = (remedy_for("public.tc", {}, own).text for own in ({}, {"vacuum_truncate": "off"}))

    assert "Its TOAST relation takes the same values" in first
    assert "Its TOAST relation takes the same values" not in alone


@pytest.mark.parametrize(
    ("of_table", "of_toast", "dropped"),
    [
        ({"autovacuum_enabled": "off"}, {"autovacuum_vacuum_cost_delay": "1"}, ("autovacuum_enabled = off",)),
        (
            {"autovacuum_vacuum_cost_limit": "50", "autovacuum_vacuum_scale_factor": "0.1"},
            {"autovacuum_vacuum_scale_factor": "0.1"},
            ("autovacuum_vacuum_cost_limit = 50",),
        ),
        (
            {"autovacuum_freeze_max_age": "300000000"},
            {"vacuum_truncate": "off"},
            ("autovacuum_freeze_max_age = 300000000",),
        ),
    ],
)
def test_a_detached_toast_relation_is_found(of_table, of_toast, dropped):
    """The state in a database that somebody made so, with the command that repeats what it has lost."""
    (cause,) = toast_options.causes(looked(of_table, of_toast), budget())

    assert ("ToastParametersDetached", "note") == (cause.code, cause.severity)
    assert "public.tc" == cause.subject
    for one in dropped:
        assert one in cause.evidence[0].text
        assert f"toast.{one}" in cause.remedies[0].commands[0]


@pytest.mark.parametrize(
    ("of_table", "of_toast"),
    [
        ({}, {}),
        ({"autovacuum_enabled": "off"}, {}),
        ({}, {"autovacuum_enabled": "off"}),
        ({"fillfactor": "70", "autovacuum_analyze_threshold": "9"}, {"vacuum_truncate": "off"}),
        ({"autovacuum_enabled": "off"}, {"autovacuum_enabled": "false", "autovacuum_vacuum_cost_delay": "1"}),
    ],
)
def test_nothing_is_lost_where_the_set_is_whole(of_table, of_toast):
    """No own parameters, none of the table that it could have, or all of them repeated."""
    assert () == toast_options.causes(looked(of_table, of_toast), budget())


def test_an_empty_toast_relation_is_no_matter():
    """What has no pages is not vacuumed."""
    owner, toast = pair({"autovacuum_enabled": "off"}, {"vacuum_truncate": "off"})
    relations = (owner, replace(toast, size_bytes=0))

    assert () == toast_options.causes(seen(relations, relations), budget())


def test_enabling_states_the_rule():
    """A table where it is off: its TOAST relation is on as soon as it has a parameter of its own."""
    (cause,) = autovacuum_off.causes(looked({"autovacuum_enabled": "off"}, {}), budget())

    assert "unless it has any parameter of its own" in cause.text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((word, True) for word in ("off", "OFF", "of", "false", "f", "no", "n", "0")),
        *((word, False) for word in ("on", "true", "t", "yes", "y", "1", "o")),
    ],
)
def test_a_switch_is_read_as_postgresql_reads_it(value: str, expected: bool):
    """Any clear beginning of a word, in any case."""
    assert expected == toast_options.is_off(value)
