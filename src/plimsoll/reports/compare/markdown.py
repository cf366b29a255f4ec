"""The comparison as Markdown, for a ticket or a pull request: the same content, the same order."""

from collections.abc import Iterable

from plimsoll.model.comparison import Comparison
from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.compare.outline import (
    BADGES,
    NOTHING_CHANGED,
    CompareOutline,
    Row,
    compare_outline,
)
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.markdown import escaped, section, table
from plimsoll.reports.render.words import VERDICT_SIGNS, VERDICT_WORDS

_SIDES = ("Before", "After")


def render_compare_markdown(comparison: Comparison) -> str:
    """Render the comparison as GitHub-flavoured Markdown that ends with a newline."""
    said = compare_outline(comparison)
    return "\n\n".join(part for part in _parts(said) if part) + "\n"


def _parts(said: CompareOutline) -> Iterable[str]:
    yield f"# {escaped(said.headline)}"
    for note in said.simulated:
        yield f"> **Simulated data.** {escaped(note)}".rstrip()
    yield escaped(said.step)
    if said.next_command:
        yield f"```sh\n{said.next_command}\n```"
    yield _facts(said.sides)
    bought = table(("", *_SIDES), ((r.name, r.before, r.after) for r in said.bought))
    yield section("What changed", bought or NOTHING_CHANGED)
    yield section(f"Time at ceilings: {BADGES[said.outcome]}", _times(said), _facts(said.bounds))
    for part in said.sections:
        yield section(part.title, _numbers(_named(part.rows)))
    yield section("Ceilings", _numbers(said.ceilings))
    yield section(
        "Headroom",
        table(
            ("", "Before", "Headroom", "After", "Headroom"),
            (
                (r.name, _verdict(r.verdict_before), r.before, _verdict(r.verdict_after), r.after)
                for r in said.headroom
            ),
        ),
    )
    yield section("Not compared", _facts(said.unknown))
    yield section("Caveats", "\n".join(f"- {escaped(c)}" for c in said.caveats))


def _facts(named: Iterable[Fact]) -> str:
    return "\n".join(f"- **{escaped(f.name)}:** {escaped(f.value)}" for f in named)


def _times(said: CompareOutline) -> str:
    verdicts = ("verdict", *map(_verdict, said.verdicts), "")
    rows = ((r.name, r.before, r.after, r.difference) for r in said.time_at)
    return table(("", *_SIDES, "Difference"), (verdicts, *rows))


def _numbers(rows: Iterable[Row]) -> str:
    """Cells of two lines, such as a ceiling in both units, are joined: a table has no lines."""
    return table(
        ("", *_SIDES, "Difference", "In percent"),
        (
            [cell.replace("\n", ", ") for cell in (r.name, r.before, r.after, r.difference)]
            + [r.percent]
            for r in rows
        ),
    )


def _named(rows: Iterable[Row]) -> Iterable[Row]:
    """Rows with the name of their subject in each, since a ticket may quote one of them."""
    name = parent = ""
    for row in rows:
        if row.name.startswith(" "):
            name = f"{parent}, {row.name.strip()}"
        elif row.name:
            name = parent = row.name
        yield Row(
            name=f"{name}, {row.statistic}",
            before=row.before,
            after=row.after,
            difference=row.difference,
            percent=row.percent,
        )


def _verdict(verdict: Verdict | None) -> str:
    return "–" if verdict is None else f"{VERDICT_SIGNS[verdict]} {VERDICT_WORDS[verdict]}"
