"""The report for terminals and pipes."""

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from plimsoll.model.diagnosis import Verdict
from plimsoll.model.snapshot import EventKind
from plimsoll.reports.diagnosis.text import render_text
from unit.reports.fixture_diagnosis import CASES, pressed, quiet, unknown

ESCAPE = "\x1b"


def text_of(case, *, width=80, color=False):
    """A fixture rendered."""
    return render_text(*CASES[case](), width=width, color=color)


def named(name):
    """The pressed diagnosis of an instance with another name."""
    diagnosis, shot = pressed()
    instance = msgspec.structs.replace(diagnosis.instance, identifier=name)
    return msgspec.structs.replace(diagnosis, instance=instance), shot


@pytest.mark.parametrize("case", CASES)
def test_golden(case, golden):
    """The report at 80 columns reads as it was last reviewed."""
    golden(f"reports/{case}.txt", text_of(case))


@pytest.mark.parametrize("width", [40, 60, 72, 76, 80, 100, 120, 200])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_no_line_is_wider_than_asked(case, width, color):
    """Every line fits, with colour and without."""
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text_of(case, width=width, color=color))

    assert width >= max(cell_len(line) for line in shown.splitlines())


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=300))
def test_no_name_breaks_the_width_or_escapes(name):
    """Whatever an instance is called, lines fit and nothing reaches the terminal but text."""
    shown = render_text(*named(name), width=60, color=False)

    assert 60 >= max(cell_len(line) for line in shown.split("\n"))
    assert all(c.isprintable() or c == "\n" for c in shown)


@pytest.mark.parametrize("case", CASES)
def test_a_pipe_gets_no_escape_sequence(case):
    """Without colour there is no escape sequence; with colour the text is the same."""
    bare, colored = text_of(case), text_of(case, color=True)

    assert ESCAPE not in bare
    assert ESCAPE in colored
    assert bare == "\n".join(
        line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", colored).split("\n")
    )


def test_the_verdict_comes_first_in_plain_words():
    """The first sentence names the class, the limit, its number and the time."""
    first = " ".join(text_of("pressed").splitlines()[:3])

    assert first == (
        "search-primary (db.r5.2xlarge) was up against its instance EBS throughput: 212.5 MB/s "
        "(legacy baseline) for 9 h 12 min of 24 h, until 2021-03-08 19:00 (5 h before the end)."
    )


def test_the_order_is_that_of_an_incident():
    """What to do, why, what it was not, and only then the rest."""
    shown = text_of("pressed")
    titles = [
        *("WHAT TO DO FIRST", "WHY", "TIMELINE", "WHAT HAPPENED", "RULED OUT", "RESOURCES"),
        *("TIME AT A CEILING", "CREDITS AND FORECASTS", "ALSO FOUND", "NOT KNOWN"),
        "HOW IT WAS MEASURED",
    ]
    places = [shown.index(title) for title in titles]

    assert sorted(places) == places


def test_what_is_missing_comes_first_when_nothing_could_be_judged():
    """Without a verdict the gaps and their remedies are what the reader needs."""
    shown = text_of("unknown")

    assert shown.index("NOT KNOWN") < shown.index("RESOURCES")
    assert "cloudwatch:GetMetricData" in shown


def test_every_sentence_of_the_diagnosis_is_there():
    """Moves, evidence, reasons, findings, forecasts and remedies are all printed, in a wide pipe whole."""
    diagnosis, shot = pressed()
    shown = render_text(diagnosis, shot, width=1000, color=False)
    main = diagnosis.intervals[2]
    texts = [e.text for e in main.evidence[:4]] + [r.reason for r in main.ruled_out]
    texts += [main.refuted_by, diagnosis.note, diagnosis.source]
    texts += [part for f in diagnosis.findings for part in (f.title, f.text, *f.moves)]
    texts += [b.text for b in diagnosis.buckets] + [f.text for f in diagnosis.forecasts]
    texts += [part for m in diagnosis.missing for part in (m.name, m.hides, m.remedy)]
    texts += [r.name for r in diagnosis.resources] + [r.note for r in diagnosis.resources]
    texts += [a.text for a in diagnosis.annotations if a.kind is not EventKind.BACKUP]
    texts += [main.context, *diagnosis.instance.pending, diagnosis.instance.ebs_limits.source]

    assert [] == [sentence for sentence in texts if sentence not in shown]


def test_a_fact_that_looks_like_a_part_of_the_name_is_reported():
    """An engine or storage that only appears in the instance's name is not taken as given."""
    shown = render_text(*named("postgres 11.9-us-east-1"), width=200, color=False)

    assert "postgres 11.9 · io1" in shown
    assert " · us-east-1 · " in shown


def test_simulated_data_without_a_note_ends_there():
    """Without a note on how it was made, there is no separator."""
    diagnosis, shot = pressed()
    shown = render_text(msgspec.structs.replace(diagnosis, note=""), shot, width=80, color=False)

    assert "SIMULATED DATA" in shown.splitlines()


def test_simulated_data_is_called_so_at_the_top():
    """The first line after the verdict of a simulated report says so; a measured one does not mention it."""
    assert text_of("pressed").splitlines()[3].startswith("SIMULATED DATA")
    assert "SIMULATED" not in text_of("quiet")


@pytest.mark.parametrize("verdict", Verdict)
def test_verdicts_are_words_and_signs(verdict):
    """Without colour each verdict is still distinguished by its word and its sign."""
    diagnosis, shot = quiet()
    resource = msgspec.structs.replace(diagnosis.resources[0], verdict=verdict)
    shown = render_text(
        msgspec.structs.replace(diagnosis, resources=(resource,)), shot, width=80, color=False
    )

    assert re.search(rf"[▲◆●○] {verdict.value}\b", shown, re.IGNORECASE)


def test_only_the_longest_intervals_are_listed():
    """Twelve rows, and how many more there are with their time."""
    shown = text_of("pressed")
    table = shown[shown.index("When (UTC)") :].split("\n\n")[0]

    assert "THE 12 LONGEST OF 17" in shown
    assert 12 == len(re.findall(r"^  03-08 ", table, re.MULTILINE))
    assert "and 5 shorter intervals, 15 min in total" in shown


def test_rows_share_a_remark_by_its_number():
    """A remark stands once below the table, under the raised number of the rows it is about."""
    shown = text_of("pressed")

    assert "instance legacy burst¹" in shown
    assert "instance legacy baseline²" in shown
    assert "  ¹ Lazy loading after a restore.\n" in shown
    assert 1 == shown.count("² Storage optimisation after a change of storage; seen at 1 s.")


def test_numbers_stay_with_their_units():
    """No line of a paragraph ends with a number whose unit begins the next one."""
    parted = re.compile(r"[0-9]\n\s*(?:MB/s|IOPS|ms|min|%|MiB/s|GiB)\b")

    assert [] == [w for w in range(60, 121) if parted.search(text_of("pressed", width=w))]


def test_nothing_measured_draws_nothing():
    """Without samples of storage there is no timeline, and no failure."""
    diagnosis, shot = unknown()
    empty = msgspec.structs.replace(shot, series={})

    assert "TIMELINE" not in render_text(diagnosis, empty, width=80, color=False)


def test_the_width_of_a_pipe_is_eighty(monkeypatch):
    """Without a width the terminal's is taken, 80 without one, and never more than 120."""
    monkeypatch.setattr("plimsoll.reports.render.terminal.get_terminal_size", _size(80))
    narrow = render_text(*pressed(), width=None, color=False)
    monkeypatch.setattr("plimsoll.reports.render.terminal.get_terminal_size", _size(400))
    wide = render_text(*pressed(), width=None, color=False)

    assert text_of("pressed") == narrow
    assert text_of("pressed", width=120) == wide


def test_equal_reports_are_equal_texts():
    """Rendering twice gives the same text."""
    assert text_of("pressed") == text_of("pressed")


def _size(columns):
    from os import terminal_size

    return lambda _=None: terminal_size((columns, 24))
