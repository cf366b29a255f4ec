"""
One file of any size, fast: a block of records that is repeated with new keys.

Rule 1: every repetition has keys of its own, so nothing but the duplicates of the block itself is a duplicate.
Rule 2: counts and sums are those of the block, as often as it was written; they are exact.
"""

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from claims_pipeline.generate.files import Counts
from claims_pipeline.generate.month import Months, Outcome
from claims_pipeline.generate.people import mbi_of, person_of
from claims_pipeline.layout import Record

BLOCK_BYTES = 8_000_000
BULK_BLOCK = 6_000_000
"""Blocks of beneficiaries' numbers from here on belong to nobody else."""
_ID_HEAD, _ID_TAIL = 7, 6
"""Digits of a claim's number that name the block, and those that name the claim in it."""
_MBI_HEAD = 7
_HEADS = 1_000_000
"""Most blocks."""


class Block(NamedTuple):
    """Records without the beginning of their keys."""

    layout: Record
    tails: list[bytes]
    """Each with its end of line."""
    outcomes: list[Outcome]
    counts: Counts

    def numbered(self, number: int, records: int | None = None) -> bytes:
        """Return the block, or its first records, with the keys of a number."""
        if self.layout.key[0] == "bene_mbi_id":
            head = mbi_of(BULK_BLOCK + number, 0)[:_MBI_HEAD].encode()
        else:
            head = b"%0*d" % (_ID_HEAD, 1_000_000 + number)
        tails = self.tails if records is None else self.tails[:records]
        # Every record begins with its key, so the head is what stands between two tails.
        return head + head.join(tails) if tails else b""


def block_of(layout: Record, seed: int, organisation: str, month: int, *, is_clean: bool = False) -> Block:
    """Return a block of records of a kind, about 8 MB."""
    months = Months({layout.kind: layout}, (seed, organisation), is_clean=is_clean)
    tails: list[bytes] = []
    outcomes: list[Outcome] = []
    counts = Counts(layout)
    places: dict[bytes, int] = {}
    size_bytes = 0
    width = layout.fields[0].width
    for number in count():
        person = person_of(seed, organisation, number)
        for outcome in months.outcomes(person, month, is_first=True):
            key = outcome.line[:width]
            place = places.setdefault(key, len(places))
            tails.append(_tail(layout, place) + outcome.line[width:] + b"\n")
            single = outcome._replace(is_orphan=False)
            outcomes.append(single)
            counts.count(single)
            size_bytes += len(outcome.line) + 1
        if size_bytes >= BLOCK_BYTES:
            return Block(layout, tails, outcomes, counts)
    raise AssertionError


def _tail(layout: Record, place: int) -> bytes:
    if layout.key[0] == "bene_mbi_id":
        return mbi_of(0, place)[_MBI_HEAD:].encode()
    return b"%0*d" % (_ID_TAIL, place)


def blocks(block: Block, size_bytes: int, counts: Counts) -> Iterator[bytes]:
    """Return blocks until a size is reached, give or take a record, and add what is in them to the counts."""
    rest_bytes = size_bytes
    for number in range(_HEADS):
        whole = block.numbered(number)
        if len(whole) > rest_bytes:
            break
        counts.add(block.counts, 1)
        rest_bytes -= len(whole)
        yield whole
    records = round(rest_bytes / (block.layout.width + 1))
    for outcome in block.outcomes[:records]:
        counts.count(outcome)
    yield block.numbered(number, records)
