"""The report for terminals and pipes."""

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.diagnosis.text import render_text
from unit.reports.fixture_diagnosis import CASES, pressed, quiet, unknown


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


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=300))
def test_no_name_breaks_the_width_or_escapes(name):
    """Whatever an instance is called, lines fit and nothing reaches the terminal but text."""
    shown = render_text(*named(name), width=60, color=False)

    assert 60 >= max(cell_len(line) for line in shown.split("\n"))
    assert all(c.isprintable() or c == "\n" for c in shown)


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


@pytest.mark.parametrize("verdict", Verdict)
def test_verdicts_are_words_and_signs(verdict):
    """Without colour each verdict is still distinguished by its word and its sign."""
    diagnosis, shot = quiet()
    resource = msgspec.structs.replace(diagnosis.resources[0], verdict=verdict)
    shown = render_text(msgspec.structs.replace(diagnosis, resources=(resource,)), shot, width=80, color=False)

    assert re.search(rf"[▲◆●○] {verdict.value}\b", shown, re.IGNORECASE)


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


def _size(columns):
    from os import terminal_size

    return lambda _=None: terminal_size((columns, 24))
