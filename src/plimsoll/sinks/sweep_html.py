"""Sweeps as one page: charts, tables, limits; nothing loaded, no script."""

from collections.abc import Sequence

from plimsoll.model.sweep import SweepReport
from plimsoll.sinks.chart_look import page_look
from plimsoll.sinks.charts import svg
from plimsoll.sinks.html import rendered_page
from plimsoll.sinks.sweep_chart import sweep_spec
from plimsoll.sinks.sweep_outline import sweep_outline


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
