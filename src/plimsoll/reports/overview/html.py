"""Many instances as one page: every row of the table, nothing loaded, no script."""

from plimsoll.model.overview import Overview
from plimsoll.reports.overview.outline import overview_outline
from plimsoll.reports.render.page import rendered_page


def render_overview_html(overview: Overview) -> str:
    """Render the table as one HTML document; equal overviews give equal text."""
    return rendered_page("overview.html.j2", said=overview_outline(overview))
