"""Several texts in one golden file, each below its name."""

from collections.abc import Mapping


def together(texts: Mapping[str, str]) -> str:
    """Return the texts, each below a line with its name."""
    return "\n".join(f"=== {name}\n{text.rstrip()}\n" for name, text in texts.items())
