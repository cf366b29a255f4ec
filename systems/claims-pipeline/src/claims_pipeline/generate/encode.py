"""Values become records of fixed width, and records are damaged as real ones are."""

from collections.abc import Mapping
from random import Random

from claims_pipeline.generate.claims import Values
from claims_pipeline.layout import Record

TRUNCATED = "truncated record"
BAD_DATE = "bad date"
BAD_NUMBER = "bad number"
DAMAGES = (TRUNCATED, BAD_DATE, BAD_NUMBER)
_BAD_DATES = ("2023-02-30", "2023-13-01", "00/00/0000", "2022-11-31", "20230115  ")
_SHORTEST = 20
"""Bytes that a truncated record keeps at least."""


class Encoder:
    """Writes records of one layout."""

    def __init__(self, record: Record) -> None:
        """Prepare one template for all records: numbers to the right, texts to the left."""
        numbers = {"amount", "quantity", "integer"}
        self.record = record
        self._amounts = record.amounts
        self._blank: Values = dict.fromkeys((field.name for field in record.fields), "")
        self._template = "".join(
            f"%({field.name}){'' if field.type in numbers else '-'}{field.width}.{field.width}s"
            for field in record.fields
        )
        self._dates = [field for field in record.fields if field.type == "date"]
        self._numbers = [field for field in record.fields if field.type in numbers]

    def line(self, values: Values) -> bytes:
        """Return a record without the end of its line; amounts are cents, and become dollars."""
        texts: dict[str, object] = {**self._blank, **values}
        for name in self._amounts:
            if isinstance(cents := texts[name], int):
                texts[name] = dollars(cents)
        return (self._template % texts).encode("ascii")

    def damaged(self, line: bytes, how: str, rng: Random) -> bytes:
        """Return a record with exactly one thing wrong in it."""
        if how == TRUNCATED:
            return line[: rng.randint(_SHORTEST, len(line) - 1)]
        fields = self._dates if how == BAD_DATE else self._numbers
        field = rng.choice([field for field in fields if line[field.slice].strip()])
        if how == BAD_DATE:
            wrong = rng.choice(_BAD_DATES).encode()
        else:
            # A letter in the place of a digit, as from a scanned form.
            wrong = line[field.slice][:-1] + rng.choice(b"OIlS").to_bytes()
        return line[: field.slice.start] + wrong + line[field.slice.stop :]


def dollars(cents: int) -> str:
    """Return cents as dollars with two decimals, exactly."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def dollar_sums(sums: Mapping[str, int]) -> dict[str, str]:
    """Return sums of cents as dollars."""
    return {name: dollars(cents) for name, cents in sums.items()}
