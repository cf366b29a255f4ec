"""Plans made by hand, as people see them."""

from collections.abc import Callable

import pytest

import plans
from plimsoll.reports.plan.json import render_plan_json
from plimsoll.reports.plan.markdown import render_plan_markdown
from plimsoll.reports.plan.text import render_plan


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", plans.PLANS)
def test_the_text_reads_as_reviewed(name: str, width: int, golden: Callable[[str, str], None]):
    """
    Narrow, in a pipe and wide, without colour, the whole plan is what was reviewed.
    """
    golden(f"plan/{name}-{width}.txt", render_plan(plans.PLANS[name](), width=width, color=False))


def test_the_markdown_reads_as_reviewed(golden: Callable[[str, str], None]):
    """
    What goes into a ticket is what was reviewed.
    """
    golden("plan/claims.md", render_plan_markdown(plans.claims()))


def test_the_json_is_as_reviewed(golden: Callable[[str, str], None]):
    """
    What machines read is what was reviewed.
    """
    golden("plan/claims.json", render_plan_json(plans.claims()).decode())
