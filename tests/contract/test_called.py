"""Every function of the packages is called by one or a measurement, not by tests alone: found by vulture."""

import tomllib
from pathlib import Path

from vulture.core import Vulture

from contract.tree import LAB, ROOT, SRC
from plimsoll.app.render import _RENDERERS

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["vulture"]
# The table of results names functions in texts, so that none is imported before it is called.
RENDERED = [
    path.rpartition(":")[2]
    for row in _RENDERERS.values()
    for path in (row.document, row.json, row.brief, row.html, row.sarif)
]


def unused(*folders: Path, others: Path | None = None) -> list[str]:
    """What nothing in these folders and the one others them names, but for the names in pyproject.toml."""
    found = Vulture(ignore_names=SETTINGS["ignore_names"] + RENDERED, ignore_decorators=SETTINGS["ignore_decorators"])
    found.scavenge([*folders, *([others] if others else [])])
    # Fields of records are read by what encodes them: vulture cannot see it, and has no option to leave them out.
    return [
        one.get_report()
        for one in found.get_unused_code()
        if one.typ in ("function", "method", "property", "class")
        and any(one.filename.is_relative_to(folder) for folder in folders)
    ]


def test_everything_is_used():
    """In a package or bench, by a name that is written somewhere."""
    assert [] == unused(SRC, LAB, others=ROOT / "bench")


def test_what_nothing_names_is_found(tmp_path: Path):
    """A function, a method, a property and a class; a called function and a field are not."""
    (tmp_path / "a.py").write_text(
        "def alone():\n    used()\n\n\ndef used():\n    pass\n\n\nclass C:\n    field: int = 0\n\n"
        "    @property\n    def forgotten(self):\n        return 1\n\n    def method(self):\n        pass\n"
    )

    assert ["alone", "C", "forgotten", "method"] == [line.split("'")[1] for line in unused(tmp_path)]
