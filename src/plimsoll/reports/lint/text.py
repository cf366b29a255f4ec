"""
Findings on a pooler's settings, for a terminal, a pipe or a log; readable without colour.

Rule 1: every finding has its number, its reason, its sources, the exact setting and what would refute it.
"""

from textwrap import wrap

from plimsoll.model.cause import Cause
from plimsoll.model.pooler import PoolerConfig

WIDTH_MIN, WIDTH_MAX = 60, 120
_SIGNS = {"critical": "▲", "warning": "◆", "note": "·"}
_PRODUCTS = {"pgpool": "Pgpool-II", "pgbouncer": "PgBouncer"}


def render_lint(
    config: PoolerConfig, causes: tuple[Cause, ...], *, width: int, notes: tuple[str, ...] = ()
) -> str:
    """
    The findings as text that ends with a newline.

    Args:
        config: what was looked at.
        causes: what was found, the gravest first.
        notes: what could not be looked at, sentences without a stop.
        width: columns; fewer than 60 are taken as 60, more than 120 as 120. Settings to copy are
            never broken.
    """
    width = min(max(width, WIDTH_MIN), WIDTH_MAX)
    version = config.version or "version not known"
    lines = wrap(f"{_PRODUCTS[config.kind]} · {version} · {config.place}", width)
    for cause in causes:
        lines += ["", *_finding(cause, width)]
    counts = {level: sum(c.severity == level for c in causes) for level in _SIGNS}
    said = ", ".join(f"{count} {_plural(level, count)}" for level, count in counts.items() if count)
    told = [f"{note[0].upper()}{note[1:]}." for note in notes]
    ending = [line for text in (f"{said or 'Nothing found'}.", *told) for line in wrap(text, width)]
    return "\n".join([*lines, "", *ending]) + "\n"


def _plural(level: str, count: int) -> str:
    return level if level == "critical" or count == 1 else f"{level}s"


def _finding(cause: Cause, width: int) -> list[str]:
    sign = f"{_SIGNS[cause.severity]} {cause.severity}  "
    lines = wrap(sign + cause.title, width, subsequent_indent="  ")
    lines += _indented(cause.text, width)
    for piece in cause.evidence:
        lines += _indented(piece.text, width, "    - ")
    for remedy in cause.remedies:
        lines += _indented(remedy.text, width, "  → ")
        lines += [f"      {command}" for command in remedy.commands]
        if remedy.expected:
            lines += _indented(remedy.expected, width, "    ")
    if cause.refuted_by:
        lines += _indented(f"Refuted if: {cause.refuted_by}", width)
    return lines


def _indented(text: str, width: int, first: str = "  ") -> list[str]:
    return wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
        break_long_words=False,
    )
