"""
Collect the pages of the site in a folder, from which MkDocs builds it: python -m website.stage FOLDER.

The folder gets the pages of the repository with their links adjusted, the reference of the library, the reports with
their gallery, and beside it `mkdocs.json` with the navigation.
"""

import json
import os
import shutil
import sys
from importlib import import_module
from pathlib import Path

from website.pages import ROOT, navigation, places, rewritten, title_of
from website.reports import gallery, write_reports

_WEBSITE = ROOT / "website"
_ASSETS = ("site.css", "mark.svg")
_LIBRARY = (
    "`import plimsoll` gives these names. [Use Plimsoll from a Python program]"
    "(../guides/use-as-a-library.md) shows how they fit together. A name that is not here can change "
    "in any version."
)
_HOME = "index.md"
# A mark in the first page, and what stands there on the site, which has more than the repository.
_MORE = ("<!-- reports -->", "[Open this report, and one of every other kind](gallery.md).")
# Beginning of the address of a file in a published repository; empty until there is one.
_FILES = os.environ.get("PLIMSOLL_FILES_URL", "")


def stage(folder: Path) -> None:
    """Write every page to a folder, which is replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    where = places()
    titles: dict[str, str] = {}
    for source, place in where.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if not place.endswith(".md"):
            shutil.copyfile(ROOT / source, target)
            continue
        text = _text(source)
        if place == _HOME:
            text = f"---\nhide: [navigation]\n---\n\n{text.replace(*_MORE)}"
        target.write_text(rewritten(text, source, where, _FILES), encoding="utf-8")
        titles[place] = title_of(text, place)
    made = {"reference/python-api.md": _library(), "gallery.md": gallery()}
    for place, text in made.items():
        (folder / place).write_text(text, encoding="utf-8")
        titles[place] = title_of(text, place)
    (folder / "assets").mkdir(exist_ok=True)
    for name in _ASSETS:
        shutil.copyfile(_WEBSITE / name, folder / "assets" / name)
    write_reports(folder / "reports")
    config = {
        "INHERIT": os.path.relpath(_WEBSITE / "mkdocs.yml", folder.parent),
        "docs_dir": folder.name,
        "site_dir": "site",
        "nav": navigation(titles, where),
    }
    (folder.parent / "mkdocs.json").write_text(json.dumps(config, indent=1), encoding="utf-8")


def _text(source: str) -> str:
    text = (ROOT / source).read_text(encoding="utf-8")
    if source.endswith(".md"):
        return text
    # Plain text is shown as it is.
    return f"# {Path(source).name.capitalize()}\n\n```text\n{text.rstrip()}\n```\n"


def _library() -> str:
    """Return the page of the names of `plimsoll`, each for mkdocstrings at the module that defines it."""
    plimsoll = import_module("plimsoll")
    names = [name for name in plimsoll.__all__ if not name.startswith("_")]
    entries = [f"::: {getattr(plimsoll, name).__module__}.{name}" for name in names]
    return "\n\n".join(["# The Python library", _LIBRARY, *entries, ""])


if __name__ == "__main__":
    stage(Path(sys.argv[1]).resolve())
