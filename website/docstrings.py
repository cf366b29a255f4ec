"""An extension of griffe: sessions in docstrings, which begin with `>>>`, are shown as code."""

from typing import Any

import griffe


class Sessions(griffe.Extension):
    """Fences every session that stands alone in a docstring."""

    def on_instance(self, *, obj: griffe.Object, **others: Any) -> None:
        """Change the docstring of one object."""
        del others
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return a docstring with each paragraph that begins with `>>>` as a block of code."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        f"```python\n{paragraph.strip()}\n```" if paragraph.lstrip().startswith(">>>") else paragraph
        for paragraph in paragraphs
    )
