"""Compare what is in the database with the manifest of a delivery."""

from collections import Counter
from decimal import Decimal

import msgspec
from conftest import World

from claims_pipeline.layout import record
from claims_pipeline.manifest import Manifest, class_of

ORGANISATIONS = ("A1001", "A1002", "A1003")


def assert_loaded(world: World, organisation: str, month: str) -> Counter[str]:
    """Ledger, table and quarantine have what the manifest says of each file; return its defects."""
    defects = Counter[str]()
    content = (world.folder / organisation / month / "manifest.json").read_bytes()
    for file in msgspec.json.decode(content, type=Manifest).files:
        ((file_id, *counts),) = world.ask(
            "SELECT file_id, records, rows, quarantined FROM claims.files WHERE organisation = %s AND name = %s",
            organisation,
            file.name,
        )
        reasons = world.ask("SELECT reason FROM claims.quarantine WHERE file_id = %s", file_id)
        amounts = record(file.kind).amounts
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in amounts) or "0"
        ((rows, *found),) = world.ask(f"SELECT count(*), {sums} FROM claims.{file.kind} WHERE file_id = %s", file_id)

        assert [file.records, file.rows, file.records - file.rows] == counts, file.name
        assert file.rows == rows, file.name
        assert file.defects == Counter(class_of(reason) for (reason,) in reasons), file.name
        assert {name: Decimal(file.sums[name]) for name in amounts} == dict(zip(amounts, found, strict=False)), (
            file.name
        )
        defects.update(file.defects)
    return defects
