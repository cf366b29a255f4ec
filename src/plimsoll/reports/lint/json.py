"""
Findings on a pooler's settings as JSON, schema `plimsoll.lint/1` (schema/lint.schema.json, reference page
docs/reference/lint-json.md).

Rule: every field is always there; what is not known or not set is null. Keys are sorted, so equal findings
give equal bytes.
"""

from typing import Any

import msgspec

from plimsoll.model.cause import Cause
from plimsoll.model.lint import PoolerFindings
from plimsoll.model.pooler import PooledDatabase, PooledUser

LINT_SCHEMA = "plimsoll.lint/1"


def render_lint_json(found: PoolerFindings) -> bytes:
    """What was looked at and found, as UTF-8 JSON with two spaces of indent and a newline at the end."""
    config = found.config
    document = {
        "schema": LINT_SCHEMA,
        "pooler": {
            "kind": config.kind,
            "place": config.place,
            "version": config.version,
            "settings": config.settings,
            "databases": [_database(database) for database in config.databases],
            "users": [_user(user) for user in config.users],
        },
        "findings": [_finding(cause) for cause in found.causes],
        "notes": list(found.notes),
    }
    text = msgspec.json.encode(document, order="sorted")
    return msgspec.json.format(text, indent=2) + b"\n"


def _database(database: PooledDatabase) -> dict[str, Any]:
    return {
        "name": database.name,
        "user": database.user,
        "server": database.server,
        "size_max": database.size_max,
        "size_min": database.size_min,
        "reserve": database.reserve,
        "mode": database.mode,
        "servers_max": database.servers_max,
    }


def _user(user: PooledUser) -> dict[str, Any]:
    return {
        "name": user.name,
        "size_max": user.size_max,
        "reserve": user.reserve,
        "mode": user.mode,
        "servers_max": user.servers_max,
    }


def _finding(cause: Cause) -> dict[str, Any]:
    return {
        "code": cause.code,
        "severity": cause.severity,
        "title": cause.title,
        "text": cause.text,
        "evidence": [
            {"kind": e.kind, "text": e.text, "value": e.value, "reference": e.reference}
            for e in cause.evidence
        ],
        "remedies": [
            {"text": r.text, "commands": list(r.commands), "expected": r.expected}
            for r in cause.remedies
        ],
        "refuted_by": cause.refuted_by,
    }
