"""What people read has one word for one thing, and none of the words given up for them."""

import re
from pathlib import Path

import pytest

from contract.tree import ROOT, files

# Each with the word to use in its place. A field and a workload keep their names: versions have them.
BANNED = {
    r"former(?:ly)?(?!_phase)": "legacy, or earlier",
    "meanwhile": "at that time, or nothing",
    "pegged": "at the ceiling",
    "at liberty": "below the ceiling",
    "foretold": "predicted",
    r"(?<!toast-)mended": "fixed",
    "wish(?:es|ed)": "asks for, wants",
    "refuted by": "wrong if",
    "beliefs?": "chance",
}
PATTERN = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
REPORTS = (".txt", ".md", ".json")


def read_by_people() -> list[Path]:
    """Return the golden reports and the documents, without what only records the past."""
    found = []
    for path in files(*REPORTS):
        place = path.relative_to(ROOT)
        is_report = place.parts[:2] == ("tests", "golden")
        is_page = path.suffix == ".md" and (place.parts[0] == "docs" or len(place.parts) == 1)
        is_past = place.name == "CHANGELOG.md" or "decisions" in place.parts
        # Files of snapshots are kept in the form of their time.
        if (is_report and place.parts[2] != "snapshots") or (is_page and not is_past):
            found.append(path)
    return found


@pytest.mark.parametrize("path", read_by_people(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_report_and_no_page_has_a_word_given_up(path: Path):
    """A reader meets the standard term, the same in reports and documents."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [
        f"{number}: {hit[0]}"
        for number, line in enumerate(lines, 1)
        for hit in PATTERN.finditer(line)
    ]

    assert not found, f"{found}; use {BANNED}"


def test_the_pattern_finds_what_it_is_for():
    """Words are found in any case and at the end of a sentence; names that stay are not."""
    assert [hit[0] for hit in PATTERN.finditer("Refuted by: x. Formerly pegged, meanwhile")] == [
        *("Refuted by", "Formerly", "pegged", "meanwhile")
    ]
    assert not PATTERN.search("former_phase performer transformer toast-mended recommended")
