"""Many instances as one page: every row of the table, nothing loaded, no script."""

from plimsoll.model.overview import Overview
from plimsoll.sinks.html import rendered_page
from plimsoll.sinks.overview_outline import overview_outline


def render_overview_html(overview: Overview) -> str:
    """Render the table as one HTML document; equal overviews give equal text."""
    return rendered_page("overview.html.j2", said=overview_outline(overview))
