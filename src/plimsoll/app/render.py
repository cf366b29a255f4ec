"""Render a result in the requested form."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

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


Documented = (
    Comparison
    | Inspection
    | LimitSheet
    | Drawn
    | PoolerFindings
    | InfrastructureFindings
    | PoolSizing
    | ToastProof
    | ExplainComparison
    | Overview
    | PaceReport
    | Plan
    | Rehearsal
    | AlarmSet
    | FleetReport
)
"""Results that are rendered through a document, and so in every form."""

Found = Report | Documented
_Shown = TypeVar("_Shown", bound=Found)

BriefKind = Report | Plan | Comparison | Inspection
"""Results that also have a brief report."""
BRIEF_KINDS = (Report, Plan, Comparison, Inspection)


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
        found: a report, plan, comparison, inspection, overview of several instances, or findings.
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
    if form == "json":
        return escaped_json(_json(found))
    if form == "markdown":
        return visible(_markdown(found, lists_all=lists_all))
    if form == "html":
        return _html(found, origin)
    if form == "sarif" and isinstance(found, InfrastructureFindings):
        from plimsoll.reports.infrastructure.sarif import render_sarif

        return escaped_json(render_sarif(found).decode())
    if form != "text":
        raise UsageError(f"there is no form '{form}'", "Use text, json, markdown or html.")
    text = _text(found, width=width, color=color, lists_all=lists_all)
    return visible(text, has_color=color)


def document_of(found: Documented, *, lists_all: bool = False) -> "Document":
    """Return a result as a document, from which every form is rendered."""
    if isinstance(found, Plan):
        from plimsoll.reports.plan.document import plan_document

        return plan_document(found)
    if isinstance(found, Overview):
        from plimsoll.reports.overview.document import overview_document

        return overview_document(found, lists_all=lists_all)
    if isinstance(found, Comparison):
        from plimsoll.reports.compare.document import compare_document

        return compare_document(found)
    if isinstance(found, Inspection):
        from plimsoll.reports.inspect.document import inspect_document

        return inspect_document(found)
    if isinstance(found, LimitSheet):
        from plimsoll.reports.limits.document import limits_document

        return limits_document(found)
    if isinstance(found, Drawn):
        return found.document
    if isinstance(found, PoolSizing):
        from plimsoll.reports.pool_size.document import pool_size_document

        return pool_size_document(found)
    if isinstance(found, ToastProof):
        from plimsoll.reports.toast.document import toast_document

        return toast_document(found)
    if isinstance(found, ExplainComparison):
        from plimsoll.reports.explain.document import explain_document

        return explain_document(found)
    if isinstance(found, PaceReport):
        from plimsoll.reports.pace.document import pace_document

        return pace_document(found)
    if isinstance(found, Rehearsal):
        from plimsoll.reports.rehearse.document import rehearsal_document

        return rehearsal_document(found)
    if isinstance(found, AlarmSet):
        from plimsoll.reports.alarm.document import alarm_document

        return alarm_document(found)
    if isinstance(found, InfrastructureFindings):
        from plimsoll.reports.infrastructure.document import infrastructure_document

        return infrastructure_document(found)
    if isinstance(found, FleetReport):
        from plimsoll.reports.fleet.document import fleet_document

        return fleet_document(found, lists_all=lists_all)
    from plimsoll.reports.lint.document import lint_document

    return lint_document(found)


def render_brief(found: BriefKind, *, width: int | None = None, color: bool = False) -> str:
    """
    Render a result as text of at most twelve lines; it ends with a newline.

    Args:
        found: what to show.
        width: columns of the text; None takes the terminal's, or 80 in a pipe.
        color: whether escape sequences for colour may be used.
    """
    from plimsoll.reports.render.brief import brief_text

    def draw(one: BriefKind) -> str:
        text = brief_text(_brief_of(one), width=width, color=color)
        return visible(text, has_color=color)

    return whole(found, draw)


def _brief_of(found: BriefKind) -> "Brief":
    if isinstance(found, Report):
        from plimsoll.reports.diagnosis.brief import diagnosis_brief

        return diagnosis_brief(found.diagnosis, found.plan)
    if isinstance(found, Plan):
        from plimsoll.reports.plan.brief import plan_brief

        return plan_brief(found)
    if isinstance(found, Comparison):
        from plimsoll.reports.compare.brief import compare_brief

        return compare_brief(found)
    from plimsoll.reports.inspect.brief import inspect_brief

    return inspect_brief(found)


def plan_below(plan: Plan, form: Form, width: int | None = None, *, color: bool = False) -> str:
    """Render a plan below a diagnosis, which has already named the instance, as text or Markdown."""
    from plimsoll.reports.plan.document import plan_section

    if form == "markdown":
        from plimsoll.reports.document.markdown import part_in_markdown

        return f"\n{part_in_markdown(plan_section(plan))}\n"
    from plimsoll.reports.document.text import section_text

    return section_text(plan_section(plan), width=width, color=color)


def _text(found: Found, *, width: int | None, color: bool, lists_all: bool) -> str:
    if isinstance(found, Report):
        from plimsoll.reports.diagnosis.text import render_text

        text = render_text(found.diagnosis, found.snapshot, width=width, color=color, inspection=found.inspection)
        return text + (plan_below(found.plan, "text", width, color=color) if found.plan else "")
    from plimsoll.reports.document.text import document_text

    return document_text(document_of(found, lists_all=lists_all), width=width, color=color)


def _json(found: Found) -> str:
    if isinstance(found, Report):
        from plimsoll.reports.diagnosis.json import render_json

        return render_json(found.diagnosis, found.inspection).decode()
    return _document_json(found)


def _document_json(found: Documented) -> str:
    if isinstance(found, Plan):
        from plimsoll.reports.plan.json import render_plan_json

        return render_plan_json(found).decode()
    if isinstance(found, Overview):
        from plimsoll.reports.overview.json import render_overview_json

        return render_overview_json(found).decode()
    if isinstance(found, Comparison):
        from plimsoll.reports.compare.json import render_compare_json

        return render_compare_json(found).decode()
    if isinstance(found, Inspection):
        from plimsoll.reports.inspect.json import render_inspection_json

        return render_inspection_json(found).decode()
    if isinstance(found, LimitSheet):
        from plimsoll.reports.limits.json import render_limits_json

        return render_limits_json(found)
    if isinstance(found, Drawn):
        return found.json
    if isinstance(found, PoolSizing):
        from plimsoll.reports.pool_size.json import render_pool_size_json

        return render_pool_size_json(found).decode()
    if isinstance(found, ToastProof):
        from plimsoll.reports.toast.json import render_toast_proof_json

        return render_toast_proof_json(found)
    if isinstance(found, ExplainComparison):
        from plimsoll.reports.explain.json import render_explain_json

        return render_explain_json(found)
    if isinstance(found, PaceReport):
        from plimsoll.reports.pace.json import render_pace_json

        return render_pace_json(found).decode()
    if isinstance(found, Rehearsal):
        from plimsoll.reports.rehearse.json import render_rehearsal_json

        return render_rehearsal_json(found).decode()
    if isinstance(found, AlarmSet):
        from plimsoll.reports.alarm.json import render_alarms_json

        return render_alarms_json(found)
    if isinstance(found, InfrastructureFindings):
        from plimsoll.reports.infrastructure.json import render_infrastructure_json

        return render_infrastructure_json(found).decode()
    if isinstance(found, FleetReport):
        from plimsoll.reports.fleet.json import render_fleet_json

        return render_fleet_json(found).decode()
    from plimsoll.reports.lint.json import render_lint_json

    return render_lint_json(found).decode()


def _markdown(found: Found, *, lists_all: bool) -> str:
    if isinstance(found, Report):
        from plimsoll.reports.diagnosis.markdown import render_markdown

        text = render_markdown(found.diagnosis, found.snapshot, found.inspection)
        return text + (plan_below(found.plan, "markdown") if found.plan else "")
    from plimsoll.reports.document.markdown import document_markdown

    return document_markdown(document_of(found, lists_all=lists_all))


def _html(found: Found, origin: "PageOrigin | None") -> str:
    if isinstance(found, Report):
        from plimsoll.reports.diagnosis.html import render_html

        return render_html(found.diagnosis, found.snapshot, found.plan, found.inspection, origin=origin)
    if isinstance(found, FleetReport):
        from plimsoll.reports.fleet.html import fleet_page

        return fleet_page(found, origin)
    from plimsoll.reports.document.page import document_page

    return document_page(document_of(found, lists_all=True), origin)
