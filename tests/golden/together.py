"""Several texts in one golden file, each below its name, and those of reports."""

from collections.abc import Mapping

from plimsoll.app.render import render


def together(parts: Mapping[str, str]) -> str:
    """Return the texts, each below a line with its name."""
    return "\n".join(f"=== {name}\n{text.rstrip()}\n" for name, text in parts.items())


def texts(reports: Mapping[str, object], width: int = 100) -> dict[str, str]:
    """Each report as text, by its name."""
    return {name: render(report, "text", width=width) for name, report in reports.items()}
