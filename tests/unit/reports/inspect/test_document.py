"""An inspection for a terminal: its order, its width, and commands that stay commands."""

import re

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

import inspections
from plimsoll.app.render import render
from plimsoll.model.cause import Remedy
from plimsoll.reports.inspect.outline import NEVER_RUN


def text_of(name="search", *, width=80, color=False):
    """An inspection made by hand, rendered."""
    return render(inspections.INSPECTIONS[name](), width=width, color=color)


def flat(text):
    """The text on one line, as a reader takes it in."""
    return " ".join(text.split())


def commands_of(inspection):
    """Every line of every command."""
    return {
        line.strip()
        for cause in inspection.causes
        for remedy in cause.remedies
        for command in remedy.commands
        for line in command.strip().splitlines()
    }


@pytest.mark.parametrize("width", [40, 60, 76, 80, 100, 120, 200])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("name", inspections.INSPECTIONS)
def test_no_line_is_wider_than_asked_but_a_command(name, width, color):
    """Every line fits, with colour and without; a command is as long as it is."""
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text_of(name, width=width, color=color))
    inspection = commands_of(inspections.INSPECTIONS[name]())
    prose = [line for line in shown.splitlines() if line.strip() not in inspection]

    assert width >= max(cell_len(line) for line in prose)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_command_is_broken(width):
    """Every line of a command stands on one line, with the indent that it had."""
    shown = text_of(width=width).splitlines()

    assert commands_of(inspections.inspection()) <= {line.strip() for line in shown}
    at = next(n for n, line in enumerate(shown) if "UPDATE public.documents" in line)
    assert shown[at + 1].index("body") == shown[at].index("UPDATE") + 2


@pytest.mark.parametrize("name", inspections.INSPECTIONS)
def test_colour_adds_nothing_but_colour(name):
    """Without colour there is no escape sequence; with colour the text is the same."""
    bare, colored = text_of(name), text_of(name, color=True)

    assert "\x1b" not in bare
    assert "\x1b" in colored
    assert bare == "\n".join(
        line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", colored).split("\n")
    )


def test_the_order_is_that_of_a_question():
    """Who spends it, how it was watched, the whole, each cause, what is not known, what it cost."""
    shown = text_of()
    parts = [
        "Updates of public.documents.body write unchanged values again: 96.4 MB/s",
        "db1:5432/search · PostgreSQL 13.4 · as plimsoll",
        "Watched for 1 min (2021-03-08 11:00 – 11:01 UTC)",
        "WHAT IT READS AND WRITES",
        "CAUSES",
        "1. ▲ critical: ",
        "→ Let the statement keep",
        "2. ◆ warning: Autovacuum of the values",
        NEVER_RUN,
        "NOTES",
        "NOT KNOWN",
        "HOW IT WAS MEASURED",
    ]
    places = [shown.index(part) for part in parts]

    assert sorted(places) == places
    assert 0 == places[0]


def test_the_headline_has_the_share_of_load_and_ceiling():
    """The largest cause in one sentence; what its title says already is not reported again."""
    shown = flat(text_of(width=120))
    inspection = replace(inspections.cause(), title="45 % of all that is written again, 96.4 MB/s")
    again = flat(render(inspections.inspection(causes=(inspection,)), width=120))

    assert (
        "96.4 MB/s, 45 % of all that the database reads and writes and 34 % of instance EBS "
        "throughput, baseline (287.5 MB/s)." in shown
    )
    assert again.startswith("45 % of all that is written again, 96.4 MB/s, 34 % of instance")


def test_the_whole_is_set_against_the_ceiling():
    """Reads, writes and both together, and which share of the ceiling is taken."""
    shown = flat(text_of(width=120))

    assert "Reads 120 MB/s Writes 93 MB/s Together 213 MB/s" in shown
    assert "Ceiling 287.5 MB/s, instance EBS throughput, baseline: 74 % of it is taken" in shown


def test_vacuums_that_still_run_come_on_top():
    """The server counts a vacuum when it ends, so its estimate is added before the ceiling is judged."""
    running = replace(inspections.vacuum(), is_estimated=True, uncounted_bytes_per_s=41e6)
    inspection = inspections.inspection(causes=(running,))
    shown = flat(render(inspection, width=120))

    assert "Together 213 MB/s Running vacuums about 41 MB/s more: the server counts" in shown
    assert "baseline: 88 % of it is taken" in shown
    assert "Running vacuums" not in flat(text_of(width=120))


def test_a_cause_has_its_size_proof_remedy_and_refutation():
    """Bytes with both shares and that they are estimated; evidence; expected; refuted by."""
    shown = flat(text_of(width=120))

    assert "96.4 MB/s written, estimated: 45 % of the load and 34 % of the ceiling" in shown
    assert "8 MB/s written, 33 MB/s read: 19 % of the load and 14 % of the ceiling" in shown
    assert "- 72,000 updates left 360,000 dead rows" in shown
    assert "Wrong if: A sample by logical decoding" in shown


def test_what_is_expected_of_several_ways_is_reported_once():
    """Where each way has the same effect, it stands below the last of them."""
    shown = flat(text_of(width=120))

    assert 1 == shown.count("Expected: 1 dead row per update instead of 6.")
    assert shown.index("partial_updates") < shown.index("Expected: 1 dead row")


def test_commands_are_distinguished():
    """Between a command of several lines and the next there is an empty line."""
    assert re.search(r"WHERE id = \$3;\n\n +SELECT 1;\n", text_of())


def test_what_is_not_known_names_the_grant():
    """What is missing, what that hides, and what would show it."""
    assert (
        "statements: We do not know which statements are responsible. GRANT pg_read_all_stats TO plimsoll;"
        in flat(text_of(width=120))
    )


def test_what_it_cost_is_reported():
    """Statements, bytes, and time in the server as a share of the time watched."""
    shown = flat(text_of(width=120))

    assert "Asked 164 statements, all of them read-only Received 178 KiB" in shown
    assert "at most 412 ms, 0.7 % of the time of one processor" in shown
    assert "2 readings of its counters, 58 samples of its sessions and vacuums." in shown


def test_a_cause_without_bytes_claims_none():
    """Connections have no size, and an unknown load is unknown, not zero."""
    shown = flat(text_of("pooled", width=120))

    assert shown.startswith("2,431 of 2,500 connections are taken, 97 %. 127.0.0.1")
    assert "Reads unknown Writes unknown Together unknown" in shown
    assert "MB/s" not in shown
    assert NEVER_RUN not in shown


def test_a_note_is_no_headline():
    """
    Where nothing is above a note, the report says so, and that it was a standby; small rates are
    reported in small units.
    """
    shown = flat(text_of("quiet", width=120))

    assert shown.startswith(
        "No problem found in db1:5432/search in 1 min of watching. 1 note below."
    )
    assert "PostgreSQL 13.4 · standby · as plimsoll" in shown
    assert "Reads 512 B/s" in shown
    assert "Writes 0 MB/s" in shown
    assert "● note: " in shown


def test_gaps_are_reported_in_the_headline():
    """The headline counts the gaps, also if nothing was found."""
    inspection = replace(inspections.quiet(), causes=(), missing=inspections.inspection().missing)
    both = replace(inspections.quiet(), missing=inspection.missing * 2)

    for given, tail in ((inspection, ". 1 gap below."), (both, ". 1 note and 2 gaps below.")):
        shown = flat(render(given, width=120))

        assert f"No problem found in db1:5432/search in 1 min of watching{tail}" in shown


def test_one_reading_tells_nothing_and_says_so():
    """Silence for want of a reading is not health."""
    shown = flat(text_of("blind", width=120))

    assert shown.startswith(
        "We cannot say what db1:5432/search spends its reads and writes on: a second reading is "
        "missing."
    )
    assert "a second reading: Without it nothing can be judged. Inspect again." in shown
    assert "1 reading of its counters, 1 sample of" in shown
    assert "No problem" not in shown


def test_names_from_outside_reach_no_terminal():
    """An escape sequence in a name is shown, not obeyed."""
    evil = "\x1b[2J"
    remedy = Remedy(text=evil, commands=(f"SELECT '{evil}';",), expected=evil)
    cause = inspections.cause(title=evil, subject=evil, text=evil, remedies=(remedy,))
    inspection = inspections.inspection(place=evil, role=evil, causes=(cause,), ceiling_name=evil)

    assert "\x1b" not in render(inspection, width=80)
