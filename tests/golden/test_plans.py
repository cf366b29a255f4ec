"""Plans made by hand, as people see them."""

from collections.abc import Callable

import pytest

import plans
from plimsoll.app.render import render
from plimsoll.reports.plan.json import render_plan_json


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", plans.PLANS)
def test_the_text_reads_as_reviewed(name: str, width: int, golden: Callable[[str, str], None]):
    """Narrow, in a pipe and wide, without colour, the whole plan is what was reviewed."""
    golden(f"plan/{name}-{width}.txt", render(plans.PLANS[name](), width=width, color=False))


def test_the_markdown_reads_as_reviewed(golden: Callable[[str, str], None]):
    """What goes into a ticket is what was reviewed."""
    golden("plan/claims.md", render(plans.claims(), "markdown"))


def test_the_json_is_as_reviewed(golden: Callable[[str, str], None]):
    """What machines read is what was reviewed."""
    golden("plan/claims.json", render_plan_json(plans.claims()).decode())
