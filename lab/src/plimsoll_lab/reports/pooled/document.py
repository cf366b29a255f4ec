"""The document of the pooled cluster: its phases side by side, what was published, and what Plimsoll said about each."""

from collections.abc import Callable, Iterator

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
from plimsoll.units import number
from plimsoll_lab.model.pooled import PooledPhaseReport, PooledReport
from plimsoll_lab.reports.pooled import words
from plimsoll_lab.reports.pooled.outcome import outcome_section

CAPTION = (
    "Connections at the server that takes writes: orange active, purple idle in transaction, blue idle. Line: queries "
    "per second. Dashed: where a phase begins."
)


def pooled_document(report: PooledReport) -> Document:
    """Return the document of an experiment with a pooled cluster."""
    return Document(
        kind="experiment",
        headline=_headline(report),
        tone=Tone.GOOD if report.is_right else Tone.UNKNOWN if report.is_void else Tone.BAD,
        parts=tuple(_parts(report)),
        is_wide=True,
    )


def _headline(report: PooledReport) -> str:
    count, right = len(report.phases), sum(phase.is_right for phase in report.phases)
    scale = f"scale 1:{report.scale:g}"
    if report.is_void:
        place = f"phase {count} of {report.phase_count}"
        return f"{report.title}: void in {place}, because this machine was too slow or too busy ({scale})."
    if report.is_interrupted:
        return f"{report.title}: interrupted after {count} phases, {right} of them judged right ({scale})."
    if report.is_right:
        return f"{report.title}: what Plimsoll said is right in all {count} phases ({scale})."
    return f"{report.title}: what Plimsoll said is right in {right} of {count} phases ({scale})."


def _parts(report: PooledReport) -> Iterator[Part]:
    yield Paragraph(
        text=f"After {report.source}. Real servers on this machine: {report.machine}. All orders are simulated.",
        weight="quiet",
    )
    yield Picture(characters=None, spec=_drawn(report), caption=CAPTION)
    yield Section(title="Phases", parts=(_side_by_side(report),))
    if report.outcome is not None:
        yield outcome_section(report.outcome)
    cards = [_card(place, phase) for place, phase in enumerate(report.phases, 1)]
    yield Section(title="Phase by phase", parts=tuple(cards))
    yield Section(title="Notes", parts=(bullets_of(report.notes),))


def _drawn(report: PooledReport) -> Callable[[int], Spec]:
    def spec(width: int) -> Spec:
        from plimsoll_lab.reports.pooled.chart import pooled_spec

        return pooled_spec(report, look=page_look(), width=width)

    return spec


def _side_by_side(report: PooledReport) -> Table:
    columns = (
        Column(title="#", is_number=True, may_break=False),
        Column(title="Phase"),
        Column(
            title="Conn.",
            is_number=True,
            may_break=False,
            legend="Conn.: most connections at the server that takes writes.",
        ),
        Column(title="Active", is_number=True, may_break=False, leaves=2),
        Column(title="Refused", is_number=True, may_break=False, leaves=3),
        Column(title="Queries/s", is_number=True, may_break=False),
        Column(
            title="Useful/s",
            is_number=True,
            may_break=False,
            leaves=4,
            legend="Useful/s: queries of business transactions that were done while their client waited.",
        ),
        Column(
            title="BT/s",
            is_number=True,
            may_break=False,
            legend="BT/s: business transactions that were done while their client waited.",
        ),
        Column(title="p95", is_number=True, may_break=False, leaves=1),
        Column(title="Plimsoll", may_break=False),
    )
    rows = tuple(_row(place, phase) for place, phase in enumerate(report.phases, 1))
    return Table(columns=columns, rows=rows, stacks=True)


def _row(place: int, phase: PooledPhaseReport) -> tuple[str | Cell, ...]:
    figures = phase.figures
    right = sum(check.is_right for check in phase.checks)
    return (
        str(place),
        phase.title,
        f"{figures.connections_max:,}",
        f"{figures.active_max:,}",
        f"{figures.refused:,}",
        f"{figures.queries_per_s:,.0f}",
        f"{figures.useful_per_s:,.0f}",
        number(figures.done_per_s, 3),
        words.seconds(figures.latency_s_p95),
        Cell(f"{right} of {len(phase.checks)} right", Tone.GOOD if phase.is_right else Tone.BAD),
    )


def _card(place: int, phase: PooledPhaseReport) -> Card:
    return Card(
        title=phase.title,
        number=str(place),
        verdict="● right" if phase.is_right else "▲ not right",
        tone=Tone.GOOD if phase.is_right else Tone.BAD,
        parts=(
            Paragraph(text=f"{phase.action} {phase.pooler}."),
            Paragraph(text=phase.named[0] if phase.named else "Nothing found.", weight="strong"),
            _measured(phase),
            _said(phase),
        ),
    )


def _measured(phase: PooledPhaseReport) -> Table:
    """Return the measurements with what was published of them."""
    published = {figure.name: figure.text for figure in phase.published}
    rows = [(name, text, published.pop(name, "")) for name, text in words.figures_of(phase.figures)]
    rows += [(name, "", text) for name, text in published.items()]
    columns = (Column(title="Measured"), Column(title="Here"), Column(title="Published"))
    return Table(columns=columns, rows=tuple(rows))


def _said(phase: PooledPhaseReport) -> Table:
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
