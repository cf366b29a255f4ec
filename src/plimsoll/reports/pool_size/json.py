"""
Pools against a server as JSON: the form `plimsoll.pool-size/1`, described in docs/reference/pool-size-json.md.

Rule: every field is always there; what is not known is null. Keys are sorted, so equal answers give equal
bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.pool_size import PoolSizing, RecommendedPool
from plimsoll.model.written import Inline
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes


class RecommendedObject(Struct, frozen=True, kw_only=True):
    """A pool for the containers of one service."""

    pool: Inline[RecommendedPool]
    service: str
    """Its name."""


class PoolSizeDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll pool sizes.

    What `plimsoll pool-size --format json` writes. Every field is always present; null means not
    known. Seconds and counts, unrounded.
    """

    schema: Literal["plimsoll.pool-size/1"] = "plimsoll.pool-size/1"
    """Name and version of this form."""
    sizing: Inline[PoolSizing]
    recommended: tuple[RecommendedObject, ...]
    """A pool for each service; empty without a target."""


def render_pool_size_json(sizing: PoolSizing) -> bytes:
    """Return the answer as JSON."""
    recommended = tuple(RecommendedObject(pool=one, service=one.service.name) for one in sizing.recommended)
    return json_bytes(PoolSizeDocument(sizing=sizing, recommended=recommended))
