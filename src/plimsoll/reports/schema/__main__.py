"""
Write the schema and the reference page of every JSON report: `python -m plimsoll.reports.schema`.

Run it at the root of the repository after a form has changed. Write the introduction of a new page above its mark.
"""

from pathlib import Path
from typing import Any

from plimsoll.reports.schema.forms import schema_text, schemas
from plimsoll.reports.schema.page import page_with_fields

SCHEMAS, PAGES = Path(__file__).parent, Path("docs/reference")


def write(found: dict[str, dict[str, Any]], folder: Path) -> None:
    """Write all files, even if they do not change: schemas into a folder, the pages of all parts into one."""
    for name, schema in found.items():
        (folder / f"{name}.schema.json").write_text(schema_text(schema), encoding="utf-8")
        page = PAGES / f"{name}-json.md"
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        text = page_with_fields(old, schema)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(schemas(), SCHEMAS)
