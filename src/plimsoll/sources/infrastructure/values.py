"""
Turn the properties of a resource into a declared state.

Rule: a value is known, known to be not set, or unknown with a reason; nothing else. A value of the wrong type
is unknown.
"""

import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.model.infrastructure import Attribute, DeclaredState
from plimsoll.model.instance import Instance, Storage, is_bought
from plimsoll.sources.values.shown import shown
from plimsoll.units import mib_per_s

# As long as the longest name in the API of RDS.
_NAME_LENGTH_MAX = 255


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

    Raises:
        DataError: a number or a name that no database can have.
    """
    unknown: dict[Attribute, str] = {}

    def read(attribute: Attribute | None, key: str, kind: type) -> Any:
        value = _typed(properties.get(key), key, kind, name) if key else None
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


def _typed(value: Any, key: str, kind: type, name: str) -> Any:
    """
    Return a value of a type; None and unknown stay, and another type is unknown.

    Raises:
        DataError: it has the type, and no database can have it.
    """
    if value is None or isinstance(value, UnknownValue):
        return value
    odd = UnknownValue(reason=f"{key} is not a {_WORDS[kind]}")
    if kind is bool:
        text = str(value).strip().lower()
        return text == "true" if text in ("true", "false") else odd
    if kind is str:
        if isinstance(value, str) and len(value) > _NAME_LENGTH_MAX:
            raise _impossible(key, name, f"it has {len(value):,} characters")
        return value.strip().lower() if isinstance(value, str) else odd
    if isinstance(value, bool):
        return odd
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        return odd
    if number == 0 or is_bought(number):
        return number
    raise _impossible(key, name, f"it is {number:,.15g}")


def _impossible(key: str, name: str, what: str) -> DataError:
    return DataError(
        f"{key} of '{shown(name, 100)}' is not possible: {what}", "Correct the value; AWS would refuse it."
    )


_WORDS = {bool: "truth value", str: "text", float: "number"}
