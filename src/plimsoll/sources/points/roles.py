"""
Tell what each column of a table is by its name: instance, metric, time, value, or a fact about an instance.

Names are compared without case and punctuation, so `DBInstanceIdentifier`, `db_instance_identifier` and
Athena's `dbinstanceidentifier` are one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll.sources.export.table_frame import (
    INSTANCE_NAMES,
    METRIC_NAMES,
    STATISTIC_NAMES,
    TIME_NAMES,
    UNIT_NAMES,
    VALUE_NAMES,
    plain,
)
from plimsoll.sources.reading.names import recognise

ACCOUNT_NAMES = frozenset({"account", "accountid", "awsaccountid", "awsaccount"})
REGION_NAMES = frozenset({"region", "awsregion"})
_PLACES = {
    "time": TIME_NAMES | {"times"},  # `time_s`, as a lake itself writes it
    "instance": INSTANCE_NAMES | {"dimensionsdbinstanceidentifier"},
    "metric": METRIC_NAMES,
    "account": ACCOUNT_NAMES,
    "region": REGION_NAMES,
    "namespace": frozenset({"namespace"}),
    "unit": UNIT_NAMES,
    "statistic": STATISTIC_NAMES,
    "dimensions": frozenset({"dimensions", "dimension"}),
    "value": VALUE_NAMES | {"average", "avg", "mean"},
    "sum": frozenset({"sum", "valuesum"}),
    "count": frozenset({"count", "samplecount", "valuecount", "valuesamplecount"}),
    "min": frozenset({"min", "minimum", "valuemin", "valueminimum"}),
    "max": frozenset({"max", "maximum", "valuemax", "valuemaximum"}),
}

_FACTS = {
    "instance": INSTANCE_NAMES | {"name", "dbname"},
    "db_class": frozenset({"class", "dbclass", "instanceclass", "dbinstanceclass", "instancetype"}),
    "account": ACCOUNT_NAMES,
    "region": REGION_NAMES,
    "engine": frozenset({"engine"}),
    "engine_version": frozenset({"engineversion", "version"}),
    "storage": frozenset({"storage", "storagetype", "storagekind", "volumetype"}),
    "storage_gib": frozenset(
        {"storagegib", "storagesizegib", "storagesize", "allocatedstorage", "sizegib", "size"} | {"allocatedstoragegib"}
    ),
    "iops": frozenset({"iops", "provisionediops", "storageiops"}),
    "throughput": frozenset(
        {"throughput", "storagethroughput", "throughputmibs", "storagethroughputmibs"}
        | {"throughputmibpers", "storagethroughputmibpers"}
    ),
    "multi_az": frozenset({"multiaz"}),
    "tags": frozenset({"tags", "taglist"}),
    "valid_from": frozenset({"validfrom", "validfroms"}) | TIME_NAMES,
    "valid_to": frozenset({"validto", "validtos"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRoles:
    """The columns of a table of points, as places in it; None for a column that it lacks."""

    time: int
    instance: int | None = None
    dimensions: int | None = None
    metric: int | None = None
    account: int | None = None
    region: int | None = None
    namespace: int | None = None
    unit: int | None = None
    statistic: int | None = None
    value: int | None = None
    sum: int | None = None
    count: int | None = None
    min: int | None = None
    max: int | None = None
    wide: list[int]
    """Of a wide table: the columns whose names are metrics; of another table none."""

    @property
    def has_summaries(self) -> bool:
        """Return whether a row has a sum and a count."""
        return self.sum is not None and self.count is not None


def point_roles(names: list[str], structs: Iterable[int] = ()) -> PointRoles | None:
    """
    Return the columns of a table of points of many instances; None if it is no such table.

    Args:
        names: of the columns, as written.
        structs: places of the columns that have fields; `value` of a metric stream has sum and count.
    """
    found = _found(names, _PLACES)
    if "time" not in found or not ({"instance", "dimensions"} & found.keys()):
        return None
    if "metric" in found:
        is_struct = found.get("value") in set(structs)
        if "value" not in found and not {"sum", "count"} <= found.keys():
            return None
        if is_struct:
            for name in ("sum", "count", "min", "max"):
                found[name] = found["value"]
        return PointRoles(**found, wide=[])
    taken = {found[name] for name in ("time", "instance", "account", "region") if name in found}
    wide = [place for place, name in enumerate(names) if place not in taken and recognise(name).metric is not None]
    if not wide or "instance" not in found:
        return None
    places = {n: found[n] for n in ("time", "instance", "account", "region") if n in found}
    return PointRoles(**places, wide=wide)


def fact_columns(names: list[str]) -> dict[str, int] | None:
    """Return the columns of a table that describes instances, by fact; None if it is no such table."""
    found = _found(names, _FACTS)
    return found if {"instance", "db_class"} <= found.keys() else None


def _found(names: list[str], wanted: dict[str, frozenset[str]]) -> dict[str, int]:
    """Return the first column for each role whose name fits."""
    found: dict[str, int] = {}
    for place, name in enumerate(names):
        head = plain(name)
        for role, heads in wanted.items():
            if head in heads and role not in found:
                found[role] = place
                break
    return found
