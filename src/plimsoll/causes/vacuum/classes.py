"""
Classify how a table is used, by its counters, and give the autovacuum settings that fit.

Sources of the settings: Salsify, "Discovering RDS throughput limits" (2021), whose table is used below
without changes; PostgreSQL documentation, "Automatic Vacuuming" (defaults, and which parameters
apply to TOAST relations). Newer sources agree: PostgreSQL 18 starts a vacuum at 100,000,000 dead rows at
the latest, whatever the size of the table (autovacuum_vacuum_max_threshold, commit of 2025-02-05). RDS has
a default scale factor of 0.1 and recommends to lower it for tables that are written often (AWS Prescriptive
Guidance, "Tuning PostgreSQL parameters", read 2026-11).
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from plimsoll.model.database import Relation
from plimsoll.model.postgres import AUTOVACUUM_SCALE_FACTOR, AUTOVACUUM_THRESHOLD

# A judgement: fewer updates and deletes than this share of inserts are exceptions.
_APPEND_MAX = 0.01
# Judgements: half of the inserted rows must have been deleted, and as many as the table has now.
_GONE_MIN = 0.5
_TURNED_OVER_MIN = 1.0
# A table is written often if updates outnumber inserts by this factor, and if since counters began they
# reached this share of rows, or would reach the default trigger within a week. Judgements.
_UPDATES_PER_INSERT_MIN = 2.0
_WRITTEN_MIN = 0.2
_OFTEN_S = 7 * 86400.0


class Use(StrEnum):
    """What a table is used for."""

    DEFAULT = "default"
    WRITTEN_OFTEN = "long-lived rows written often"
    INSERT_THEN_DELETE = "insert-then-delete"
    APPEND_ONLY = "append-only"


class Fit(Struct, frozen=True, kw_only=True):
    """Settings that fit a use."""

    scale_factor: float
    threshold: int


FITS: Mapping[Use, Fit] = {
    Use.DEFAULT: Fit(scale_factor=AUTOVACUUM_SCALE_FACTOR, threshold=AUTOVACUUM_THRESHOLD),
    Use.WRITTEN_OFTEN: Fit(scale_factor=0.01, threshold=AUTOVACUUM_THRESHOLD),
    Use.INSERT_THEN_DELETE: Fit(scale_factor=0.0, threshold=5000),
    # Inserts leave no dead rows. Vacuums for visibility and freezing have their own settings
    # (autovacuum_vacuum_insert_threshold, 13 and later).
    Use.APPEND_ONLY: Fit(scale_factor=AUTOVACUUM_SCALE_FACTOR, threshold=AUTOVACUUM_THRESHOLD),
}


def use_of(table: Relation, *, counted_s: float | None) -> Use:
    """
    Classify how a table is used.

    Args:
        table: the table with its counters; for a TOAST relation, its table.
        counted_s: seconds since the counters began; None if unknown.
    """
    inserted, updated, deleted = table.inserted, table.updated, table.deleted
    if not inserted + updated + deleted:
        return Use.DEFAULT
    if updated + deleted <= _APPEND_MAX * inserted:
        return Use.APPEND_ONLY
    rows = max(table.rows, 1.0)
    if deleted >= _GONE_MIN * inserted and updated < deleted and deleted >= _TURNED_OVER_MIN * rows:
        return Use.INSERT_THEN_DELETE
    is_often = updated >= _WRITTEN_MIN * rows
    if counted_s and updated:
        is_often |= AUTOVACUUM_SCALE_FACTOR * rows / (updated / counted_s) <= _OFTEN_S
    if updated >= _UPDATES_PER_INSERT_MIN * inserted and is_often:
        return Use.WRITTEN_OFTEN
    return Use.DEFAULT
