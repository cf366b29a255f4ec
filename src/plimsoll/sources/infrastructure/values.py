"""
Turn the properties of a resource into a declared state.

Rule: a value is known, known to be not set, or unknown with a reason; nothing else. A value of the wrong type
is unknown.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from plimsoll.model.infrastructure import Attribute, DeclaredState
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import mib_per_s

# No number in a plan is larger; a larger one is a mistake that must not reach arithmetic.
_NUMBER_MAX = 1e9


class UnknownValue(Struct, frozen=True, kw_only=True):
    """A value that the file does not give."""

    reason: str
    """End of a sentence: `iops is known only after apply`."""


class PropertyNames(Struct, frozen=True, kw_only=True):
    """The names of the properties in one kind of resource; empty where it has none."""

    db_class: str
    engine: str
    identifier: str
    multi_az: str = ""
    storage_type: str = ""
    size: str = ""
    iops: str = ""
    throughput: str = ""
    interval: str
    insights: str
    license_model: str = ""


def declared_state(
    properties: Mapping[str, Any], names: PropertyNames, *, region: str | None, name: str
) -> DeclaredState:
    """
    Return the state that properties describe.

    Args:
        properties: by name; None is not set, an `UnknownValue` is not known.
        names: the properties of this kind of resource.
        region: where it is; None if not known.
        name: for a database without an identifier.
    """
    unknown: dict[Attribute, str] = {}

    def read(attribute: Attribute | None, key: str, kind: type) -> Any:
        value = _typed(properties.get(key), key, kind) if key else None
        if isinstance(value, UnknownValue):
            if attribute is not None:
                unknown[attribute] = value.reason
            return None
        return value

    size = read(Attribute.STORAGE_SIZE, names.size, float)
    ops = read(Attribute.IOPS, names.iops, float)
    throughput = read(Attribute.THROUGHPUT, names.throughput, float)
    interval = read(Attribute.MONITORING, names.interval, float)
    kind = read(Attribute.STORAGE_TYPE, names.storage_type, str)
    instance = Instance(
        identifier=read(None, names.identifier, str) or name,
        db_class=read(Attribute.DB_CLASS, names.db_class, str),
        engine=read(Attribute.ENGINE, names.engine, str),
        multi_az=read(Attribute.STANDBY, names.multi_az, bool),
        license_model=read(None, names.license_model, str),
        region=region,
        # Terraform and the API write 0 where nothing is provisioned.
        storage=Storage(
            kind=kind or None,
            size_gib=size or None,
            provisioned_ops_per_s=ops or None,
            provisioned_bytes_per_s=mib_per_s(throughput) if throughput else None,
        ),
    )
    return DeclaredState(
        instance=instance,
        monitoring_interval_s=None if interval is None else int(interval),
        has_insights=read(Attribute.INSIGHTS, names.insights, bool),
        unknown=unknown,
    )


def _typed(value: Any, key: str, kind: type) -> Any:
    """Return a value of a type; None and unknown stay, and another type is unknown."""
    if value is None or isinstance(value, UnknownValue):
        return value
    odd = UnknownValue(reason=f"{key} is not a {_WORDS[kind]}")
    if kind is bool:
        text = str(value).strip().lower()
        return text == "true" if text in ("true", "false") else odd
    if kind is str:
        return value.strip().lower() if isinstance(value, str) else odd
    if isinstance(value, bool):
        return odd
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return odd
    return number if 0 <= number <= _NUMBER_MAX else odd


_WORDS = {bool: "truth value", str: "text", float: "number"}
