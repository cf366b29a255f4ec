"""The plan for a terminal: its order, its width, and commands that stay commands."""

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

import plans
from plimsoll.app.render import plan_below, render
from plimsoll.model.plan import Judgement
from plimsoll.reports.plan.outline import NEVER_RUN
from plimsoll.reports.render.commands import command_lines


def text_of(name="claims", *, width=80, color=False):
    """A plan made by hand, rendered."""
    return render(plans.PLANS[name](), width=width, color=color)


def flat(text):
    """The text on one line, as a reader takes it in."""
    return " ".join(text.split())


@pytest.mark.parametrize("width", [40, 60, 76, 80, 100, 110, 120, 200])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("name", plans.PLANS)
def test_no_line_is_wider_than_asked(name, width, color):
    """Every line fits, with colour and without."""
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text_of(name, width=width, color=color))

    assert width >= max(cell_len(line) for line in shown.splitlines())


@pytest.mark.parametrize("name", plans.PLANS)
def test_colour_adds_nothing_but_colour(name):
    """Without colour there is no escape sequence; with colour the text is the same."""
    bare, colored = text_of(name), text_of(name, color=True)

    assert "\x1b" not in bare
    assert "\x1b" in colored
    assert bare == "\n".join(
        line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", colored).split("\n")
    )


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_band_and_no_number_is_broken(width):
    """A band stands on one line with its unit, at every width."""
    shown = text_of(width=width)

    assert "…" not in shown
    assert not re.search(r"[0-9]\n\s*(?:MB/s|IOPS|ms|GiB|%|–)", shown)
    assert not re.search(r"[–<>]\n\s*[0-9<>]", shown)


def test_the_order_is_that_of_a_decision():
    """The headline, what was asked for, the ways side by side, each in detail, then the rest."""
    shown = text_of()
    parts = [
        "db.m6g.xlarge with the storage as it is lifts the ceiling for $0.67 a day more.",
        "SIMULATED DATA",
        "DEMAND",
        "OPTIONS",
        "1. ✕ does not: jobs one after the other",
        "2. ✓ lifts: db.m6g.xlarge",
        "3. ? unsure: db.t4g.xlarge",
        "PRICE NOT KNOWN",
        "4. ✓ lifts: db.m7g.large",
        NEVER_RUN,
        "THROUGHPUT BY PRICE",
        "NOTES",
    ]
    places = [shown.index(part) for part in parts]

    assert sorted(places) == places
    assert 0 == places[0]


def test_every_number_has_what_it_is_compared_with():
    """Before and after are next to each other: price, time at a ceiling, rate, latency."""
    shown = flat(text_of(width=120))

    assert "$11.50 → $12.17 a day, $349.70 → $370.14 a month: +$0.67 a day" in shown
    assert "11.9 – 12.0 – 13.4 h → < 1 – < 1 – 4 min (you allow 21.6 min)" in shown
    assert "86.5 MB/s → 118 – 131 – 146 MB/s on average in the 12 h 2 min" in shown
    assert "76 ms → 4.9 – 5.2 – 6.1 ms" in shown
    assert "43 % of the instance EBS throughput credits, on 2023-02-14 02:10 UTC" in shown
    assert "12.0 h → 6.3 h with tasks back to back" in shown


def test_a_judgement_is_a_word_next_to_its_sign():
    """Nothing rests on colour; unsure says how often it lifts and what would settle it."""
    shown = flat(text_of())

    assert "✓ lifts" in shown
    assert "✕ does not" in shown
    assert "? unsure 7 of 10" in shown
    assert "To find out: Run one night with two of the three jobs" in shown


def test_no_minutes_are_reported_only_where_demand_was_seen():
    """Behind a ceiling it reads `under 1 min`; where nothing was throttled, `0 min`."""
    nowhere = plans.option(effect=plans.effect(plans.band(0)))
    behind = flat(render(plans.claims(options=(nowhere,)), width=80, color=False))
    seen = flat(text_of("quiet"))

    assert "under 1 min" in behind
    assert not re.search(r"(?<![0-9.])0 min", behind)
    assert "100 %" not in behind
    assert "0 min" in seen
    assert "all demand was served" in seen


def test_growth_makes_demand_a_guess():
    """Twice the demand was not seen, even where the demand itself was."""
    grown = flat(render(plans.quiet(growth=2.0), width=80, color=False))

    assert "with 2 times the demand." in grown
    assert "under 1 min" in grown


def test_what_is_not_known_is_reported():
    """No price, no latency, no bucket, no option: the text says so and holds no empty promise."""
    shown = flat(text_of("nothing"))

    assert "Demand may be higher than these numbers" in shown
    assert "No option is proposed." in shown
    assert "$0.00" not in shown


def test_a_difference_may_be_known_where_the_whole_price_is_not():
    """Another class is priced also where nobody knows what the storage costs."""
    bare = replace(plans.cost("0.318"), usd_per_month=None, unknown=("gp2 has no price here",))
    shown = flat(render(plans.claims(options=(plans.option(cost=bare),)), width=120, color=False))

    text = "+$0.67 a day; the total price is unknown (on demand, as of 2022-07-17)."
    assert f"{text} gp2 has no price here." in shown


def test_what_is_there_suffices_and_does_not_lift():
    """Nothing changed lifts nothing: what is there suffices, or does not."""
    assert re.search(r"now +✓ is enough", text_of("quiet", width=120))
    assert re.search(r"now +✕ does not", text_of("claims", width=120))


def test_the_section_below_a_diagnosis_says_the_same():
    """It has a heading in place of the instance's name, and the same body."""
    plan = plans.claims()
    alone = render(plan, width=80, color=False)
    below = plan_below(plan, "text", 80)

    assert below.startswith("\nPLAN\n  db.m6g.xlarge with the storage")
    assert alone[alone.index("DEMAND") :] == below[below.index("DEMAND") :]


def test_names_from_outside_reach_no_terminal():
    """An escape sequence in a name is shown, not obeyed."""
    plan = plans.claims(
        headline="\x1b[31mred",
        instance=replace(plans.INSTANCE, identifier="a\x1b]0;b"),
        options=(plans.option(title="\x1b[2J", reason="\x07", commands=("aws \x1b[2J",)),),
    )

    assert "\x1b" not in render(plan, width=80, color=False)


def test_a_word_of_a_command_is_never_cut():
    """A word that is longer than the line stands whole; a copied command is still the command."""
    name = "orders-" + "x" * 70
    plan = plans.claims(options=(plans.option(commands=(f"aws rds reboot {name}",)),), unpriced=())
    shown = render(plan, width=60, color=False)

    assert f"      {name}\n" in shown


def test_the_output_of_a_command_is_broken_as_the_command():
    """Within `"$(…)"` more space changes nothing; within other quotes it would, so they stay whole."""
    command = "until [ \"$(aws rds describe-db-instances --query 'A[0].B' --output text)\" = on ]"
    lines = command_lines(command, 40)
    joined = "\n".join(lines).replace("\\\n", "")

    assert all(len(line) <= 40 for line in lines)
    assert command.split() == joined.split()
    for whole in ("\"$(echo 'a b c d e f g h')\"", '"a b c d e f g h i"', "'a b c d e f g h i'"):
        assert [whole] == command_lines(whole, 10)


WORD = st.text("abcz09./:-_", min_size=1, max_size=30) | st.text(
    "ab '\"$\\&;#", min_size=1, max_size=12
).map(shlex.quote)


@given(st.lists(WORD, min_size=1, max_size=12), st.integers(20, 120))
def test_a_broken_command_is_the_same_command(words, width):
    """A shell reads the broken lines as it reads the one; no word is broken, and lines fit if words do."""
    command = "aws " + " ".join(words)
    lines = command_lines(command, width)

    assert shlex.split(command) == shlex.split("\n".join(lines).replace("\\\n", ""))
    longest = max(len(word) for word in ["aws", *words])
    assert max(width, longest + 4) >= max(len(line) for line in lines)


def test_an_option_stays_next_to_its_value():
    """Lines are broken before `--`, where the value fits behind it."""
    lines = command_lines(plans.order("db.m6g.xlarge"), 60)

    assert [
        "aws rds modify-db-instance --region us-east-1 \\",
        "  --db-instance-identifier claims-pipeline \\",
        "  --db-instance-class db.m6g.xlarge --apply-immediately",
    ] == lines


def test_a_comment_stays_a_comment():
    """A long comment among commands is broken into comments; a line that is no shell line is kept."""
    lines = command_lines("# wait until the status is available, then after six hours", 30)

    assert all(line.startswith("# ") and len(line) <= 30 for line in lines)
    assert ["aws 'half"] == command_lines("aws 'half", 4)


def test_a_change_of_storage_is_optimised_also_where_nobody_knows_how_long():
    """The table says so by what is changed; a change of class alone restarts."""
    disruption = replace(plans.unsure().disruption, optimising_s=None, moved_bytes=None)
    plan = plans.claims(options=(replace(plans.unsure(), disruption=disruption), plans.option()))
    shown = render(plan, width=120, color=False)

    assert re.search(r"\n  1 .* restart, optimising +", shown)
    assert re.search(r"\n  2 .* restart +", shown)


def test_what_cannot_be_ranked_is_reported_in_brief():
    """An option without a price has what it lacks, what it would do and its command, and no more."""
    shown = text_of()
    apart = flat(shown[shown.index("PRICE NOT KNOWN") : shown.index(NEVER_RUN)])

    assert "Price not known. The price of db.m7g.large in us-east-1 is not known" in apart
    assert "aws rds modify-db-instance" in apart
    assert "To undo" not in apart


def test_a_full_balance_has_no_moment():
    """Where no credit is spent, the first moment of the window is nothing to look at."""
    full = plans.option(effect=plans.effect(plans.band(3), balance_min_ratio=1.0))
    shown = flat(render(plans.claims(options=(full,)), width=120, color=False))
    best = shown[shown.index("1. ✓ lifts: db.m6g.xlarge") : shown.index("PRICE NOT KNOWN")]

    assert "100 % of the instance EBS throughput credits, also at the high demand" in best
    assert "2023-02-14 02:10" not in best


@pytest.mark.parametrize("judgement", Judgement)
def test_every_judgement_can_stand_first(judgement):
    """The headline has a style for each judgement of what is there."""
    plan = plans.claims(present=plans.present(judgement=judgement))

    assert render(plan, width=80, color=True)


def test_what_spread_work_will_see_is_not_known():
    """Only the end of waiting is reported: what is served now is served to work that waits."""
    shown = render(plans.claims(options=(plans.free(),)), width=100, color=False)
    card = shown[
        shown.index("1. ✕ does not: jobs one after the other") : shown.index("THROUGHPUT BY PRICE")
    ]

    assert "At a ceiling" in card
    assert not any(name in card for name in ("Served  ", "Latency", "Next ceiling", "Same work"))


def test_old_prices_are_dated_where_the_plan_begins():
    """With how to read newer ones; prices of this year say their date only in the detail."""
    text = "Prices are from 2025-10-15 or later, more than a year old"
    old = plans.claims(prices_as_of="2025-10-15", are_prices_old=True)

    assert text in flat(render(old, width=120, color=False))
    assert "plimsoll prices refresh --region us-east-1" in flat(render(old, width=120, color=False))
    assert "more than a year old" not in flat(render(plans.claims(), width=120, color=False))


@pytest.mark.parametrize("width", [40, 60])
def test_numbers_that_do_not_fit_next_to_each_other_are_not_cut(width):
    """A narrow terminal shows each option's numbers as a paragraph, with what they are."""
    shown = flat(text_of(width=width))

    for whole in ("99 of 100", "At a ceiling < 1 – < 1 – 4 min", "Latency p95 7.1 – 8.3 – 12 ms"):
        assert whole in shown
    assert "$370.14" in shown
    assert "Served 118 – 131 – 146 MB/s" in shown


def test_a_plan_alone_has_a_page():
    """With its chart, its tables and its commands, and nothing that is loaded."""
    page = render(plans.claims(), "html")

    assert page == render(plans.claims(), "html")
    assert "<svg" in page
    assert "--db-instance-class db.m6g.xlarge" in page
    assert '<th scope="row" class="whole">now</th>' in page
    assert 1 == page.count("<script")
    assert " src=" not in page
