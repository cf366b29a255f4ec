"""
The report as one page: everything inside, nothing loaded, readable without scripts.

The chart stands in the page as a static drawing. Where scripts run it is replaced by the same
specification made interactive; where they are off, blocked or the page is printed, it stays. A
content security policy in the page forbids it every network access.
"""

import json
from functools import cache
from typing import Any

from plimsoll.model.cause import Inspection
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.plan import Plan
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.chart.drawing import VEGALITE, svg
from plimsoll.reports.chart.engine import drawn, has_vega
from plimsoll.reports.chart.look import page_look
from plimsoll.reports.diagnosis.chart import caption, chart_samples, timeline_spec
from plimsoll.reports.diagnosis.outline import outline
from plimsoll.reports.document.page import part_values, topics_of
from plimsoll.reports.inspect.document import causes_section
from plimsoll.reports.plan.document import plan_section
from plimsoll.reports.render import words
from plimsoll.reports.render.explanations import explanations_of
from plimsoll.reports.render.origin import PageOrigin
from plimsoll.reports.render.page import rendered_page, template_text

# Width of the static drawing, without the numbers at its left; the page is 68 rem wide.
_STATIC_WIDTH = 1030

# Values in the line above the chart for the time under the pointer: column, name, unit, digits.
_READOUT = (
    ("rate", "total", "MB/s", 1),
    ("reads", "reads", "MB/s", 1),
    ("ops", "total", "IOPS", 0),
    ("read_ms", "read latency", "ms", 1),
    ("write_ms", "write latency", "ms", 1),
    ("queue", "queue", "", 1),
    ("byte_balance", "throughput credits", "%", 0),
    ("io_balance", "IOPS credits", "%", 0),
    ("volume_balance", "gp2 credits", "%", 0),
    ("cpu", "CPU", "%", 0),
    ("capacity", "capacity", "%", 0),
    ("local_free", "local storage left", "GiB", 1),
)


def render_html(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    plan: Plan | None = None,
    inspection: Inspection | None = None,
    *,
    origin: PageOrigin | None = None,
) -> str:
    """
    Render the report as one HTML document; equal inputs give equal text.

    Args:
        diagnosis: what was found.
        snapshot: the series it was found in.
        plan: the way past, for a section of its own; None leaves it out.
        inspection: what inside the database spends it, likewise.
        origin: who made the page, when and how; None leaves it out.
    """
    from markupsafe import Markup

    values = report_values(diagnosis, snapshot, plan, inspection)
    return rendered_page(
        "report.html.j2",
        origin=origin,
        script=Markup(template_text("report.js")),  # noqa: S704  package data
        vega=Markup(vega_script()) if values["has_chart"] else "",  # noqa: S704  bundled library
        **values,
    )


def report_values(
    diagnosis: Diagnosis, snapshot: Snapshot, plan: Plan | None = None, inspection: Inspection | None = None
) -> dict[str, Any]:
    """Return what the templates of the report need, for a page of its own or as a part of another."""
    from markupsafe import Markup

    found = outline(diagnosis)
    planned = guarded("the plan", lambda: plan_section(plan), None) if plan else None
    causes = guarded("causes", lambda: causes_section(inspection), None) if inspection else None
    sections = [section for section in (planned, causes) if section is not None]
    samples = guarded("the timeline", lambda: chart_samples(diagnosis, snapshot), None)
    has_samples = samples is not None and bool(samples.metric)
    chart = None
    if has_samples and has_vega():
        chart = guarded("the timeline", lambda: _chart(diagnosis, snapshot), None)
    has_chart = chart is not None
    chart = chart or {"svg": "", "document": ""}
    return {
        "report": found,
        "explanations": explanations_of([*(finding.topic for finding in found.findings), *topics_of(sections)]),
        "title": words.subject(diagnosis.instance),
        "verdict_badges": words.VERDICT_BADGES,
        "has_chart": has_chart,
        "has_samples": has_samples,
        "caption": caption(samples) if samples is not None else "",
        "svg": Markup(chart["svg"]),  # noqa: S704  written by Vega, which escapes
        "document": Markup(chart["document"]),  # noqa: S704  escaped in _in_script
        "plan": planned,
        "causes": causes,
        **part_values(),
    }


def _chart(diagnosis: Diagnosis, snapshot: Snapshot) -> dict[str, str]:
    """Return the static drawing, and the data for the interactive one."""
    samples = chart_samples(diagnosis, snapshot)
    spec = timeline_spec(diagnosis, snapshot, look=page_look(), width=_STATIC_WIDTH, is_titled=False, samples=samples)
    drawing = svg(spec)
    rows = spec["datasets"]["samples"]
    spec["datasets"]["samples"] = []
    names = [name for name in rows[0] if name != "t"]
    document = {
        "spec": spec,
        "first_ms": rows[0]["t"],
        "step_ms": round(1000 * samples.bucket_s),
        "window_ms": [1000 * s for s in diagnosis.window_s],
        "columns": {name: [row[name] for row in rows] for name in names},
        "readout": [entry for entry in _READOUT if entry[0] in names],
    }
    return {"svg": drawing, "document": _in_script(document)}


def _in_script(document: Any) -> str:
    """Return JSON that cannot end its script element."""
    text = json.dumps(document, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def vega_script() -> str:
    """Return vega, Vega-Lite and Vega-Embed, about 900 kB, so that the page loads nothing."""
    snippet = "window.vegaEmbed = vegaEmbed;"
    bundle = drawn("javascript_bundle", snippet, vl_version=VEGALITE).decode()
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
