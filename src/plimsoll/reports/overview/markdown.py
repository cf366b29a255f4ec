"""Many instances as Markdown, for a ticket: the same content, the same order."""

from collections.abc import Iterable, Sequence

from plimsoll.model.diagnosis import Verdict
from plimsoll.model.overview import Overview
from plimsoll.reports.overview.outline import Group, RowSaid, folded_name, overview_outline
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.markdown import escaped, facts, section, table
from plimsoll.reports.render.words import VERDICT_SIGNS

_TITLES = (
    *("", "Instance", "Class", "Storage", "Verdict", "Limit, or nearest"),
    *("At it", "Share", "Credits", "Remarks"),
)


def render_overview_markdown(overview: Overview, *, lists_all: bool = False) -> str:
    """
    Render the table as GitHub-flavoured Markdown that ends with a newline.

    Args:
        overview: many instances, ranked.
        lists_all: whether every instance gets a row, those that are not near a limit too.
    """
    return "\n\n".join(part for part in _parts(overview, lists_all=lists_all) if part) + "\n"


def _parts(overview: Overview, *, lists_all: bool) -> Iterable[str]:
    said = overview_outline(overview)
    yield f"# {escaped(said.headline)}"
    if said.simulated:
        yield f"> **Simulated data.** {escaped(said.simulated)}"
    yield escaped(said.stopped)
    shown = [r for r in said.rows if lists_all or r.verdict in (Verdict.BINDS, Verdict.NEAR)]
    yield table(_TITLES, map(_cells, shown))
    yield section("Could not be judged", _groups(said.unknown))
    yield section("Could not be read", _groups(said.unread))
    yield section("Read only in part", _groups(said.failed))
    folded = [folded_name(r) for r in said.rows if r.verdict is Verdict.SLACK and r not in shown]
    yield section(f"Not near a limit: {len(folded)}", escaped(", ".join(sorted(folded))))
    yield section("How it was measured", facts([Fact(*pair) for pair in said.measured]))


def _cells(row: RowSaid) -> Sequence[str]:
    return (
        *(str(row.rank), row.name, row.db_class, row.storage),
        f"{VERDICT_SIGNS[row.verdict]} {row.word}",
        *(row.limit, row.time_at, row.share, row.credits, "; ".join(row.notes)),
    )


def _groups(groups: Sequence[Group]) -> str:
    return "\n".join(
        f"- **{escaped(g.reason)}:** {escaped(', '.join(g.names))}. {escaped(g.remedy)}".rstrip()
        for g in groups
    )
