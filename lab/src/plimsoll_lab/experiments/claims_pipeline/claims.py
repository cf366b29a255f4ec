"""
Lines of claims that stand for the files of a payer. They are simulated: drawn from a seed, about nobody.

Rule: pure; the same arguments give the same bytes.
"""

import random
from collections.abc import Iterator
from string import ascii_letters

# Text of a line that no index has: the two hundred other fields of a real file, for its width.
_NOTE_BYTES = 450
# A claim has some lines, and a member some claims.
_LINES_OF_CLAIM = 3
_LINES_OF_MEMBER = 8
_LINES_AT_ONCE = 500
_DAYS = 28
_CODES = 900


def claim_lines(organisation: int, year: int, *, size_bytes: int) -> Iterator[bytes]:
    """
    Yield CSV of about so many bytes, some hundred lines at a time; every line is whole.

    The columns are organisation, year, claim, line, member, month, served (a date), code, amount and note.
    """
    chance = random.Random(f"{organisation} {year}").random  # noqa: S311 - rows of an experiment
    letters = "".join(ascii_letters[int(52 * chance())] for _ in range(8 * _NOTE_BYTES))
    members = member_count(size_bytes)
    made = first = 0
    while made < size_bytes:
        part = []
        for number in range(first, first + _LINES_AT_ONCE):
            claim, line = divmod(number, _LINES_OF_CLAIM)
            month, at = 1 + int(12 * chance()), int(7 * _NOTE_BYTES * chance())
            part.append(
                f"{organisation},{year},{claim},{line},{1 + int(members * chance())},{month},"
                f"{year}-{month:02}-{1 + int(_DAYS * chance()):02},c{int(_CODES * chance()):03},"
                f"{1000 * chance():.2f},{letters[at : at + _NOTE_BYTES]}\n"
            )
        first += _LINES_AT_ONCE
        text = "".join(part).encode()
        made += len(text)
        yield text


def member_count(size_bytes: int) -> int:
    """Return how many members a file of this size is about, ≥ 1."""
    return max(1, size_bytes // (_LINES_OF_MEMBER * (_NOTE_BYTES + 45)))
