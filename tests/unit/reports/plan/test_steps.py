"""The steps of a ladder in sentences: what is recommended, and what is only the most likely."""

import pytest
from msgspec.structs import replace

from plans import claims, ladder
from plimsoll.app.render import render
from plimsoll.model.plan import PROBABLY, Plan, Rung, RungKind
from plimsoll.reports.plan.cards import role_of
from plimsoll.reports.plan.steps import steps_of
from unit.reports.fixture_diagnosis import page_of, pressed


def plan_of(chance: float, *, option: int = 1, kind: RungKind = RungKind.ENOUGH) -> Plan:
    """The plan of the claims pipeline with one step only, which has this chance."""
    rung = Rung(option=option, chance=chance, chance_after=chance, kind=kind)
    return claims(ladder=replace(ladder(), rungs=(rung,), recommended=0))


def _markdown(plan: Plan) -> str:
    return render(plan, "markdown")


def _text(plan: Plan) -> str:
    return render(plan, width=100, color=False)


def _page(plan: Plan) -> str:
    return page_of(*pressed(), plan).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("chance", "kind", "option", "expected"),
    [
        (PROBABLY, RungKind.ENOUGH, 1, "Recommended:"),
        (PROBABLY - 0.01, RungKind.ENOUGH, 1, "Most likely:"),
        (PROBABLY, RungKind.FREE, 0, "Recommended, and free:"),
        (PROBABLY - 0.01, RungKind.FREE, 0, "First, because it is free:"),
    ],
)
def test_only_a_step_that_is_probably_enough_is_recommended(chance, kind, option, expected):
    """Below the mark the best of a bad lot is named for what it is."""
    text = steps_of(plan_of(chance, kind=kind, option=option))

    assert text[0].startswith(expected)


def test_the_table_calls_it_recommended_only_then_too():
    """The table and the sentences say the same of one step."""
    likely, unlikely = plan_of(PROBABLY), plan_of(PROBABLY - 0.01)

    assert role_of(likely, likely.options[1]).endswith(", recommended")
    assert role_of(unlikely, unlikely.options[1]).endswith(", the most likely")


@pytest.mark.parametrize("form", [_markdown, _text, _page])
def test_every_form_lists_the_work_by_price_of_a_greedy_load(form):
    """How soon the same work is done for a price is what counts there, and for no other load."""
    greedy = form(plan_of(0.7, kind=RungKind.SOONER))
    other = form(plan_of(PROBABLY))

    assert "6.3 h" in greedy[greedy.lower().index("the same work for a price") :]
    assert "the same work for a price" not in other.lower()
