"""
An inspection as JSON: the form `plimsoll.inspection/1`, described in docs/reference/inspection-json.md.

Keys are sorted, so equal inspections give equal bytes.
"""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from plimsoll.model.cause import Cause, Inspection, Remedy
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.written import Count, Inline, Mark
from plimsoll.reports.inspect.document import headline
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes


class InspectionWindowObject(Struct, frozen=True, kw_only=True):
    """The time between the first and the last reading."""

    start_s: Annotated[float, Mark.MOMENT]
    """The first reading."""
    end_s: Annotated[float, Mark.MOMENT]
    """The last reading."""
    duration_s: float
    """Seconds between them, by the server's clock; 0 where only one reading came."""
    reading_count: Count
    """Moments at which all counters were read."""
    glance_count: Count
    """Moments in between at which sessions and vacuums were looked at."""


class LoadObject(Struct, frozen=True, kw_only=True):
    """Rates of the whole server, WAL included."""

    read_bytes_per_s: float | None
    """Bytes per second; null where the server does not count them."""
    written_bytes_per_s: float | None
    """Bytes per second; null where the server does not count them."""
    is_estimated: bool
    """Whether these follow from blocks, checkpoints and WAL, as before PostgreSQL 16."""
    unexplained_bytes_per_s: float | None
    """Lower bound of these bytes that no cause explains; null where the load is not known."""


class InspectionCeilingObject(Struct, frozen=True, kw_only=True):
    """The ceiling of the storage, as `--against` diagnosed it."""

    name: str
    """Which limit, for people; may be empty."""
    bytes_per_s: Annotated[float, Meta(gt=0)]
    """The ceiling; of an IOPS limit, at the I/O size of the window."""


class InspectionCostObject(Struct, frozen=True, kw_only=True):
    """The cost of the inspection for the server."""

    query_count: Count
    """Statements sent, all of them read-only."""
    received_bytes: Count
    """Bytes of the answers."""
    asked_s: float
    """Seconds spent waiting for the answers."""


class InspectionDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll inspection.

    What `plimsoll inspect --format json` writes. Every field is always present; null means not
    known. SI units throughout: seconds, bytes, ratios 0–1.
    """

    LEFT_OUT: ClassVar = {Cause: ("uncounted_bytes_per_s",), Evidence: ("weight",), Remedy: ("settings",)}
    ONLY: ClassVar = {Inspection: ("place", "version", "role", "is_standby", "causes", "missing", "notes")}

    schema: Literal["plimsoll.inspection/1"] = "plimsoll.inspection/1"
    """Name and version of this form."""
    headline: str
    """The largest cause in one sentence for people, or that there is none."""
    inspection: Inline[Inspection]
    window: InspectionWindowObject
    """For how long it was watched, and how often."""
    load: LoadObject
    """The reads and writes of the whole server."""
    ceiling: InspectionCeilingObject | None
    """The ceiling that shares are of; null if none is known."""
    cost: InspectionCostObject
    """The cost of the inspection for the server."""


def render_inspection_json(inspection: Inspection) -> bytes:
    """Return the inspection as JSON."""
    return json_bytes(inspection_document(inspection))


def inspection_document(inspection: Inspection) -> InspectionDocument:
    """Return the inspection as a document of its own, or in a report."""
    ceiling = inspection.ceiling_bytes_per_s
    return InspectionDocument(
        headline=headline(inspection),
        inspection=inspection,
        window=InspectionWindowObject(
            start_s=inspection.start_s,
            end_s=inspection.end_s,
            duration_s=inspection.end_s - inspection.start_s,
            reading_count=inspection.reading_count,
            glance_count=inspection.glance_count,
        ),
        load=LoadObject(
            read_bytes_per_s=inspection.load_read_bytes_per_s,
            written_bytes_per_s=inspection.load_written_bytes_per_s,
            is_estimated=inspection.load_is_estimated,
            unexplained_bytes_per_s=inspection.unexplained_bytes_per_s,
        ),
        ceiling=None if ceiling is None else InspectionCeilingObject(name=inspection.ceiling_name, bytes_per_s=ceiling),
        cost=InspectionCostObject(
            query_count=inspection.query_count, received_bytes=inspection.received_bytes, asked_s=inspection.asked_s
        ),
    )
