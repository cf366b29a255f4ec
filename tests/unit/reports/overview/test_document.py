"""Many instances as text: the sentence, the table, the groups, what is folded."""

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from plimsoll.app.render import render
from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.overview import UnreadInstance
from plimsoll.reports.overview.outline import headline, overview_outline
from unit.reports.fixture_fleet import (
    BURST,
    LEGACY,
    NO_CLASS,
    PRESSED,
    ROWS,
    SLACK,
    UNKNOWN,
    UNREAD,
    bound,
    fleet,
    instance,
    near,
    row,
)

ESCAPE = "\x1b"
EVERY_NAME = [r.instance.identifier for r in ROWS] + [u.identifier for u in UNREAD]


def shown(overview=None, *, width=100, color=False, lists_all=False):
    """The fleet of fifty as text."""
    return render(overview or fleet(), "text", width=width, color=color, lists_all=lists_all)


def binding(name, *, now=False):
    """A row of an instance at a ceiling."""
    return row(name, Verdict.BINDS, binding=LEGACY, now=LEGACY if now else None)


@pytest.mark.parametrize("width", [100, 80, 60])
def test_golden(width, golden):
    """The table reads as it was last reviewed, at each width."""
    golden(f"overview/fleet-{width}.txt", shown(width=width))


def test_golden_of_every_row(golden):
    """With every instance in a row, as it was last reviewed."""
    golden("overview/fleet-all.txt", shown(width=120, lists_all=True))


@pytest.mark.parametrize("width", [60, 61, 72, 80, 99, 100, 120, 200])
@pytest.mark.parametrize("lists_all", [False, True])
def test_no_line_is_wider_than_asked(width, lists_all):
    """Every line fits, with colour and without."""
    for color in (False, True):
        text = shown(width=width, color=color, lists_all=lists_all)
        bare = re.sub(r"\x1b\[[0-9;]*m", "", text)

        assert width >= max(map(cell_len, bare.splitlines()))


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("lists_all", [False, True])
def test_every_instance_is_named(width, lists_all):
    """Whatever the width, nobody is left out; a name is at most broken at a line's end."""
    text = re.sub(r"\s+", "", shown(width=width, lists_all=lists_all))
    broken = {"claims-pipeline-eu-central-1-loading"}

    assert [] == [name for name in EVERY_NAME if name not in text and name not in broken]
    assert "claims-pipeline-" in text


def test_a_pipe_gets_no_escape_sequence():
    """Without colour there is no escape sequence; with colour the text is the same."""
    colored = shown(color=True)

    assert ESCAPE not in shown()
    assert ESCAPE in colored
    assert shown() == "\n".join(
        line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", colored).split("\n")
    )


def test_verdicts_are_words_and_signs():
    """Without colour each verdict is distinguished by its word and its sign."""
    text = shown(lists_all=True)

    for word in ("▲ BINDS NOW", "▲ BINDS ", "◆ near", "○ unknown", "○ unread", "● slack"):
        assert word in text


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=100), st.text(max_size=200))
def test_no_text_from_outside_breaks_the_width_or_escapes(name, reason):
    """Whatever an instance is called and an API answers, lines fit and nothing but text is printed."""
    rows = (binding(name), row(name))
    unread = (UnreadInstance(identifier=name, reason=reason, remedy=reason),)
    text = shown(fleet(rows, unread), width=60)

    assert 60 >= max(cell_len(line) for line in text.split("\n"))
    assert all(c.isprintable() or c == "\n" for c in text)


def test_columns_leave_in_their_order():
    """Too narrow a page drops the share first, then class, rank, credits and time, and says so."""
    left = {
        width: re.search(
            r"terminal is too narrow: ([^.]*)\.", shown(width=width).replace("\n", " ")
        )
        for width in (200, 100, 80, 60)
    }

    assert left[200] is None
    first = "Engine and storage, Share"
    assert [first, f"{first}, Class, #", f"{first}, Class, #, Credits, At it"] == [
        left[width][1] for width in (100, 80, 60)
    ]


def test_the_folded_are_counted_and_listed_by_name():
    """Who is not near a limit stands in one list, with what must be known of it."""
    text = re.sub(r"\s+", " ", shown())

    assert f"NOT NEAR A LIMIT: {len(SLACK)}" in text
    assert "orders-07 (measured for 4 h of 24 h)" in text
    assert "orders-09 (no samples after 2025-11-20 10:00)" in text
    assert "orders-11 (some limits unknown: instance class missing)" in text


def test_every_instance_can_have_a_row():
    """With `lists_all` the folded have rows, in their rank, and nothing is folded."""
    text = shown(lists_all=True)
    table = text[text.index("# Instance") :]

    assert "NOT NEAR A LIMIT" not in text
    assert [str(n) for n in range(1, 51)] == re.findall(r"^ ?(\d+) [a-z]", table, re.MULTILINE)


def test_who_could_not_be_read_is_grouped_by_reason():
    """A reason and its remedy are reported once, for all instances concerned; the largest group first."""
    text = re.sub(r"\s+", " ", shown())
    groups = overview_outline(fleet()).unread

    assert ("restricted-1", "restricted-2") == groups[0].names
    assert "Access denied to cloudwatch:GetMetricData: restricted-1, restricted-2. Allow" in text
    assert "COULD NOT BE READ: 3" in text


def test_who_could_not_be_judged_is_grouped_by_what_is_missing():
    """Instances that lack the same metrics share a line with what would supply them."""
    groups = overview_outline(fleet()).unknown

    assert [("replica-1", "replica-2", "replica-3"), ("audit",)] == [g.names for g in groups]
    assert "allow cloudwatch:GetMetricData" in groups[0].remedy


def test_what_came_near_is_reported_for_instances_that_could_not_be_judged():
    """Storage may be unknown while connections are nearly used up: that is next to the name."""
    close = near("connections", Family.CONNECTIONS, 0.93, Verdict.NEAR, unit="count")
    one = msgspec.structs.replace(UNKNOWN[0], nearest=close)
    outline = overview_outline(fleet((one,), ()))

    assert ("replica-3 (connections 93 %)",) == outline.unknown[0].names
    assert "near: connections 93 %" == outline.rows[0].notes[0]


@pytest.mark.parametrize(
    ("rows", "unread", "expected"),
    [
        ((), (), "No instance was found."),
        (ROWS, UNREAD,
         ("4 of 50 instances are up against a limit, 2 of them now; 39 are not, but 2 came near one; 1 "
         "with some limits unknown; 7 could not be judged.")),
        ((binding("a", now=True),), (), "1 of 1 instance is up against a limit, now."),
        ((binding("a"), row("b")), (),
         "1 of 2 instances was up against a limit, none of them now; 1 is not."),
        ((binding("a", now=True), binding("b", now=True)), (),
         "2 of 2 instances are up against a limit, all of them now."),
        ((row("a"), row("b")), (), "None of 2 instances was up against a limit."),
        ((row("a"), row("b", gaps=(NO_CLASS,)), row("c", Verdict.NEAR, gaps=(NO_CLASS,))), (),
         ("None of 3 instances was up against a limit, but 1 came near one; 2 with some limits "
         "unknown.")),
        ((row("a"), row("b", Verdict.NEAR)), (),
         "None of 2 instances was up against a limit, but 1 came near one."),
        ((row("a"), UNKNOWN[0]), UNREAD[:1],
         "The one instance that could be judged was not up against a limit; 2 could not be judged."),
        ((row("a"), row("b"), UNKNOWN[0]), (),
         "None of the 2 instances that could be judged was up against a limit; 1 could not be judged."),
        (UNKNOWN, UNREAD, "None of 7 instances could be judged."),
        ((binding("a", now=True), *UNKNOWN), (),
         "1 of 5 instances is up against a limit, now; 4 could not be judged."),
    ],
)  # fmt: skip
def test_the_sentence_counts_everybody_once(rows, unread, expected):
    """Bound, free and not judged are counted apart; what is unknown is never reported as free."""
    assert expected == headline(fleet(rows, unread))


verdicts = st.lists(st.sampled_from(Verdict), max_size=30)


@settings(deadline=None)
@given(verdicts, st.integers(0, 5))
def test_the_numbers_of_the_sentence_add_up(found, unread):
    """Those bound, those not and those that could not be judged are all there are."""
    rows = [
        row(str(n), v, binding=LEGACY if v is Verdict.BINDS else None) for n, v in enumerate(found)
    ]
    lost = [UnreadInstance(identifier=f"u{n}", reason="x", remedy="") for n in range(unread)]
    sentence = headline(fleet(rows, lost))
    total = len(found) + unread
    unjudged = found.count(Verdict.UNKNOWN) + unread
    bound_first = re.match(r"(\d+) of (\d+) instance", sentence)
    free = re.search(r"; (\d+) (?:is|are) not", sentence)

    if bound_first:
        counted = int(bound_first[1]) + (int(free[1]) if free else 0)
        assert (total, total - unjudged) == (int(bound_first[2]), counted)
    if 0 < unjudged < total:
        assert f"{unjudged} could not be judged" in sentence
    assert ("could not be judged" in sentence or "could be judged" in sentence) == (unjudged > 0)


def test_now_at_another_ceiling_is_reported():
    """The ceiling that binds now is named next to the one that bound longest."""
    (outline,) = overview_outline(
        fleet((row("a", Verdict.BINDS, binding=LEGACY, now=BURST),), ())
    ).rows

    assert "instance legacy baseline 212.5 MB/s" == outline.limit
    assert "now at instance burst 347.5 MB/s" == outline.notes[0]


@pytest.mark.parametrize(
    ("count", "ago_s", "is_now", "expected"),
    [
        (1, 0, True, "since 11-20 11:00"),
        (3, 0, True, "3 intervals since 11-20 10:40"),
        (1, 7200, False, "11-20 09:00 – 10:00"),
        (3, 7200, False, "3 intervals, 11-20 08:40 – 10:00"),
    ],
)
def test_first_and_last_time_are_reported(count, ago_s, is_now, expected):
    """What is still so has a beginning, what is over has both ends."""
    at = bound(LEGACY.family, LEGACY.phase, 212.5e6, 3600, count=count, ago_s=ago_s)
    one = row("a", Verdict.BINDS, binding=at, now=at if is_now else None)

    assert expected == overview_outline(fleet((one,), ())).rows[0].notes[0]


def test_published_limits_are_reported_in_full_and_measured_ones_are_not():
    """A documented number keeps five figures, a served level of an unknown limit four."""
    limits = [r.limit for r in overview_outline(fleet()).rows]

    assert "instance baseline 86.875 MB/s" in limits
    assert "unknown limit 81.34 MB/s" in limits
    assert "volume 3,000 IOPS" in limits
    assert "connections 87 %" in limits


def test_a_bound_resource_without_a_ceiling_of_storage_is_named():
    """Where CPU or connections bind and no storage ceiling does, they stand in the place of the limit."""
    near = msgspec.structs.replace(fleet().rows[4].nearest, name="CPU", verdict=Verdict.BINDS)
    (outline,) = overview_outline(fleet((row("a", Verdict.BINDS, nearest=near),), ())).rows

    assert "CPU 93 %" == outline.limit


def test_simulated_instances_are_called_so():
    """Those whose samples come from a simulator are named at the top; a measured fleet has no such line."""
    every = [msgspec.structs.replace(r, is_simulated=True) for r in SLACK[:2]]

    assert "SIMULATED DATA · The samples of legacy-host come from a simulator." in shown()
    assert "of every instance come from a simulator" in shown(fleet(every, ()))
    assert "SIMULATED" not in shown(fleet(SLACK, ()))


def test_a_reading_that_stopped_says_so_before_the_table():
    """What was read is shown, and above it why the rest was not."""
    text = shown(fleet(stopped="the security token expired. Log in again."))

    assert text.index("Reading stopped early: the security token expired. Log in again.") < (
        text.index("search-primary")
    )


def test_the_cost_of_the_reading_is_reported():
    """Requests by action, metrics and price; an unknown price is not zero, without an API nothing is reported."""
    text = re.sub(r"\s+", " ", shown())

    assert "203 requests (rds:DescribeDBInstances 1, rds:DescribeEvents 50," in text
    assert "12,350 metrics, about $0.1235" in text
    assert "12,350 metrics, at an unknown price" in re.sub(r"\s+", " ", shown(fleet(usd=None)))
    assert "API requests" not in shown(fleet(usage=None))


def test_the_default_width_is_a_hundred(monkeypatch):
    """A pipe gets a hundred columns, a narrower terminal what it has, a wider one no more."""
    for columns, expected in ((None, 100), (72, 72), (240, 100)):
        monkeypatch.setenv("COLUMNS", str(columns or 0))
        text = render(fleet(), "text", width=None, color=False)

        assert shown(width=expected) == text


def test_a_thousand_pressed_instances_have_a_row_each():
    """A long table stays a table: numbered rows, all of one width."""
    rows = [
        row(
            f"db-{n:04}", Verdict.BINDS, instance=instance(f"db-{n:04}"), binding=PRESSED[1].binding
        )
        for n in range(1000)
    ]
    lines = shown(fleet(rows, ())).splitlines()

    assert 1000 == sum(bool(re.match(r" *\d+ db-\d{4} ", line)) for line in lines)
    assert "1,000 of 1,000 instances were up against a limit, none of them now." == lines[0]
