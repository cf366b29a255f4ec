"""What other distributions add, and what is said where one is missing."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from plimsoll import parts
from plimsoll.app.documentation import documentation
from plimsoll.cli.commands import COMMANDS, commands, run
from plimsoll.errors import ExtraMissing

ENTRIES = "[console_scripts]\nx = y:z\n\n[plimsoll.commands]\nmore = extra_part:COMMANDS\n"


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, the only one in which parts are looked for."""
    monkeypatch.setattr(parts, "sys", SimpleNamespace(path=[str(tmp_path)]))
    monkeypatch.syspath_prepend(tmp_path)
    parts._entry_points.cache_clear()
    commands.cache_clear()
    yield tmp_path
    parts._entry_points.cache_clear()
    commands.cache_clear()


def test_a_part_adds_commands(alone: Path):
    """It is found by its metadata; another group or another distribution adds none."""
    for name in ("plimsoll_more-1.dist-info", "other-1.dist-info"):
        (alone / name).mkdir()
    (alone / "plimsoll_more-1.dist-info/entry_points.txt").write_text(ENTRIES)
    (alone / "other-1.dist-info/entry_points.txt").write_text(ENTRIES.replace("more", "other"))
    (alone / "extra_part.py").write_text("COMMANDS = {'more': 1}\n")

    assert {"more": {"more": 1}} == parts.added("plimsoll.commands")
    assert {} == parts.added("plimsoll.servers")
    assert 1 == commands()["more"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        *((f"{name} --help", f"'plimsoll {name}'") for name in ("gate", "lab", "sweep")),
        ("record host --embedded-postgres", "a throwaway PostgreSQL"),
    ],
)
def test_what_a_missing_part_has_names_its_extra(alone: Path, arguments: str, what: str):
    assert COMMANDS == commands()
    with pytest.raises(ExtraMissing) as raised:
        run(arguments.split())

    assert (f"{what} needs the extra 'lab', which is not installed", True) == (
        raised.value.message,
        "pip install 'plimsoll-db[lab]'" in raised.value.hint,
    )


def test_this_checkout_has_the_lab():
    """The commands, the pages and a throwaway server."""
    assert {"gate", "lab", "sweep"} <= commands().keys()
    assert {"lab", "gate-figures"} <= {page.name for page in documentation()}
    assert "Postgres" == parts.added("plimsoll.servers")["postgres"].__name__
