"""
An inspection as JSON: the form `plimsoll.inspection/1`, described in docs/reference/inspection-json.md.

Rule 1: every field is always there; what is not known is null.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, ratios 0–1.
        Keys are sorted, so equal inspections give equal bytes.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from plimsoll.model.cause import CauseKind, Inspection
from plimsoll.reports.inspect.document import headline
from plimsoll.reports.render.json_values import Count, EvidenceObject, Moment, RemedyObject, json_bytes, same_fields
from plimsoll.units import format_time


class InspectionWindowObject(Struct, frozen=True, kw_only=True):
    """The time between the first and the last reading."""

    start: Moment
    """The first reading; UTC, ISO 8601 to the second with `Z`."""
    end: Moment
    """The last reading, likewise."""
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


class CauseObject(Struct, frozen=True, kw_only=True):
    """One finding inside the database or its pooler."""

    kind: CauseKind
    """The detector that found it."""
    code: str
    """The finding, for machines, as `ToastValuesRewritten`; codes keep their meaning."""
    severity: Literal["critical", "warning", "note"]
    """At least a quarter of the load or of the ceiling, or an outage in the making; at least a
    twentieth; less. Below a twentieth of a known ceiling no share of the load is `critical`."""
    subject: str
    """Table, index, user or pool; empty where it is the server."""
    title: str
    """One sentence: number, unit, comparison."""
    text: str
    """What it means; may be empty."""
    read_bytes_per_s: float | None
    """Its reads; null where it has none, or they are not known."""
    written_bytes_per_s: float | None
    """Its writes; null where it has none, or they are not known."""
    is_estimated: bool
    """Whether these bytes are an estimate; the text gives its basis."""
    share_of_load: float | None
    """Ratio 0–1 of all that the server reads and writes, vacuums that still run among it; null if
    not known."""
    share_of_ceiling: float | None
    """Ratio of the ceiling; above 1 where the page cache absorbed a part; null if not known."""
    evidence: tuple[EvidenceObject, ...]
    """Observations that support the claim."""
    remedies: tuple[RemedyObject, ...]
    """Actions to take, the best first."""
    refuted_by: str
    """What would show that it is wrong."""


class InspectionMissingObject(Struct, frozen=True, kw_only=True):
    """Data that could not be read."""

    name: str
    """Its name."""
    hides: str
    """What cannot be judged without it; `verdict` if nothing can; empty where only a part is missing."""
    remedy: str
    """Why it is missing and what would supply it, as an exact `GRANT` where a right is."""


class InspectionCostObject(Struct, frozen=True, kw_only=True):
    """The cost of the inspection for the server."""

    query_count: Count
    """Statements sent, all of them read-only."""
    received_bytes: Count
    """Bytes of the answers."""
    asked_s: float
    """Seconds spent waiting for the answers."""


class InspectionDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll inspection.

    What `plimsoll inspect --format json` writes. Every field is always present; null means not
    known. SI units throughout: seconds, bytes, ratios 0–1.
    """

    schema: Literal["plimsoll.inspection/1"] = "plimsoll.inspection/1"
    """Name and version of this form."""
    headline: str
    """The largest cause in one sentence for people, or that there is none."""
    place: str
    """Host, port and database, without user and password."""
    version: str
    """Of the server, as `18.6`."""
    role: str
    """Whom Plimsoll was to the server."""
    is_standby: bool
    """Whether the server was in recovery."""
    window: InspectionWindowObject
    """For how long it was watched, and how often."""
    load: LoadObject
    """The reads and writes of the whole server."""
    ceiling: InspectionCeilingObject | None
    """The ceiling that shares are of; null if none is known."""
    causes: tuple[CauseObject, ...]
    """The causes: the worst first, then by size."""
    missing: tuple[InspectionMissingObject, ...]
    """Data that could not be read, and what would supply it."""
    notes: tuple[str, ...]
    """Remarks on these numbers, as sentences."""
    cost: InspectionCostObject
    """The cost of the inspection for the server."""


def render_inspection_json(inspection: Inspection) -> bytes:
    """Return the inspection as JSON."""
    return json_bytes(inspection_document(inspection))


def inspection_document(inspection: Inspection) -> InspectionDocument:
    """Return the inspection as a document of its own, or in a report."""
    ceiling = inspection.ceiling_bytes_per_s
    return same_fields(
        InspectionDocument,
        inspection,
        headline=headline(inspection),
        window=same_fields(
            InspectionWindowObject,
            inspection,
            start=format_time(inspection.start_s),
            end=format_time(inspection.end_s),
            duration_s=inspection.end_s - inspection.start_s,
        ),
        load=same_fields(
            LoadObject,
            inspection,
            read_bytes_per_s=inspection.load_read_bytes_per_s,
            written_bytes_per_s=inspection.load_written_bytes_per_s,
            is_estimated=inspection.load_is_estimated,
        ),
        ceiling=None if ceiling is None else InspectionCeilingObject(name=inspection.ceiling_name, bytes_per_s=ceiling),
        cost=same_fields(InspectionCostObject, inspection),
    )
