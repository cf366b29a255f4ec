"""
What several JSON reports have in common: how they are written, and the objects that stand in more than one.

Docstrings below fields are what the schemas and the reference pages say of them.
"""

from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta, Struct

from plimsoll.model.instance import Instance
from plimsoll.units import format_time

Moment = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
"""UTC in ISO 8601, to the second."""
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(ge=0)]
"""Zero or above."""
Ratio = Annotated[float, Meta(ge=0, le=1)]
Unit = Literal["bytes/s", "ops/s", "bytes", "count", "ratio", "credits"]
"""Unit of a ceiling."""
FormerPhase = Literal["baseline", "burst", "fixed"]
"""Which number of a limit a legacy one was."""

_Form = TypeVar("_Form", bound=Struct)


def json_bytes(document: Struct) -> bytes:
    """Return a document as UTF-8 JSON: two spaces of indent, keys sorted, a newline at the end."""
    # msgspec writes NaN and infinity, which JSON does not have, as null: not known.
    text = msgspec.json.encode(document, enc_hook=_python_number, order="sorted")
    return msgspec.json.format(text, indent=2) + b"\n"


def json_text(document: Struct) -> str:
    """Return a document as JSON in the order of its fields, with a newline at the end."""
    text = msgspec.json.encode(document, enc_hook=_python_number)
    return msgspec.json.format(text, indent=2).decode() + "\n"


def same_fields(form: type[_Form], value: object, **others: Any) -> _Form:
    """
    Return a Struct whose fields are the attributes of the same names, at every depth.

    Args:
        form: the Struct; where a field of it is another Struct, that one is filled likewise.
        value: what has the attributes.
        others: fields that have another value than the attribute, or have none.
    """
    # What a form is called is its own.
    given = {"schema", *others}
    same = {
        name: _filled(inner, getattr(value, name)) for name, inner in _inner_forms(form).items() if name not in given
    }
    return form(**same, **others)


def _filled(form: type[Struct] | None, value: Any) -> Any:
    if isinstance(value, Decimal):
        # A number for programs; six decimals are more than any price has.
        return round(float(value), 6)
    if form is None or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(same_fields(form, held) for held in value)
    return same_fields(form, value)


@cache
def _inner_forms(form: type[Struct]) -> dict[str, type[Struct] | None]:
    """Return the Struct of each field, or of its elements; None for a field without one."""
    hints = get_type_hints(form)
    return {name: _struct_in(hints[name]) for name in form.__struct_fields__}


def _struct_in(hint: Any) -> type[Struct] | None:
    if isinstance(hint, type) and get_origin(hint) is None and issubclass(hint, Struct):
        return hint
    return next((form for form in map(_struct_in, get_args(hint)) if form), None)


def _python_number(value: object) -> object:
    """Return a numpy number as a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(type(value).__name__)


class EvidenceObject(Struct, frozen=True, kw_only=True):
    """One observation that supports a claim."""

    kind: str
    """The kind of observation."""
    text: str
    """A sentence with number, unit and comparison."""
    value: float | None
    """The observed number; null without one."""
    reference: float | None
    """What it is compared with, in the same unit; null without one."""


class RemedyObject(Struct, frozen=True, kw_only=True):
    """One thing to do."""

    text: str
    """A sentence."""
    commands: tuple[str, ...]
    """Exact SQL, settings or code to read and then run; never run by Plimsoll."""
    expected: str
    """What it should change; may be empty."""


class WindowObject(Struct, frozen=True, kw_only=True):
    """A stretch of time."""

    start: Moment
    """First moment; UTC, ISO 8601 to the second with `Z`."""
    end: Moment
    """First moment after it; UTC, ISO 8601 to the second with `Z`."""
    duration_s: Count
    """Length in seconds."""


class EbsLimitsObject(Struct, frozen=True, kw_only=True):
    """The EBS limits of a class as the provider's API reported them."""

    baseline_bytes_per_s: Positive
    """Baseline throughput, in bytes/s."""
    burst_bytes_per_s: Positive
    """Throughput while credits last, in bytes/s; equal to the baseline without a burst."""
    baseline_ops_per_s: Positive
    """Baseline IOPS."""
    burst_ops_per_s: Positive
    """IOPS while credits last; equal to the baseline without a burst."""
    source: str
    """The call that was made, such as `ec2:DescribeInstanceTypes of r5.2xlarge`."""
    read_on: str
    """ISO date of the answer."""


class StorageObject(Struct, frozen=True, kw_only=True):
    """The storage that was bought; null where it is not known."""

    kind: str | None
    """`gp2`, `gp3`, `io1`, `io2`, `standard`, `aurora` or `aurora-iopt1`."""
    size_gib: float | None
    """Allocated storage, in GiB."""
    provisioned_ops_per_s: float | None
    """Provisioned IOPS; null where none were bought."""
    provisioned_bytes_per_s: float | None
    """Provisioned throughput, in bytes/s; null where none was bought."""
    volume_count: int | None
    """Volumes seen under the instance; null leaves it to the documented striping rule."""


class InstanceObject(Struct, frozen=True, kw_only=True):
    """The database instance as it was bought; all but the identifier and pending changes may be null."""

    identifier: str
    """Name of the instance, or of a host that is treated as one."""
    db_class: str | None
    """Instance class, such as `db.r5.2xlarge`."""
    engine: str | None
    """Engine as RDS names it."""
    engine_version: str | None
    """Version of the engine."""
    license_model: str | None
    """License as AWS writes it, such as `bring-your-own-license`; it sets prices apart."""
    region: str | None
    """AWS region."""
    multi_az: bool | None
    """Whether it has a standby in another zone."""
    cluster: str | None
    """Identifier of the Multi-AZ DB cluster of which it is a member; null outside of one."""
    launched: Moment | None
    """When the instance was created; UTC, ISO 8601 to the second with `Z`."""
    connection_max: int | None
    """`max_connections` as read from the server."""
    vcpu_count: int | None
    """Virtual CPUs as read from a host or the provider."""
    memory_bytes: int | None
    """Memory as read from a host or the provider, in bytes."""
    capacity_acu_max: float | None
    """Aurora Serverless: the most capacity it may take, in Aurora capacity units."""
    pending: tuple[str, ...]
    """Changes that were ordered but are not in force, such as `class db.r5.4xlarge`."""
    ebs_limits: EbsLimitsObject | None
    """EBS limits of the class as the provider's own API gave them; null leaves them to the catalog."""
    storage: StorageObject
    """Its storage."""


def window_object(window_s: tuple[int, int]) -> WindowObject:
    """Return a stretch of time, [start, end) in epoch seconds."""
    start_s, end_s = window_s
    return WindowObject(start=format_time(start_s), end=format_time(end_s), duration_s=end_s - start_s)


def instance_object(instance: Instance) -> InstanceObject:
    """Return the instance with all fields; null is not known."""
    launched = None if instance.launched_s is None else format_time(instance.launched_s)
    limits = instance.ebs_limits
    return same_fields(
        InstanceObject,
        instance,
        cluster=None if instance.cluster is msgspec.UNSET else instance.cluster,
        launched=launched,
        ebs_limits=None if limits is None else same_fields(EbsLimitsObject, limits),
        storage=same_fields(StorageObject, instance.storage),
    )
