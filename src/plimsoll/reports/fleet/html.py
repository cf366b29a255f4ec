"""A fleet as one HTML page: the sections of its document, and a table of all instances to search and sort."""

from plimsoll.model.fleet import FleetReport
from plimsoll.reports.document.page import page_values
from plimsoll.reports.fleet.document import fleet_document
from plimsoll.reports.fleet.page_rows import rows_json
from plimsoll.reports.fleet.words import MORE_ON_PAGE, ROWS_MOST
from plimsoll.reports.render.origin import PageOrigin
from plimsoll.reports.render.page import rendered_page, template_text


def fleet_page(report: FleetReport, origin: PageOrigin | None = None) -> str:
    """
    Return the page; equal arguments give equal text.

    Args:
        report: verdicts, ranked.
        origin: who made the page, when and how; None leaves it out.
    """
    from markupsafe import Markup

    document = fleet_document(report, more=MORE_ON_PAGE)
    return rendered_page(
        "fleet.html.j2",
        origin=origin,
        row_count=len(report.rows),
        rows_most=ROWS_MOST,
        rows=Markup(rows_json(report)),  # noqa: S704  escaped in rows_json
        fleet_style=Markup(template_text("fleet.css")),  # noqa: S704  package data
        fleet_script=Markup(template_text("fleet.js")),  # noqa: S704  package data
        **page_values(document),
    )
