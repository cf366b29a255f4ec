"""A comparison in one screen: what became of the limit, and the next step."""

from msgspec.structs import replace

from plimsoll.model.comparison import Comparison, LimitsOutcome
from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.compare.document import BADGES
from plimsoll.reports.compare.headline import compare_headline, step_sentence
from plimsoll.reports.render import words
from plimsoll.reports.render.brief import Brief
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.terminal import STYLES

_ALIKE = {
    LimitsOutcome.BETTER: Verdict.SLACK,
    LimitsOutcome.SAME: Verdict.SLACK,
    LimitsOutcome.WORSE: Verdict.BINDS,
    LimitsOutcome.UNKNOWN: Verdict.UNKNOWN,
}


def compare_brief(comparison: Comparison) -> Brief:
    """Return the brief report of a comparison."""
    verdict = _ALIKE[comparison.outcome]
    before, after = comparison.before.diagnosis, comparison.after.diagnosis
    rows = (
        Fact("Result", compare_headline(comparison)),
        Fact("Before", f"{words.span(*before.window_s)} UTC"),
        Fact("After", f"{words.span(*after.window_s)} UTC"),
        # A command must never be cut, so the whole report has it.
        Fact("Step", step_sentence(replace(comparison, next_command=""))),
    )
    return Brief(
        title=f"{words.VERDICT_SIGNS[verdict]} Limits: {BADGES[comparison.outcome]}: {words.subject(after.instance)}",
        style=STYLES[verdict],
        is_simulated=before.is_simulated or after.is_simulated,
        rows=tuple(row for row in rows if row.value),
    )
