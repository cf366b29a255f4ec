"""
Pools against a server as JSON, schema `plimsoll.pool-size/1` (schema/pool-size.schema.json, reference page
docs/reference/pool-size-json.md).

Rule: every field is always there; what is not known is null. Keys are sorted, so equal answers give equal
bytes.
"""

from typing import Any

import msgspec

from plimsoll.model.pool_size import Curve, PoolSizing, Room, Service

POOL_SIZE_SCHEMA = "plimsoll.pool-size/1"


def render_pool_size_json(sizing: PoolSizing) -> bytes:
    """The answer as UTF-8 JSON, two spaces of indent, keys sorted, a newline at the end."""
    text = msgspec.json.encode(_document(sizing), order="sorted")
    return msgspec.json.format(text, indent=2) + b"\n"


def _document(sizing: PoolSizing) -> dict[str, Any]:
    return {
        "schema": POOL_SIZE_SCHEMA,
        "verdict": sizing.verdict.value,
        "connections": sizing.connections,
        "runs": sizing.runs,
        "basis": sizing.basis.value,
        "target": sizing.target,
        "needs_pooler": sizing.needs_pooler,
        "services": [_service(service) for service in sizing.services],
        "room": _room(sizing.room),
        "recommended": [
            {"service": one.service.name, "pool": one.pool, "arithmetic": one.arithmetic}
            for one in sizing.recommended
        ],
        "notes": list(sizing.notes),
    }


def _service(service: Service) -> dict[str, Any]:
    return {
        "name": service.name,
        "containers": service.containers,
        "pool": service.pool,
        "connections": service.connections,
    }


def _room(room: Room) -> dict[str, Any]:
    return {
        "connection_max": room.connection_max,
        "reserved": room.reserved,
        "others": room.others,
        "usable": room.usable,
        "vcpu_count": room.vcpu_count,
        "curve": None if room.curve is None else _curve(room.curve),
        "busy": room.busy,
        "per_s": room.per_s,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "rate_per_s": curve.rate_per_s,
        "contention": curve.contention,
        "coherence": curve.coherence,
        "n95": curve.n95,
        "most_per_s": curve.most_per_s,
        "busy_seen_max": curve.busy_seen_max,
        "level_count": curve.level_count,
        "is_extrapolated": curve.is_extrapolated,
        "is_pegged": curve.is_pegged,
    }
