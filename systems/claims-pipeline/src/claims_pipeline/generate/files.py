"""Files of a delivery, written as they are made, with all that the manifest says of them."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from claims_pipeline.generate.encode import dollar_sums
from claims_pipeline.generate.month import Outcome
from claims_pipeline.layout import Record
from claims_pipeline.manifest import DUPLICATE, DeliveredFile, Formatted

BUFFER_BYTES = 1 << 20
README = """\
No real person's data is in these files. People, claims and numbers are made up by a program (claims-pipeline generate).
The layouts are those of CMS's Claim and Claim Line Feed files. Beneficiaries' numbers have S as the second character,
which CMS never issues. Some records are damaged or repeated on purpose; manifest.json says how many.
"""


class Counts:
    """Counts and sums of records, in cents."""

    def __init__(self, layout: Record) -> None:
        """Begin at nothing."""
        self._amounts = layout.amounts
        self.records = 0
        self.orphans = 0
        self.defects: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()
        """Sums over the rows of the table."""
        self.duplicates: Counter[str] = Counter()
        """Sums over duplicates, which the formatter takes for rows."""

    def count(self, outcome: Outcome) -> None:
        """Count a record."""
        self.records += 1
        self.orphans += outcome.is_orphan
        if outcome.defect:
            self.defects[outcome.defect] += 1
        if outcome.defect not in ("", DUPLICATE):
            return
        sums = self.duplicates if outcome.defect else self.rows
        for name in self._amounts:
            if cents := outcome.values.get(name):
                sums[name] += int(cents)

    def add(self, other: "Counts", times: int) -> None:
        """Add what was counted elsewhere, so many times."""
        self.records += times * other.records
        self.orphans += times * other.orphans
        for mine, others in (
            (self.defects, other.defects),
            (self.rows, other.rows),
            (self.duplicates, other.duplicates),
        ):
            for name, number in others.items():
                mine[name] += times * number

    def described(self, name: str, kind: str, size_bytes: int, sha256: str) -> DeliveredFile:
        """Return what the manifest says of a file with these records."""
        rows = self.records - self.defects.total()
        both = {name: self.rows[name] + self.duplicates[name] for name in self._amounts}
        return DeliveredFile(
            name=name,
            kind=kind,
            bytes=size_bytes,
            sha256=sha256,
            records=self.records,
            rows=rows,
            sums=dollar_sums({name: self.rows[name] for name in self._amounts}),
            defects=dict(sorted(self.defects.items())),
            formatted=Formatted(rows=rows + self.defects[DUPLICATE], sums=dollar_sums(both)),
            orphans=self.orphans,
        )


class Writing:
    """A file that is being written."""

    def __init__(self, folder: Path, name: str, layout: Record) -> None:
        """Create the file."""
        self.counts = Counts(layout)
        self._kind = layout.kind
        self._name = name
        self._file = (folder / name).open("wb", buffering=0)
        self._sha256 = hashlib.sha256()
        self._lines: list[bytes] = []
        self._waiting_bytes = 0
        self._written_bytes = 0

    def add(self, outcome: Outcome) -> None:
        """Write a record and count it."""
        self.counts.count(outcome)
        self._lines.append(outcome.line)
        self._waiting_bytes += len(outcome.line)
        if self._waiting_bytes >= BUFFER_BYTES:
            self._flush()

    def write(self, block: bytes) -> None:
        """Write whole lines that somebody else has counted."""
        self._sha256.update(block)
        # An unbuffered file may take less than it is given.
        rest = memoryview(block)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._written_bytes += len(block)

    def close(self) -> DeliveredFile:
        """Write what is left, and return what the manifest says of the file."""
        self._flush()
        self._file.close()
        return self.counts.described(self._name, self._kind, self._written_bytes, self._sha256.hexdigest())

    def abandon(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def _flush(self) -> None:
        if self._lines:
            self.write(b"\n".join([*self._lines, b""]))
            self._lines.clear()
            self._waiting_bytes = 0


def file_name(organisation: str, layout: Record, delivered: str) -> str:
    """
    Return a name as CMS gives it, for example `P.A1001.ACO.ZC1Y23.D230115.T0000000`.

    Args:
        organisation: for example A1001.
        layout: of the file.
        delivered: day of the delivery, YYMMDD; its year is the performance year.
    """
    return f"P.{organisation}.ACO.ZC{layout.cclf}Y{delivered[:2]}.D{delivered}.T0000000"


def open_all(folder: Path, organisation: str, layouts: Iterable[Record], delivered: str) -> dict[str, Writing]:
    """Create a folder with its README and its files, by kind."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.txt").write_text(README)
    return {layout.kind: Writing(folder, file_name(organisation, layout, delivered), layout) for layout in layouts}
