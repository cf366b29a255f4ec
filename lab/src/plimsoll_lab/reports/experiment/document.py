"""The document of an experiment: its phases side by side, what was published, and what Plimsoll said about each."""

from collections.abc import Callable, Collection, Iterator

from plimsoll.reports.chart.drawing import Spec
from plimsoll.reports.chart.look import page_look
from plimsoll.reports.document.parts import (
    Card,
    Cell,
    Column,
    Document,
    Paragraph,
    Part,
    Picture,
    Section,
    Table,
    Tone,
    bullets_of,
)
from plimsoll.reports.render.explanations import Topic
from plimsoll_lab.model.experiment import ExperimentFigures, ExperimentReport, PhaseReport
from plimsoll_lab.reports.experiment import words

CAPTION = (
    "Blue: reads below, writes above, each point one emulated minute. Orange line: the throughput that the instance "
    "allows, its burst while it has credits."
)


def experiment_document(report: ExperimentReport) -> Document:
    """Return the document of an experiment."""
    tone = Tone.GOOD if report.is_right else Tone.UNKNOWN if report.is_void else Tone.BAD
    return Document(
        kind="experiment",
        headline=_headline(report),
        tone=tone,
        parts=tuple(_parts(report)),
        topic=Topic.EXPERIMENT,
        is_wide=True,
    )


def _headline(report: ExperimentReport) -> str:
    scale = words.scale_line(report)
    count = len(report.phases)
    right = sum(phase.is_right for phase in report.phases)
    if report.is_void:
        return f"{report.title}: void, because this machine was too slow ({scale})."
    if report.is_interrupted:
        return f"{report.title}: interrupted after {count} phases, {right} of them judged right ({scale})."
    if report.is_right:
        return f"{report.title}: what Plimsoll said is right in all {count} phases ({scale})."
    return f"{report.title}: what Plimsoll said is right in {right} of {count} phases ({scale})."


def _parts(report: ExperimentReport) -> Iterator[Part]:
    yield Paragraph(
        text=f"After {report.source}. Real servers on this machine, under emulated limits: {report.machine}.",
        weight="quiet",
    )
    yield Picture(characters=None, spec=_drawn(report), caption=CAPTION)
    yield Section(title="Phases", parts=(_side_by_side(report),))
    measured = words.measured_of(report)
    cards = [_card(number, phase, measured) for number, phase in enumerate(report.phases, 1)]
    yield Section(title="Phase by phase", parts=tuple(cards))
    yield Section(title="Notes", parts=(bullets_of(report.notes),))


def _drawn(report: ExperimentReport) -> Callable[[int], Spec]:
    def spec(width: int) -> Spec:
        from plimsoll_lab.reports.experiment.chart import experiment_spec

        return experiment_spec(report, look=page_look(), width=width)

    return spec


def _side_by_side(report: ExperimentReport) -> Table:
    measured = words.measured_of(report)
    ours = tuple((column, of) for name, column, of in _OWN if name in measured)
    columns = (*_COMMON, *(column for column, _ in ours), Column(title="Plimsoll", may_break=False))
    rows = tuple(
        (
            *_common(number, phase),
            *(of(phase.figures) for _, of in ours),
            Cell(words.outcome_of(phase), Tone.GOOD if phase.is_right else Tone.BAD),
        )
        for number, phase in enumerate(report.phases, 1)
    )
    return Table(columns=columns, rows=rows, stacks=True)


_COMMON = (
    Column(title="#", is_number=True, may_break=False),
    Column(title="Phase"),
    Column(title="MB/s", is_number=True, may_break=False),
    Column(title="IOPS", is_number=True, may_break=False, leaves=3),
    Column(title="Read", is_number=True, may_break=False),
    Column(title="Write", is_number=True, may_break=False),
    Column(title="Queue", is_number=True, may_break=False, leaves=4),
    Column(
        title="At limit",
        is_number=True,
        may_break=False,
        legend="At limit: emulated minutes in which a limit made requests wait, by the gate.",
    ),
)
_OWN: tuple[tuple[str, Column, Callable[[ExperimentFigures], str]], ...] = (
    (
        "events that wait",
        Column(title="Lag", is_number=True, may_break=False, leaves=2),
        lambda figures: words.UNKNOWN if figures.lag_end is None else f"{figures.lag_end:,}",
    ),
    (
        "freshness",
        Column(
            title="Fresh",
            is_number=True,
            may_break=False,
            leaves=1,
            legend="Fresh: from a change to its document in the index, 99 of 100 within.",
        ),
        lambda figures: words.seconds(figures.freshness_s_p99),
    ),
    (
        "dead tuples per update",
        Column(
            title="Dead",
            is_number=True,
            may_break=False,
            leaves=5,
            legend="Dead: tuples that an update of the large table leaves, TOAST included.",
        ),
        lambda figures: words.plain(figures.dead_tuples_per_update),
    ),
    (
        "loading",
        Column(
            title="Load",
            is_number=True,
            may_break=False,
            legend="Load: emulated minutes until the last file was loaded.",
        ),
        lambda figures: words.minutes(figures.loading_minutes),
    ),
    (
        "refresh",
        Column(
            title="Refresh",
            is_number=True,
            may_break=False,
            legend="Refresh: emulated minutes for the views of the job that took longest.",
        ),
        lambda figures: words.minutes(figures.refresh_minutes),
    ),
    (
        "loading",
        Column(
            title="Response",
            is_number=True,
            may_break=False,
            leaves=2,
            legend="Response: of the application's query, 95 of 100 within.",
        ),
        lambda figures: words.milliseconds(figures.response_s_p95),
    ),
)
"""Columns of experiments that measured something: by which name, and how it is shown."""


def _common(number: int, phase: PhaseReport) -> tuple[str | Cell, ...]:
    named = dict(words.figures_of(phase.figures))
    return (
        str(number),
        phase.title,
        words.megabytes(phase.figures),
        named["IOPS"],
        named["read latency"],
        named["write latency"],
        named["queue depth"],
        named["minutes at a limit"],
    )


def _card(number: int, phase: PhaseReport, measured: Collection[str]) -> Card:
    verdict = "● right" if phase.is_right else "▲ not right"
    return Card(
        title=phase.title,
        number=str(number),
        verdict=verdict,
        tone=Tone.GOOD if phase.is_right else Tone.BAD,
        parts=(
            Paragraph(text=f"{phase.action} {phase.instance}."),
            Paragraph(text=phase.headline, weight="strong"),
            _measured(phase, measured),
            _said(phase),
        ),
    )


def _measured(phase: PhaseReport, measured: Collection[str]) -> Table:
    """Return the measurements with what was published of them."""
    published = {figure.name: figure.text for figure in phase.published}
    rows = [(name, text, published.pop(name, "")) for name, text in words.figures_of(phase.figures) if name in measured]
    rows += [(name, "", text) for name, text in published.items()]
    return Table(columns=(Column(title="Measured"), Column(title="Here"), Column(title="Published")), rows=tuple(rows))


def _said(phase: PhaseReport) -> Table:
    """Return what Plimsoll said about it, with the truth."""
    return Table(
        columns=(
            Column(title="Command", may_break=False),
            Column(title="True"),
            Column(title="Plimsoll"),
            Column(title="Right", may_break=False),
        ),
        rows=tuple(
            (
                check.command,
                check.expected,
                check.found,
                Cell("yes", Tone.GOOD) if check.is_right else Cell("no", Tone.BAD),
            )
            for check in phase.checks
        ),
    )
