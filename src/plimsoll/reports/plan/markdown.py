"""The plan as Markdown, for a ticket or a pull request: the same content, the same order."""

from collections.abc import Iterable

from plimsoll.model.plan import Plan
from plimsoll.reports.plan.cards import OptionCard, OptionRow
from plimsoll.reports.plan.outline import (
    NEVER_RUN,
    WORK_COLUMNS,
    WORK_TITLE,
    PlanOutline,
    plan_outline,
)
from plimsoll.reports.plan.words import SIGNS
from plimsoll.reports.render.markdown import bullets, escaped, facts, table


def render_plan_markdown(plan: Plan) -> str:
    """Render the plan as GitHub-flavoured Markdown that ends with a newline."""
    said = plan_outline(plan)
    head = [f"# {escaped(said.headline)}"]
    if said.is_simulated:
        head.append("> **Simulated data.**")
    head += [escaped(said.identity), escaped(said.conditions)]
    return _joined([*head, *_body(said, "##")])


def render_plan_markdown_section(plan: Plan) -> str:
    """The same to stand below a diagnosis, which has named the instance."""
    said = plan_outline(plan)
    head = ["## The way past", f"**{escaped(said.headline)}**", escaped(said.conditions)]
    return _joined([*head, *_body(said, "###")])


def _body(said: PlanOutline, level: str) -> Iterable[str]:
    demand = said.demand
    yield f"{level} What was asked for"
    yield escaped(demand.lead)
    yield facts(demand.facts)
    yield bullets(demand.statements)
    if demand.assumptions:
        yield "Assumed:"
        yield bullets(demand.assumptions)
    if said.steps:
        yield f"{level} What to try"
        yield bullets(said.steps)
        if said.check:
            yield escaped(said.check_lead)
            yield f"```sh\n{said.check}\n```"
    yield f"{level} Options"
    yield escaped(said.present)
    yield _priced(said.rows, said.enough)
    yield _done(said.rows)
    yield escaped(said.no_option)
    for card in said.cards:
        yield from _card(card, level)
    if said.unpriced:
        yield f"{level} Price not known"
        for card in said.unpriced:
            yield from _card(card, level)
    if any(card.commands for card in (*said.cards, *said.unpriced)):
        yield f"**{NEVER_RUN}**"
    if said.work:
        yield f"{level} {WORK_TITLE}"
        yield table(WORK_COLUMNS, ((r.name, r.usd_per_day_more, r.work) for r in said.work))
    if said.curve:
        yield f"{level} What a price buys"
        yield table(
            ("Arrangement", "$ a month", "Served without waiting"),
            (
                (f"{r.name}{' (as it is)' if r.is_present else ''}", r.usd_per_month, r.served)
                for r in said.curve
            ),
        )
    if said.notes:
        yield f"{level} Notes"
        yield bullets(said.notes)


def _priced(rows: Iterable[OptionRow], enough: str) -> str:
    return table(
        (
            "",
            "Change",
            "Verdict",
            enough,
            "At a ceiling",
            "$ a day",
            "Difference",
            "$ a month",
        ),
        (
            (
                row.number,
                f"{row.title}{f' ({row.role})' if row.role else ''}",
                _verdict(row),
                row.chance,
                row.minutes,
                row.usd_per_day,
                row.usd_per_day_more,
                row.usd_per_month,
            )
            for row in rows
        ),
    )


def _done(rows: Iterable[OptionRow]) -> str:
    return table(
        ("", "Disruption", "Served", "Mean latency", "Latency p95", "Next ceiling"),
        (
            (r.number, r.disruption, r.served, r.latency_mean, r.latency_p95, r.next_ceiling)
            for r in rows
        ),
    )


def _verdict(row: OptionRow) -> str:
    return f"{SIGNS[row.judgement]} {row.verdict}"


def _card(card: OptionCard, level: str) -> Iterable[str]:
    row = card.row
    yield f"{level}# {row.number}. {escaped(row.title)}: {_verdict(row)}"
    yield escaped(card.reason)
    yield facts(card.facts)
    yield bullets(card.notes)
    if card.settled_by:
        yield f"**What would settle it:** {escaped(card.settled_by)}"
    if card.rejected:
        yield "Cheaper, and why not:"
        yield facts(card.rejected)
    if card.commands:
        yield "To order it (Plimsoll does not):"
        yield "\n".join(["```sh", *card.commands, "```"])


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
