"""
A fleet as JSON: the form `plimsoll.fleet/1`, described in docs/reference/fleet-json.md.

Rule 1: every field is always there; what is not known is null.
Rule 2: the fields of a row are the columns of the CSV and Parquet tables, and tags are an object.
"""

from typing import Literal

import msgspec
from msgspec import Struct

from plimsoll.model.fleet import FleetReport, FleetVerdict
from plimsoll.model.written import Inline
from plimsoll.reports.fleet.document import headline
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes


class FleetRowObject(Struct, frozen=True, kw_only=True):
    """One instance."""

    row: Inline[FleetVerdict]
    tags: dict[str, str] | None
    """Tags; null where the source does not say."""


class FleetDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll verdicts of a fleet.

    What `plimsoll fleet LAKE --format json` writes. Every field is always present; null means not known.
    """

    schema: Literal["plimsoll.fleet/1"] = "plimsoll.fleet/1"
    """Name and version of this form."""
    headline: str
    """The answer in one sentence."""
    report: Inline[FleetReport]
    rows: tuple[FleetRowObject, ...]
    """One for each instance, the most urgent first."""


def render_fleet_json(report: FleetReport) -> bytes:
    """Return a fleet as JSON."""
    rows = tuple(FleetRowObject(row=row, tags=_tags(row)) for row in report.rows)
    return json_bytes(FleetDocument(headline=headline(report), report=report, rows=rows))


def _tags(row: FleetVerdict) -> dict[str, str] | None:
    return None if row.tags is None else msgspec.json.decode(row.tags, type=dict[str, str])
