"""
Render a result in the requested form.

A result is any value with a row in the table: `register` adds one. A row names functions by `module:function`, which are
imported when a result of that type is rendered.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.errors import UsageError
from plimsoll.model.alarm import AlarmSet
from plimsoll.model.cause import Inspection
from plimsoll.model.comparison import Comparison
from plimsoll.model.contained import collecting, gaps_of, lost_notes
from plimsoll.model.diagnosis import Diagnosis, Missing
from plimsoll.model.explain import ExplainComparison
from plimsoll.model.fleet import FleetReport
from plimsoll.model.infrastructure import InfrastructureFindings
from plimsoll.model.lint import PoolerFindings
from plimsoll.model.overview import Overview
from plimsoll.model.pace import PaceReport
from plimsoll.model.plan import Plan
from plimsoll.model.pool_size import PoolSizing
from plimsoll.model.rehearsal import Rehearsal
from plimsoll.model.sheet import LimitSheet
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.toast import ToastProof
from plimsoll.model.visible import escaped_json, visible

if TYPE_CHECKING:
    from plimsoll.reports.document.parts import Document
    from plimsoll.reports.render.brief import Brief
    from plimsoll.reports.render.origin import PageOrigin

Form = Literal["text", "json", "markdown", "html"]
FileForm = Form | Literal["sarif"]
"""The forms of findings on files."""


class Report(Struct, frozen=True, kw_only=True):
    """A diagnosis, and what the same report shows with it."""

    diagnosis: Diagnosis
    snapshot: Snapshot
    """The series that were diagnosed."""
    inspection: Inspection | None = None
    plan: Plan | None = None
    """Left out of the JSON form: a plan has a JSON form of its own."""


class Drawn(Struct, frozen=True, kw_only=True):
    """A result of a part (`plimsoll.parts`), which brings its own forms."""

    document: "Document"
    json: str
    """The same for programs."""


Found = Struct
"""A result: a value of a type that is registered."""
_Shown = TypeVar("_Shown", bound=Found)

BriefKind = Report | Plan | Comparison | Inspection
"""Results that also have a brief report."""


class Renderer(Struct, frozen=True, kw_only=True):
    """The functions that give a result its forms, each as `module:function`."""

    document: str
    """Returns a `Document`, from which text, Markdown and the page are made."""
    json: str
    """Returns the JSON form, a text or bytes."""
    brief: str = ""
    """Returns a `Brief`; empty where there is no brief report."""
    html: str = ""
    """Returns a page of its own from the result and its origin; empty where the page is that of the document."""
    sarif: str = ""
    """Returns the findings in SARIF, as bytes; empty for other results."""
    has_all: bool = False
    """Whether the document takes `lists_all`."""


def _own(folder: str, document: str, json: str, **more: Any) -> Renderer:
    """Return the renderer of a folder of `reports`, whose files are named after the forms."""
    forms = {form: f"plimsoll.reports.{folder}.{form}:{name}" for form, name in more.items() if form != "has_all"}
    return Renderer(
        document=f"plimsoll.reports.{folder}.document:{document}",
        json=f"plimsoll.reports.{folder}.json:{json}",
        has_all="has_all" in more,
        **forms,
    )


_RENDERERS: dict[type[Struct], Renderer] = {
    Report: Renderer(
        document="plimsoll.app.render:_report_document",
        json="plimsoll.app.render:_report_json",
        brief="plimsoll.app.render:_report_brief",
    ),
    AlarmSet: _own("alarm", "alarm_document", "render_alarms_json"),
    Comparison: _own("compare", "compare_document", "render_compare_json", brief="compare_brief"),
    ExplainComparison: _own("explain", "explain_document", "render_explain_json"),
    FleetReport: _own("fleet", "fleet_document", "render_fleet_json", html="fleet_page", has_all=True),
    InfrastructureFindings: _own(
        "infrastructure", "infrastructure_document", "render_infrastructure_json", sarif="render_sarif"
    ),
    Inspection: _own("inspect", "inspect_document", "render_inspection_json", brief="inspect_brief"),
    LimitSheet: _own("limits", "limits_document", "render_limits_json"),
    Overview: _own("overview", "overview_document", "render_overview_json", has_all=True),
    PaceReport: _own("pace", "pace_document", "render_pace_json"),
    Plan: _own("plan", "plan_document", "render_plan_json", brief="plan_brief"),
    PoolerFindings: _own("lint", "lint_document", "render_lint_json"),
    PoolSizing: _own("pool_size", "pool_size_document", "render_pool_size_json"),
    Rehearsal: _own("rehearse", "rehearsal_document", "render_rehearsal_json"),
    Drawn: Renderer(document="plimsoll.app.render:_drawn_document", json="plimsoll.app.render:_drawn_json"),
    ToastProof: _own("toast", "toast_document", "render_toast_proof_json"),
}


def register(kind: type[Struct], renderer: Renderer) -> None:
    """Register a type of results of another distribution."""
    _RENDERERS[kind] = renderer


def has_brief(found: Found) -> bool:
    """Return whether a result also has a brief report."""
    return bool(_RENDERERS[type(found)].brief)


def _made(function: str, *arguments: Any, **options: Any) -> Any:
    """Return what a function returns that is named as `module:function`."""
    module, _, name = function.partition(":")
    return getattr(import_module(module), name)(*arguments, **options)


def render(
    found: Found,
    form: FileForm = "text",
    *,
    width: int | None = None,
    color: bool = False,
    lists_all: bool = False,
    origin: "PageOrigin | None" = None,
) -> str:
    """
    Render a result as text, JSON, Markdown or one HTML page; it ends with a newline.

    Args:
        found: a report, plan, comparison, or another value of a registered type.
        form: text, json, markdown or html; sarif for findings on declared databases.
        width: columns of the text; None takes the terminal's, or 80 in a pipe.
        color: whether escape sequences for colour may be used.
        lists_all: whether an overview and a fleet have a row for each instance.
        origin: who made a page, when and with which command; None leaves it out.

    Raises:
        UsageError: the form is none of these.
    """
    draw = partial(_rendered, form=form, width=width, color=color, lists_all=lists_all, origin=origin)
    return whole(found, draw)


def whole(found: _Shown, draw: Callable[[_Shown], str]) -> str:
    """
    Return what is drawn of a result; parts that are lost to internal errors are gaps in it.

    Args:
        found: a result; one without a place for gaps is drawn as it is.
        draw: gives the text of a result.
    """
    if not isinstance(found, Report | Plan | Inspection):
        return draw(found)
    with collecting() as failed:
        text = draw(found)
    if not failed:
        return text
    # The same parts are lost again, and now the text says so.
    with collecting():
        return draw(with_lost(found, gaps_of(failed)))


def with_lost(found: _Shown, gaps: tuple[Missing, ...]) -> _Shown:
    """Return a result with further gaps."""
    if isinstance(found, Report):
        missing = (*gaps, *found.diagnosis.missing)
        return replace(found, diagnosis=replace(found.diagnosis, missing=missing))
    if isinstance(found, Inspection):
        return replace(found, missing=(*gaps, *found.missing))
    if isinstance(found, Plan):
        return replace(found, notes=(*lost_notes(gaps), *found.notes))
    return found


def _rendered(
    found: Found, *, form: FileForm, width: int | None, color: bool, lists_all: bool, origin: "PageOrigin | None"
) -> str:
    renderer = _RENDERERS[type(found)]
    if form == "json":
        return escaped_json(_text_of(_made(renderer.json, found)))
    if form == "sarif" and renderer.sarif:
        return escaped_json(_text_of(_made(renderer.sarif, found)))
    if form == "html" and renderer.html:
        return _text_of(_made(renderer.html, found, origin))
    if form == "html":
        from plimsoll.reports.document.page import document_page

        return document_page(document_of(found, lists_all=True), origin)
    if form == "markdown":
        from plimsoll.reports.document.markdown import document_markdown

        return visible(document_markdown(document_of(found, lists_all=lists_all)))
    if form != "text":
        raise UsageError(f"there is no form '{form}'", "Use text, json, markdown or html.")
    from plimsoll.reports.document.text import document_text

    text = document_text(document_of(found, lists_all=lists_all), width=width, color=color)
    return visible(text, has_color=color)


def _text_of(made: str | bytes) -> str:
    return made if isinstance(made, str) else made.decode()


def document_of(found: Found, *, lists_all: bool = False) -> "Document":
    """Return a result as a document, from which every form but JSON is rendered."""
    renderer = _RENDERERS[type(found)]
    options = {"lists_all": lists_all} if renderer.has_all else {}
    document: Document = _made(renderer.document, found, **options)
    return document


def _report_document(found: Report) -> "Document":
    from plimsoll.reports.diagnosis.document import diagnosis_document

    return diagnosis_document(found.diagnosis, found.snapshot, found.inspection, found.plan)


def _report_json(found: Report) -> bytes:
    from plimsoll.reports.diagnosis.json import render_json

    return render_json(found.diagnosis, found.inspection)


def _report_brief(found: Report) -> "Brief":
    from plimsoll.reports.diagnosis.brief import diagnosis_brief

    return diagnosis_brief(found.diagnosis, found.plan)


def _drawn_document(found: Drawn) -> "Document":
    return found.document


def _drawn_json(found: Drawn) -> str:
    return found.json


def render_brief(found: Found, *, width: int | None = None, color: bool = False) -> str:
    """
    Render a result as text of at most twelve lines; it ends with a newline.

    Args:
        found: what to show.
        width: columns of the text; None takes the terminal's, or 80 in a pipe.
        color: whether escape sequences for colour may be used.
    """
    from plimsoll.reports.render.brief import brief_text

    def draw(one: Found) -> str:
        text = brief_text(_made(_RENDERERS[type(one)].brief, one), width=width, color=color)
        return visible(text, has_color=color)

    return whole(found, draw)
