"""The document of a fleet has a section for each question, and bounded tables."""

import fleets
from plimsoll.reports.document.parts import Document, Section
from plimsoll.reports.document.text import document_text
from plimsoll.reports.fleet.document import fleet_document


def titles(document: Document) -> list[str]:
    return [part.title for part in document.parts if isinstance(part, Section)]


def text(document: Document) -> str:
    return " ".join(document_text(document, width=100, color=False).split())


def test_without_a_plan_nothing_is_said_of_money():
    rows = tuple(fleets.row(name, usd_per_day=None) for name in "ab")
    document = fleet_document(fleets.fleet(rows, has_plan=False))

    assert "Spend" not in titles(document)
    assert "$" not in text(document)


def test_without_prices_spend_is_unknown():
    rows = (fleets.bound("a", 0.5, usd_per_day=None, option_usd_per_day_more=None),)
    shown = text(fleet_document(fleets.fleet(rows)))

    assert "now unknown: no instance has a price" in shown
    assert "recommended changes cost unknown: no price for 1 instance at a limit" in shown
    assert "possible saving none found" in shown


def test_a_long_table_says_where_the_others_are():
    rows = tuple(fleets.bound(f"a{n}", 0.5) for n in range(23))
    report = fleets.fleet(rows)

    assert "3 more: give --all, or --format csv." in text(fleet_document(report))
    assert "3 more" not in text(fleet_document(report, lists_all=True))
