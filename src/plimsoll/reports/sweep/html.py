"""Sweeps as one page: charts, tables, limits; nothing loaded, no script."""

from collections.abc import Sequence

from plimsoll.model.sweep import SweepReport
from plimsoll.reports.chart.drawing import svg
from plimsoll.reports.chart.look import page_look
from plimsoll.reports.render.page import rendered_page
from plimsoll.reports.sweep.chart import sweep_spec
from plimsoll.reports.sweep.outline import sweep_outline


def render_sweep_html(reports: Sequence[SweepReport]) -> str:
    """Render all configurations as one HTML document; equal reports give equal text."""
    from markupsafe import Markup

    return rendered_page(
        "sweep.html.j2",
        sweeps=[
            {
                "said": sweep_outline(report),
                "svg": Markup(svg(sweep_spec([report], look=page_look(), is_titled=False))),  # noqa: S704
            }
            for report in reports
        ],
    )
