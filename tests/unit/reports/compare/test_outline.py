"""The comparison as people read it: one sentence, then tables in the order of their weight."""

import json
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from plimsoll.app.render import render
from plimsoll.diagnosis.comparison.compare import compare
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.comparison import MeasuredQuantity, WindowStatistic
from plimsoll.model.diagnosis import CeilingTime
from plimsoll.reports.compare.headline import compare_headline
from plimsoll.reports.compare.json import render_compare_json
from plimsoll.reports.compare.outline import compare_outline
from unit.reports.fixture_diagnosis import CASES, pressed, quiet, unknown

SIDES = [("pressed", "quiet"), ("quiet", "pressed"), ("pressed", "pressed"), ("unknown", "quiet")]


def of(before, after):
    """The comparison of two fixtures."""
    return compare(*CASES[before](), *CASES[after]())


def text_of(before, after, *, width=80, color=False):
    """A comparison of two fixtures rendered."""
    return render(of(before, after), width=width, color=color)


def with_instance(case, **changed):
    """A fixture of an instance of which something is other."""
    diagnosis, shot = case()
    instance = msgspec.structs.replace(diagnosis.instance, **changed)
    return msgspec.structs.replace(diagnosis, instance=instance), shot


@pytest.mark.parametrize("width", [60, 72, 76, 80, 100, 120, 200])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("sides", SIDES)
def test_no_line_is_wider_than_asked(sides, width, color):
    """Every line fits, with colour and without."""
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text_of(*sides, width=width, color=color))

    assert width >= max(cell_len(line) for line in shown.splitlines())


@pytest.mark.parametrize("sides", SIDES)
def test_colour_adds_nothing_but_colour(sides):
    """Without colour there is no escape sequence; with colour the text is the same."""
    bare, colored = text_of(*sides), text_of(*sides, color=True)

    assert "\x1b" not in bare
    assert "\x1b" in colored
    assert bare == "\n".join(
        line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", colored).split("\n")
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_number_is_parted_from_its_unit_or_cut(width):
    """Numbers stand whole in their cells at every width, with no ellipsis in their place."""
    shown = text_of("pressed", "quiet", width=width)

    assert "…" not in shown
    assert not re.search(r"[0-9]\n\s*(?:MB/s|IOPS|ms|GiB|%)", shown)


def test_the_order_is_that_of_weight():
    """The sentence, what changed, time at ceilings, served, latency, ceilings, headroom, caveats."""
    shown = text_of("pressed", "quiet")
    titles = [
        *("WHAT CHANGED", "TIME AT CEILINGS: BETTER", "SERVED", "LATENCY AND QUEUE"),
        *("CREDITS", "MACHINE", "CEILINGS\n", "HEADROOM", "CAVEATS"),
    ]
    places = [shown.index(title) for title in titles]

    assert sorted(places) == places


def test_the_sentence_says_both_sides_with_numbers():
    """Time after and before, the limit with its number, and what requests take."""
    after = with_instance(quiet, db_class="db.r5.4xlarge")
    headline = compare_headline(compare(*pressed(), *after))

    assert headline.startswith("After the change to db.r5.4xlarge search-primary spent 0 min of ")
    assert "; before, " in headline
    assert "instance EBS throughput, legacy baseline, 212.5 MB/s" in headline
    assert re.search(r"; reads take [0-9.]+ ms instead of [0-9.]+ ms, writes ", headline)


def test_two_instances_are_both_named():
    """Where the sides are different instances there is no before, but two names."""
    headline = compare_headline(compare(*pressed(), *with_instance(quiet, identifier="orders")))

    assert "before" not in headline
    assert headline.startswith(
        "orders spent 0 min of 24 h at a ceiling; search-primary 11 h 32 min of"
    )


def test_a_side_that_could_not_be_judged_is_named():
    """The sentence names the side that could not be judged, and the time there is unknown, not never."""
    outline = compare_outline(of("unknown", "quiet"))

    assert "We cannot say" in outline.headline
    assert "before" in outline.headline
    assert "unknown" == outline.time_at[0].before
    assert "never" == outline.time_at[0].after


def test_no_difference_is_reported():
    """A window compared with itself has no difference, and every difference reads *same*."""
    outline = compare_outline(of("pressed", "pressed"))
    rows = [row for section in outline.sections for row in section.rows]

    assert outline.headline.startswith("No difference: ")
    assert {"same"} == {row.difference for row in rows}
    assert () == outline.bought
    assert "Nothing: both sides have the same setup" in text_of("pressed", "pressed")


def test_nothing_bought_differs_is_no_change():
    """Two windows of one instance begin with the moment, not with a change that nobody made."""
    diagnosis, shot = pressed()
    less = msgspec.structs.replace(diagnosis, intervals=(), time_at=())
    headline = compare_headline(compare(diagnosis, shot, less, shot))

    assert headline.startswith("From 2021-03-08 00:00 UTC search-primary spent 0 min")


def test_an_unknown_limit_has_no_documented_name():
    """A limit that nobody documented is reported with its level and its dimension."""
    diagnosis, shot = pressed()
    level = CeilingTime(
        family=Family.UNKNOWN, phase=Phase.FIXED, dimension=Dimension.IOPS, level=9_000.0,
        seconds=36_000.0, interval_count=3, ceiling=None,
    )  # fmt: skip
    other = msgspec.structs.replace(diagnosis, binding=level, time_at=(level,))
    outline = compare_outline(compare(*quiet(), other, shot))

    assert "an IOPS limit of unknown origin, 9,000 IOPS" in outline.headline
    assert ["unknown limit, 9,000 IOPS"] == [row.name for row in outline.time_at[1:]]


def test_what_was_not_compared_has_its_reason():
    """A quantity that one side lacks is listed with the side; what both lack is reported once."""
    outline = compare_outline(of("unknown", "quiet"))
    facts = {fact.name: fact.value for fact in outline.unknown}

    assert "Not in the export. Export ReadThroughput." == facts["ReadThroughput, before"]
    assert "Not measured." == next(
        value for name, value in facts.items() if name.startswith("WriteThroughput, ReadIOPS")
    )
    assert any(name.endswith("and FreeableMemory, on neither side") for name in facts)


def test_only_the_simulated_side_is_called_so():
    """If one side was simulated, or both in different ways, the text says which; one note serves both sides."""
    diagnosis, shot = quiet()
    made = msgspec.structs.replace(diagnosis, is_simulated=True, note="Made.")
    both = render(compare(*pressed(), made, shot), width=80)
    alike = render(compare(made, shot, made, shot), width=80)

    assert "SIMULATED DATA · Before: " in text_of("pressed", "quiet")
    assert 1 == text_of("pressed", "quiet").count("SIMULATED DATA")
    assert 2 == both.count("SIMULATED DATA")
    assert "SIMULATED DATA · After: Made." in both
    assert ["SIMULATED DATA · Made."] == re.findall("SIMULATED DATA.*", alike)


def test_a_volume_is_reported_as_it_is_sold():
    """Throughput of a volume stands in decimal and in binary units."""
    shown = text_of("pressed", "quiet")

    assert re.search(r"[0-9.,]+ MiB/s", shown)
    assert "MiB/s)" not in shown.partition("CEILINGS\n")[2].partition("HEADROOM")[0]


def test_a_ticket_has_the_same_content():
    """Every section of the text is a heading of the Markdown, and every row says what it is about."""
    text, ticket = (
        text_of("pressed", "quiet", width=200),
        render(of("pressed", "quiet"), "markdown"),
    )
    titles = {line.lower() for line in text.splitlines() if line.isupper() and line[0] != " "}

    assert titles == {line[3:].lower() for line in ticket.splitlines() if line.startswith("## ")}
    assert "| throughput, reads | mean |" in ticket
    assert "\x1b" not in ticket


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=200))
def test_no_name_breaks_the_width_or_escapes(name):
    """Whatever an instance is called, lines fit and nothing reaches the terminal or the page but text."""
    found = compare(*with_instance(pressed, identifier=name), *quiet())
    shown = render(found, width=80)
    ticket = render(found, "markdown")

    assert 80 >= max(cell_len(line) for line in shown.split("\n"))
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert "<script" not in ticket


def test_each_share_is_of_its_own_window():
    """Time at a ceiling is divided by what was measured on the same side, in every form."""
    diagnosis, shot = pressed()
    half = msgspec.structs.replace(diagnosis, measured_s=diagnosis.measured_s / 2)
    found = compare(diagnosis, shot, half, shot)
    report = json.loads(render_compare_json(found))
    (first, *_) = report["time_at"]

    assert 2 * report["before"]["at_ceiling_ratio"] == report["after"]["at_ceiling_ratio"]
    assert 2 * first["before_ratio"] == first["after_ratio"]
    assert ("11 h 32 min (48 %)", "11 h 32 min (96 %)") == (
        compare_outline(found).time_at[0].before,
        compare_outline(found).time_at[0].after,
    )


def test_an_unknown_side_has_no_mean():
    """What was not measured on a side is the word unknown in its cell, and no difference is given."""
    found = of("unknown", "quiet")
    mean = next(
        q
        for q in found.quantities
        if (q.subject, q.statistic) == (MeasuredQuantity.THROUGHPUT, WindowStatistic.MEAN)
    )
    row = next(
        row
        for section in compare_outline(found).sections
        for row in section.rows
        if row.name == "throughput"
    )

    assert mean.before is None
    assert ("unknown", "") == (row.before, row.difference)


def test_the_fixture_is_judged_as_its_name_says():
    """What the tests above rely on: one fixture binds, one is slack, one could not be judged."""
    verdicts = [case()[0].verdict.value for case in (pressed, quiet, unknown)]

    assert ["binds", "slack", "unknown"] == verdicts
