"""An inspection in one screen: the largest cause, its size, the first step, and what else was found."""

from plimsoll.model.cause import Inspection
from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.document.severity import SEVERITY_SIGNS
from plimsoll.reports.inspect.document import headline, watched
from plimsoll.reports.render import words
from plimsoll.reports.render.brief import Brief
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.terminal import STYLES

# Further causes, for which there is room after the first with its remedy.
_OTHERS_SHOWN = 2
_TITLES = {"critical": "Critical cause", "warning": "Cause to change", "note": "No problem found"}
_STYLES = {"critical": STYLES[Verdict.BINDS], "warning": STYLES[Verdict.NEAR], "note": STYLES[Verdict.SLACK]}


def inspect_brief(inspection: Inspection) -> Brief:
    """Return the brief report of an inspection."""
    severity = inspection.causes[0].severity if inspection.causes else "note"
    is_blind = severity == "note" and any(gap.hides == "verdict" for gap in inspection.missing)
    sign, title, style = SEVERITY_SIGNS[severity], _TITLES[severity], _STYLES[severity]
    if is_blind:
        sign, title = words.VERDICT_SIGNS[Verdict.UNKNOWN], "Cause unknown"
        style = STYLES[Verdict.UNKNOWN]
    is_said = severity != "note"
    remedies = inspection.causes[0].remedies if is_said else ()
    also = [words.sentence(cause.title) for cause in inspection.causes[1 if is_said else 0 :]][:_OTHERS_SHOWN]
    gaps = [words.plain(gap.name) for gap in inspection.missing]
    rows = (
        Fact("Result", headline(inspection, counts_rest=False)),
        Fact("Watched", watched(inspection).removeprefix("Watched ")),
        Fact("First step", words.sentence(remedies[0].text) if remedies else ""),
        *(Fact("Also", title) for title in also),
        Fact("Not known", words.series_of(gaps) if gaps else ""),
    )
    return Brief(
        title=f"{sign} {title}: {words.plain(inspection.place)}",
        style=style,
        is_simulated=False,
        rows=tuple(row for row in rows if row.value),
    )
