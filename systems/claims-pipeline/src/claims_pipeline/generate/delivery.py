"""Deliveries of whole organisations, month by month."""

from pathlib import Path

from msgspec import Struct

from claims_pipeline.generate.calendar import month_text
from claims_pipeline.generate.files import open_all
from claims_pipeline.generate.month import Months
from claims_pipeline.generate.people import person_of
from claims_pipeline.layout import records
from claims_pipeline.manifest import NAME, Manifest, write

ORGANISATIONS = ("A1001", "A1002", "A1003")
DAY = 15
"""Of the month, on which the files of the month before are delivered."""


class Order(Struct, frozen=True, kw_only=True):
    """What to generate."""

    folder: Path
    first_month: int
    """Of delivery; months since year 0."""
    months: int
    beneficiaries: int
    """Of each organisation, at scale 1."""
    scale: int = 1
    seed: int = 1
    is_clean: bool = False


def deliver(order: Order, organisation: str, month: int) -> Manifest:
    """Write the delivery of an organisation in a month, the manifest last, and return it."""
    folder = order.folder / organisation / month_text(month)
    (folder / NAME).unlink(missing_ok=True)
    layouts = records()
    writing = open_all(folder, organisation, layouts.values(), delivered_on(month))
    months = Months(layouts, (order.seed, organisation), is_clean=order.is_clean)
    try:
        for number in range(order.beneficiaries * order.scale):
            person = person_of(order.seed, organisation, number)
            is_first = month == order.first_month
            for outcome in months.outcomes(person, month - 1, is_first=is_first):
                writing[outcome.kind].add(outcome)
        files = tuple(file.close() for file in writing.values())
    finally:
        for file in writing.values():
            file.abandon()
    manifest = Manifest(
        organisation=organisation, month=month_text(month), scale=order.scale, seed=order.seed, files=files
    )
    write(folder, manifest)
    return manifest


def delivered_on(month: int) -> str:
    """Return the day of a delivery as the names of files have it, YYMMDD."""
    return f"{month_text(month)[2:].replace('-', '')}{DAY:02d}"
