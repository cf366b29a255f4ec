"""The plan as a section of the report's page: chart, tables, each option with its command."""

from typing import Any

from plimsoll.model.plan import Judgement, Plan
from plimsoll.reports.chart.drawing import svg
from plimsoll.reports.chart.look import page_look
from plimsoll.reports.plan.chart import CAPTION, has_chart, plan_spec
from plimsoll.reports.plan.outline import NEVER_RUN, plan_outline
from plimsoll.reports.plan.words import SIGNS
from plimsoll.reports.render.commands import command_lines

# Widths of the drawing without the numbers at its left, in pixels: the page is 68 rem wide, and a drawing
# that is made smaller has letters that cannot be read, so a phone has one of its own.
_WIDTH, _NARROW_WIDTH = 980, 270

# Letters of a command's line; longer ones would be broken by the browser, within words too.
_COMMAND_WIDTH = 110

_CLASSES = {
    Judgement.LIFTS: "lifts",
    Judgement.DOES_NOT: "does-not",
    Judgement.UNSURE: "unsure",
}


def plan_values(plan: Plan | None) -> dict[str, Any]:
    """What the template of the section needs; for None a `plan` that is None."""
    if plan is None:
        return {"plan": None}
    from markupsafe import Markup

    said = plan_outline(plan)
    has_drawing = has_chart(plan)
    has_commands = any(card.commands for card in (*said.cards, *said.unpriced))
    return {
        "plan": said,
        "plan_svg": Markup(_drawing(plan, _WIDTH) if has_drawing else ""),  # noqa: S704  by Vega, which escapes
        "plan_narrow_svg": Markup(_drawing(plan, _NARROW_WIDTH) if has_drawing else ""),  # noqa: S704  likewise
        "plan_caption": CAPTION,
        "plan_signs": SIGNS,
        "plan_class": _CLASSES,
        "plan_command": lambda line: "\n".join(command_lines(line, _COMMAND_WIDTH)),
        "plan_closing": NEVER_RUN if has_commands else "",
    }


def _drawing(plan: Plan, width: int) -> str:
    return svg(plan_spec(plan, look=page_look(), width=width, is_titled=False))
