"""
Comparison of a live `ec2 describe-instance-types` answer with the table of instance limits.

Rule 1: no number is lost. Changed numbers move to the legacy limits with both dates. A type that the
        answer does not name keeps its row, because a region need not offer every type.
Rule 2: this file reads and writes no files, and its only date is the one that is passed in.
"""

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from plimsoll.catalog import schema
from plimsoll.catalog.load import Catalog
from plimsoll.catalog.names import class_name, size_order
from plimsoll.errors import DataError

# A row as it is written: its texts by column.
Row = dict[str, str]

_LIVE = "ec2-instance-types-live"
_EBS = ("ebs_baseline_mb_per_s", "ebs_max_mb_per_s", "ebs_baseline_ops_per_s", "ebs_max_ops_per_s")
# Columns that stay when a row is read again, or that follow from the reading itself.
_NOT_COMPARED = ("offered", "documentation", "read_on", "source")
_HINT = "Save the answer with 'aws ec2 describe-instance-types > types.json'."

# The API prints memory in MiB; the table keeps GiB with three decimals.
_GIB_DIGITS = 3
# The API cuts Mbit/s to whole numbers, so its MB/s can be larger by up to an eighth of one.
_MB_PER_S_ROUNDING = 0.125

_Whole = Annotated[int, Meta(gt=0)]
_Number = Annotated[float, Meta(gt=0)]


class _EbsOptimizedInfo(Struct, rename="pascal"):
    baseline_bandwidth_in_mbps: _Whole
    baseline_throughput_in_m_bps: _Number = msgspec.field(name="BaselineThroughputInMBps")
    baseline_iops: _Whole
    maximum_bandwidth_in_mbps: _Whole
    maximum_throughput_in_m_bps: _Number = msgspec.field(name="MaximumThroughputInMBps")
    maximum_iops: _Whole


class _EbsInfo(Struct, rename="pascal"):
    ebs_optimized_info: _EbsOptimizedInfo | None = None


class _VCpuInfo(Struct):
    count: _Whole = msgspec.field(name="DefaultVCpus")


class _MemoryInfo(Struct):
    size_mib: _Whole = msgspec.field(name="SizeInMiB")


class _NetworkCard(Struct, rename="pascal"):
    baseline_bandwidth_in_gbps: _Number | None = None
    peak_bandwidth_in_gbps: _Number | None = None


class _NetworkInfo(Struct, rename="pascal"):
    network_performance: str = ""
    network_cards: list[_NetworkCard] = []
    bandwidth_weightings: list[str] = []


class _ProcessorInfo(Struct, rename="pascal"):
    supported_architectures: list[str] = []


class _InstanceType(Struct, rename="pascal"):
    instance_type: Annotated[str, Meta(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]
    v_cpu_info: _VCpuInfo
    memory_info: _MemoryInfo
    ebs_info: _EbsInfo
    network_info: _NetworkInfo = msgspec.field(default_factory=_NetworkInfo)
    processor_info: _ProcessorInfo = msgspec.field(default_factory=_ProcessorInfo)
    hypervisor: str = ""
    bare_metal: bool = False
    current_generation: bool = False
    burstable_performance_supported: bool = False


class _Page(Struct, rename="pascal"):
    instance_types: list[_InstanceType]


class LimitChange(Struct, frozen=True, kw_only=True):
    """One number of one class that differs."""

    db_class: str
    column: str
    was: str
    now: str
    """As the table writes them; empty for an unknown one."""


class Refresh(Struct, frozen=True, kw_only=True):
    """The new tables, and their differences from the present ones."""

    limits: list[Row]
    legacy: list[Row]
    added: tuple[str, ...]
    """Classes that had no row."""
    changed: tuple[LimitChange, ...]
    not_answered: tuple[str, ...]
    """Classes whose type the answer does not name; their rows stay."""
    read_count: int
    """Types in the answer."""
    ignored_count: int
    """Types of the answer that RDS is not known to use."""


def refreshed(text: str, catalog: Catalog, *, read_on: str, families: tuple[str, ...] = ()) -> Refresh:
    """
    Compare an answer with the catalog.

    Args:
        text: the answer as JSON; several pages may follow each other.
        catalog: what is known.
        read_on: ISO date of the answer.
        families: EC2 families to add although no list says that RDS uses them: `m9g`.

    Raises:
        DataError: not such an answer.
    """
    old = {row["ec2_type"]: row for row in catalog.texts(schema.INSTANCE_LIMITS)}
    listed = {row.db_class for row in catalog.rows(schema.CLASSES)}
    answer = {kind.instance_type: kind for kind in _types(text)}
    rows, added, changed = dict(old), [], []
    legacy = catalog.texts(schema.INSTANCE_LIMITS_LEGACY)
    ignored = 0
    for name, kind in answer.items():
        db_class = class_name(name)
        before = old.get(name)
        if before is None and db_class not in listed and name.partition(".")[0] not in families:
            ignored += 1
            continue
        now = _row(kind, db_class, is_offered=db_class in listed, read_on=read_on)
        if before is None:
            added.append(db_class)
        else:
            now |= {"offered": before["offered"], "documentation": before["documentation"]}
            differences = _differences(before, now)
            changed += differences
            # The documentation was compared with the old EBS numbers: for new ones that says nothing.
            if any(change.column in _EBS for change in differences):
                now["documentation"] = "absent"
                legacy = _with_legacy(legacy, before, read_on)
        rows[name] = now
    return Refresh(
        limits=[rows[name] for name in sorted(rows)],
        legacy=legacy,
        added=tuple(sorted(added, key=size_order)),
        changed=tuple(sorted(changed, key=lambda change: size_order(change.db_class))),
        not_answered=tuple(old[name]["db_class"] for name in old if name not in answer),
        read_count=len(answer),
        ignored_count=ignored,
    )


def _types(text: str) -> list[_InstanceType]:
    found: list[_InstanceType] = []
    for document in _documents(text):
        page = {"InstanceTypes": document} if isinstance(document, list) else document
        try:
            found += msgspec.convert(page, type=_Page).instance_types
        except msgspec.ValidationError as error:
            raise DataError(f"not an answer of describe-instance-types: {error}", _HINT) from error
    if not found:
        raise DataError("the answer names no instance type", _HINT)
    return found


def _documents(text: str) -> Iterator[Any]:
    """Yield every JSON document of a text in which several may follow each other."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            document, at = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"not readable as JSON: {error}", _HINT) from error
        yield document


def _row(kind: _InstanceType, db_class: str, *, is_offered: bool, read_on: str) -> Row:
    ebs = kind.ebs_info.ebs_optimized_info
    network = kind.network_info
    found = {
        "ec2_type": kind.instance_type,
        "db_class": db_class,
        "offered": is_offered,
        "vcpus": kind.v_cpu_info.count,
        "memory_gib": round(kind.memory_info.size_mib / 1024, _GIB_DIGITS),
        "ebs_baseline_mb_per_s": ebs and _mb_per_s(ebs.baseline_bandwidth_in_mbps, ebs.baseline_throughput_in_m_bps),
        "ebs_max_mb_per_s": ebs and _mb_per_s(ebs.maximum_bandwidth_in_mbps, ebs.maximum_throughput_in_m_bps),
        "ebs_baseline_ops_per_s": ebs and ebs.baseline_iops,
        "ebs_max_ops_per_s": ebs and ebs.maximum_iops,
        "network_baseline_gbit_per_s": _gbit_per_s(
            network, [card.baseline_bandwidth_in_gbps for card in network.network_cards]
        ),
        "network_max_gbit_per_s": _gbit_per_s(network, [card.peak_bandwidth_in_gbps for card in network.network_cards]),
        "hypervisor": "bare-metal" if kind.bare_metal else kind.hypervisor,
        "cpu_arch": "/".join(kind.processor_info.supported_architectures),
        "cpu_burstable": kind.burstable_performance_supported,
        "current_generation": kind.current_generation,
        "bandwidth_weightings": len(network.bandwidth_weightings) > 1,
        "documentation": "absent",
        "read_on": read_on,
        "source": _LIVE,
    }
    return {column: _text(value) for column, value in found.items()}


def _text(value: object) -> str:
    """Return a value as the tables write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _mb_per_s(mbit_per_s: int, mb_per_s: float) -> float:
    """Return Mbit/s divided by eight, or MB/s if they show a fraction that was cut off the Mbit/s."""
    exact = mbit_per_s / 8
    cut = mb_per_s - exact
    # A float near the division (156.25039999999998 for 1,250 Mbit/s) is noise, not a fraction.
    return mb_per_s if 0.01 < cut < _MB_PER_S_ROUNDING else exact


def _gbit_per_s(network: _NetworkInfo, cards: list[float | None]) -> float | None:
    """
    Return the sum over the network cards, at most the number in the type's description.

    Some types count the same bandwidth on two cards: `200 Gigabit` with twice 200.
    """
    known = [card for card in cards if card is not None]
    if not known:
        return None
    stated = re.match(r"(?:Up to )?([0-9.]+) Gigabit", network.network_performance)
    return min(sum(known), float(stated[1])) if stated else sum(known)


def _differences(before: Row, now: Row) -> list[LimitChange]:
    return [
        LimitChange(db_class=now["db_class"], column=column, was=before[column], now=now[column])
        for column in before
        if column not in _NOT_COMPARED and before[column] != now[column]
    ]


def _with_legacy(legacy: list[Row], before: Row, read_on: str) -> list[Row]:
    """Return the legacy limits with today's numbers of one type closed at `read_on`."""
    numbers = {column: before[column] for column in _EBS}
    # An answer that is older than the table does not supersede it.
    if not numbers["ebs_max_mb_per_s"] or before["read_on"] >= read_on:
        return legacy
    mine = [row for row in legacy if row["ec2_type"] == before["ec2_type"]]
    if mine and not mine[-1]["valid_to"]:
        return [row | {"valid_to": read_on} if row is mine[-1] else row for row in legacy]
    closed = {
        "ec2_type": before["ec2_type"],
        "valid_from": before["read_on"],
        "valid_to": read_on,
        **numbers,
        "status": "documented",
        "restart_lifts": "",
        "note": "",
        "source": before["source"],
    }
    at = legacy.index(mine[-1]) + 1 if mine else len(legacy)
    return [*legacy[:at], closed, *legacy[at:]]
