"""
Read the databases of a CloudFormation template.

Rule 1: a property that is not set has the default that RDS documents, or is unknown where it documents none.
Rule 2: a template says nothing of what there is now, so no finding is said to be new.
Source: CloudFormation Template Reference, AWS::RDS::DBInstance and AWS::RDS::DBCluster (read 2026-11-27).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from plimsoll.errors import UsageError
from plimsoll.model.infrastructure import DatabaseKind, DeclaredDatabase
from plimsoll.sources.infrastructure.clusters import ClusterSettings, with_cluster_settings
from plimsoll.sources.infrastructure.template import TemplateValues
from plimsoll.sources.infrastructure.template_text import read_template
from plimsoll.sources.infrastructure.values import PropertyNames, UnknownValue, declared_state

_INSTANCE = PropertyNames(
    db_class="DBInstanceClass",
    engine="Engine",
    identifier="DBInstanceIdentifier",
    multi_az="MultiAZ",
    storage_type="StorageType",
    size="AllocatedStorage",
    iops="Iops",
    throughput="StorageThroughput",
    interval="MonitoringInterval",
    insights="EnablePerformanceInsights",
    license_model="LicenseModel",
)
_CLUSTER = PropertyNames(
    db_class="DBClusterInstanceClass",
    engine="Engine",
    identifier="DBClusterIdentifier",
    storage_type="StorageType",
    size="AllocatedStorage",
    iops="Iops",
    interval="MonitoringInterval",
    insights="PerformanceInsightsEnabled",
)
_TYPES = {"AWS::RDS::DBInstance": _INSTANCE, "AWS::RDS::DBCluster": _CLUSTER}
# Made of another database: engine and storage are those of the other one.
_ORIGINS = (
    "DBSnapshotIdentifier",
    "SourceDBInstanceIdentifier",
    "SourceDBClusterIdentifier",
    "SnapshotIdentifier",
    "DBClusterSnapshotIdentifier",
    "SourceDbiResourceId",
    "SourceDBInstanceAutomatedBackupsArn",
)
_INHERITED = ("Engine", "StorageType", "AllocatedStorage", "Iops", "StorageThroughput")


def read_cloudformation(
    path: Path, *, region: str | None = None, parameters: Mapping[str, str] | None = None
) -> tuple[tuple[DeclaredDatabase, ...], tuple[str, ...]]:
    """
    Return the databases of a template, and notes on what it leaves open.

    Args:
        path: YAML or JSON; `-` is standard input.
        region: of the stack; None if not known.
        parameters: values in place of the defaults.

    Raises:
        UsageError: the template has no such parameter.
        SourceError: the file cannot be read.
        DataError: it is no template.
    """
    decoded = read_template(path)
    values = TemplateValues(decoded.content, parameters or {}, region)
    for name in parameters or {}:
        if name not in values.parameters:
            raise UsageError(
                f"'{decoded.name}' has no parameter '{name}'", f"It has {', '.join(values.parameters[:10]) or 'none'}."
            )
    reader = _Template(decoded.name, decoded.content["Resources"], decoded.lines, values, region)
    found = reader.read()
    return found, tuple(reader.notes())


class _Template:
    """The resources of one template."""

    def __init__(
        self,
        file: str,
        resources: Mapping[str, Any],
        lines: Mapping[str, int],
        values: TemplateValues,
        region: str | None,
    ) -> None:
        self._file = file
        self._resources = resources
        self._lines = lines
        self._values = values
        self._region = region

    def read(self) -> tuple[DeclaredDatabase, ...]:
        """Return the databases, in the order of the template."""
        found = tuple(self._databases())
        clusters = {
            name: ClusterSettings(name=name, state=declared_state(properties, _CLUSTER, region=self._region, name=name))
            for name, properties in self._of_type("AWS::RDS::DBCluster")
        }
        return tuple(
            with_cluster_settings(one, self._cluster_of(one.address), clusters)
            if one.kind is DatabaseKind.AURORA_INSTANCE
            else one
            for one in found
        )

    def notes(self) -> Iterator[str]:
        """Yield what was assumed, and what was not read."""
        if self._values.defaults:
            names = ", ".join(self._values.defaults)
            yield (
                f"{self._file}: parameters were taken at their defaults ({names}): give --parameter "
                "NAME=VALUE for others"
            )
        for name, resource in self._resources.items():
            if str(name).startswith("Fn::ForEach"):
                yield f"{self._file}: {name} was not expanded"
            elif _type_of(resource) == "AWS::CloudFormation::Stack":
                yield f"{self._file}: the nested stack {name} was not read: give its template too"

    def _of_type(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, resource in self._resources.items():
            if _type_of(resource) == kind and not self._is_left_out(resource):
                yield str(name), self._properties(resource, _TYPES[kind])

    def _is_left_out(self, resource: Mapping[str, Any]) -> bool:
        name = resource.get("Condition")
        return name is not None and self._values.condition(name) is False

    def _databases(self) -> Iterator[DeclaredDatabase]:
        for name, resource in self._resources.items():
            kind = _type_of(resource)
            names = _TYPES.get(kind)
            if names is None or self._is_left_out(resource):
                continue
            properties = self._properties(resource, names)
            found = _kind(kind, resource, properties)
            if found is None:
                continue
            yield DeclaredDatabase(
                kind=found,
                address=str(name),
                file=self._file,
                line=self._lines.get(str(name), 1),
                after=declared_state(properties, names, region=self._region, name=str(name)),
            )

    def _properties(self, resource: Mapping[str, Any], names: PropertyNames) -> dict[str, Any]:
        """Return the properties that rules need, evaluated."""
        given = resource.get("Properties")
        if not isinstance(given, dict):
            given = {}
        is_derived = any(name in given for name in _ORIGINS)
        found: dict[str, Any] = {}
        for field in names.__struct_fields__:
            key = getattr(names, field)
            if not key:
                continue
            value = self._values.value(given.get(key))
            if value is None and is_derived and key in _INHERITED:
                value = UnknownValue(reason=f"{key} is that of the database it is made of")
            elif value is None and key == "StorageType":
                # Source: the default was gp2 and is gp3 now, and depends on the date of the stack.
                value = UnknownValue(reason="StorageType is not set")
            found[key] = _explained(key, value)
        return found

    def _cluster_of(self, name: str) -> Any:
        """Return the logical ID of an instance's cluster, or an `UnknownValue`."""
        given = self._resources[name].get("Properties")
        reference = given.get("DBClusterIdentifier") if isinstance(given, dict) else None
        if isinstance(reference, dict) and isinstance(reference.get("Ref"), str):
            return reference["Ref"]
        return UnknownValue(reason="DBClusterIdentifier is not a reference to a cluster")


def _kind(kind: str, resource: Mapping[str, Any], properties: Mapping[str, Any]) -> DatabaseKind | None:
    engine = properties.get("Engine")
    is_aurora = isinstance(engine, str) and engine.lower().startswith("aurora")
    if kind == "AWS::RDS::DBCluster":
        # An Aurora cluster has neither a class nor EBS storage of its own.
        has_class = properties.get("DBClusterInstanceClass") is not None
        return DatabaseKind.CLUSTER if has_class and not is_aurora else None
    given = resource.get("Properties")
    is_member = isinstance(given, dict) and "DBClusterIdentifier" in given
    return DatabaseKind.AURORA_INSTANCE if is_member or is_aurora else DatabaseKind.INSTANCE


def _explained(key: str, value: Any) -> Any:
    if not isinstance(value, UnknownValue) or value.reason.startswith(key):
        return value
    return UnknownValue(reason=f"{key}: {value.reason}")


def _type_of(resource: Any) -> str:
    kind = resource.get("Type") if isinstance(resource, dict) else None
    return kind if isinstance(kind, str) else ""
