"""What people read has one word for one thing, and none of the words given up for them."""

import ast
import re
from collections.abc import Iterator

import typer

from contract.tree import ROOT, both, files, nodes
from plimsoll.cli.commands import app
from plimsoll.cli.manual import pages

# Each with the word to use in its place. A field keeps its name: versions have it.
BANNED = {
    r"former(?:ly)?(?!_phase)": "legacy, or earlier",
    "meanwhile": "at that time, or nothing",
    "pegged": "at the ceiling",
    "at liberty": "below the ceiling",
    "foretold": "predicted",
    r"(?:un)?mended": "fixed, with the defect",
    "wish(?:es|ed)": "asks for, wants",
    "refuted by": "wrong if",
    "beliefs?": "chance",
    "told": "warned, notified, reported, unknown",
    "beside": "next to, with, during, compared with",
    "said of": "known of",
    "may be left out": "is optional",
}
# A name of a file is not English.
PATTERN = re.compile(rf"(?<![-/])\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
# Words that say how a thing feels, not what it is, as a part of the name of a class or a module.
MOODS = re.compile(r"told|desk|shelf|reach|beside|wishes|wanted|pegged|mended|untold")


def read_by_people() -> Iterator[tuple[str, str]]:
    """Yield place and text of golden reports, documents and helps, without what only records the past."""
    for path in files(".txt", ".md", ".json"):
        place = path.relative_to(ROOT)
        is_report = place.parts[:2] == ("tests", "golden")
        is_page = path.suffix == ".md" and (place.parts[0] == "docs" or len(place.parts) == 1)
        is_past = place.name == "CHANGELOG.md" or "decisions" in place.parts
        # Files of snapshots are kept in the form of their time.
        if (is_report and place.parts[2] != "snapshots") or (is_page and not is_past):
            yield place.as_posix(), path.read_text(encoding="utf-8")
    for names, page in pages(typer.main.get_command(app)):
        # man(7) writes a hyphen with a backslash, and fonts as \fB.
        yield f"{' '.join(names)} --help", re.sub(r"\\f[BIRP]|\\", "", page)


def test_nothing_that_people_read_has_a_word_given_up():
    """A reader meets the standard term, the same in reports, documents and the help of every command."""
    found = [
        f"{place}:{number}: {hit[0]}"
        for place, text in read_by_people()
        if PATTERN.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        for hit in PATTERN.finditer(line)
    ]

    assert not found, "\n".join([*found, f"use {BANNED}"])


def test_every_help_is_read():
    """Also of commands in groups, and of the program."""
    helps = [place for place, _ in read_by_people() if place.endswith("--help")]

    assert {"plimsoll --help", "plimsoll lab run pooled-cluster --help"} <= set(helps)
    assert len(helps) > 50


def test_no_class_or_module_is_named_after_a_mood():
    """A class or a module is met far from where its docstring stands."""
    named = [(path, path.stem) for path, _, _ in both()]
    named += [(path, node.name) for path, _, tree in both() for node in nodes(tree) if isinstance(node, ast.ClassDef)]
    words = [(path, re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)) for path, name in named]

    assert [] == [(p, found) for p, found in words if any(MOODS.fullmatch(w.lower()) for w in found)]


def test_the_pattern_finds_what_it_is_for():
    """Words are found in any case and at the end of a sentence; names that stay are not."""
    assert [hit[0] for hit in PATTERN.finditer("Refuted by: x. Formerly pegged, unmended. Told")] == [
        *("Refuted by", "Formerly", "pegged", "unmended", "Told")
    ]
    assert not PATTERN.search("former_phase performer transformer pgpool-unmended recommended besides")
