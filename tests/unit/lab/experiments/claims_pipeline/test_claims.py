"""Simulated lines of claims: the same for the same seed, whole, and each with a key of its own."""

import csv
from io import StringIO

from plimsoll_lab.experiments.claims_pipeline.claims import claim_lines, member_count

SIZE_BYTES = 1_000_000


def rows(organisation: int = 1) -> list[list[str]]:
    text = b"".join(claim_lines(organisation, 2022, size_bytes=SIZE_BYTES)).decode()
    return list(csv.reader(StringIO(text)))


def test_every_line_is_whole_and_has_its_key():
    """
    Of the asked size, with ten columns; organisation, year, claim and line together are unique, and
    members are those that a query draws.
    """
    size = sum(len(part) for part in claim_lines(1, 2022, size_bytes=SIZE_BYTES))
    found = rows()
    members = {int(row[4]) for row in rows()}

    assert SIZE_BYTES <= size < 1.5 * SIZE_BYTES
    assert {10} == {len(row) for row in found}
    assert len(found) == len({tuple(row[:4]) for row in found})
    assert {("1", "2022")} == {tuple(row[:2]) for row in found}
    assert min(members) >= 1
    assert max(members) <= member_count(SIZE_BYTES)
    # Most of them have a claim.
    assert len(members) > member_count(SIZE_BYTES) / 2


def test_the_same_file_again_is_the_same():
    """And another organisation's is another one."""
    assert rows() == rows()
    assert rows(1)[0][4:] != rows(2)[0][4:]
