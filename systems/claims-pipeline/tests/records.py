"""Records for the tests of loading: made up, small, with known sums."""

from decimal import Decimal

from claims_pipeline.layout import Record, record

FILLERS = {"date": "2023-01-15", "integer": "1", "id": "1", "amount": "0.00", "quantity": "1"}


def line(layout: Record, **values: str) -> bytes:
    """Return a record with these values and something valid elsewhere."""
    parts = []
    for field in layout.fields:
        value = values.get(field.name, FILLERS.get(field.type, ""))
        if field.type in ("amount", "quantity", "integer", "id"):
            parts.append(value.rjust(field.width))
        else:
            parts.append(value.ljust(field.width))
    return "".join(parts).encode() + b"\n"


def claims(numbers: range, *, start: int = 0) -> tuple[bytes, Decimal]:
    """Return headers of Part A claims with these numbers, and the sum of what was paid."""
    layout, total, found = record("part_a_claims"), Decimal(0), []
    for number in numbers:
        paid = Decimal(number % 9973) / 100
        total += paid
        found.append(
            line(
                layout,
                cur_clm_uniq_id=str(start + number),
                bene_mbi_id=f"1S00A00AA{number % 90 + 10}",
                clm_pmt_amt=f"{paid:.2f}",
            )
        )
    return b"".join(found), total


def people(numbers: range, *, zip_code: str) -> bytes:
    """Return beneficiaries with these numbers."""
    layout = record("beneficiaries")
    return b"".join(line(layout, bene_mbi_id=f"1S00A00A{number:03}", bene_zip_cd=zip_code) for number in numbers)
