"""
Read the databases of a Terraform or OpenTofu plan, as `terraform show -json` writes it.

Rule 1: `resource_changes` has every resource of every module, with the values before and after. A document
        without it (a state, or planned values only) has its resources in `root_module` and `child_modules`.
Rule 2: what is marked in `after_unknown` is unknown, unless the configuration does not set it at all: then the
        provider fills it in after apply, and RDS gives what the storage type includes.
Rule 3: what is marked as sensitive is unknown, and never printed.
Source: Terraform, JSON output format, format versions 0.1 to 1.2 (read 2026-11-27).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from plimsoll.errors import DataError
from plimsoll.model.infrastructure import DatabaseKind, DeclaredDatabase
from plimsoll.sources.files.json_text import decode
from plimsoll.sources.files.standard_input import load_document
from plimsoll.sources.infrastructure.clusters import ClusterSettings, with_cluster_settings
from plimsoll.sources.infrastructure.terraform_config import TerraformConfig
from plimsoll.sources.infrastructure.values import PropertyNames, UnknownValue, declared_state

_HINT = "Write it with 'terraform show -json PLANFILE > plan.json', or 'tofu show -json'."
_FORMATS = ("0", "1")
# Attributes that RDS sets to a documented value if nothing asks for another one.
_DEFAULTED = frozenset({"iops", "storage_throughput", "multi_az"})
# A database made of another one has its storage and its engine, which the plan does not show.
_ORIGINS = (
    "replicate_source_db",
    "snapshot_identifier",
    "restore_to_point_in_time",
    "s3_import",
    "replication_source_identifier",
)

_INSTANCE = PropertyNames(
    db_class="instance_class",
    engine="engine",
    identifier="identifier",
    multi_az="multi_az",
    storage_type="storage_type",
    size="allocated_storage",
    iops="iops",
    throughput="storage_throughput",
    interval="monitoring_interval",
    insights="performance_insights_enabled",
    license_model="license_model",
)
_CLUSTER = PropertyNames(
    db_class="db_cluster_instance_class",
    engine="engine",
    identifier="cluster_identifier",
    storage_type="storage_type",
    size="allocated_storage",
    iops="iops",
    interval="monitoring_interval",
    insights="performance_insights_enabled",
)
_MEMBER = PropertyNames(
    db_class="instance_class",
    engine="engine",
    identifier="identifier",
    interval="monitoring_interval",
    insights="performance_insights_enabled",
)
_TYPES = {
    "aws_db_instance": (DatabaseKind.INSTANCE, _INSTANCE),
    "aws_rds_cluster": (DatabaseKind.CLUSTER, _CLUSTER),
    "aws_rds_cluster_instance": (DatabaseKind.AURORA_INSTANCE, _MEMBER),
}
_ACTIONS = {
    ("no-op",): "no-op",
    ("read",): "read",
    ("create",): "create",
    ("update",): "update",
    ("delete",): "delete",
    ("delete", "create"): "replace",
    ("create", "delete"): "replace",
    ("forget",): "delete",
}
_ARN_REGION = re.compile(r"arn:aws[\w-]*:rds:([a-z]{2}(?:-[a-z]+)+-\d):")
_ZONE = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d)[a-z]")


def read_terraform(path: Path, *, region: str | None = None) -> tuple[tuple[DeclaredDatabase, ...], tuple[str, ...]]:
    """
    Return the databases of a plan, and notes on what it leaves open.

    Args:
        path: JSON of a plan or a state; `-` is standard input.
        region: for databases whose region the plan does not say.

    Raises:
        SourceError: the file cannot be read.
        DataError: it is no plan in JSON.
    """
    data, path = load_document(path)
    where = f"'{path}'"
    if data[:2] == b"PK":
        raise DataError(f"{where} is a plan in binary form", _HINT)
    if data[:1] not in (b"{", b"[") and not data.lstrip()[:1] == b"{":
        raise DataError(f"{where} is not JSON", _HINT)
    first = data.lstrip().split(b"\n", 1)[0]
    if b'"@level"' in first and b'"@message"' in first:
        raise DataError(f"{where} is the log of 'terraform plan -json', not the plan", _HINT)
    return _Plan(decode(data, where), path, region).read()


class _Plan:
    """One document, checked to be a plan or a state."""

    def __init__(self, document: Any, path: Path, region: str | None) -> None:
        where = f"'{path}'"
        if not isinstance(document, dict) or not isinstance(document.get("format_version"), str):
            what = "a Terraform state file" if _is_state_file(document) else "not a Terraform plan"
            raise DataError(f"{where} is {what}", _HINT)
        version = document["format_version"]
        if version.split(".")[0] not in _FORMATS:
            raise DataError(f"{where} has format version {version[:20]}, which is not known", "Update Plimsoll.")
        self._document = document
        self._where = where
        self._file = str(path)
        self._config = TerraformConfig(document)
        self._region = region or self._config.region
        self._clusters: dict[str, ClusterSettings] = {}
        self._places: dict[str, tuple[str, str]] = {}
        """Module and name of each cluster, by address."""
        self._members: dict[str, tuple[Mapping[str, Any], Any]] = {}
        """Resource change of each instance of a cluster, and its value of the cluster's identifier."""

    def read(self) -> tuple[tuple[DeclaredDatabase, ...], tuple[str, ...]]:
        """Return databases and notes."""
        notes = []
        if self._document.get("errored") is True:
            notes.append(f"{self._file}: planning ended with an error, so the plan is not complete")
        if self._document.get("deferred_changes"):
            notes.append(f"{self._file}: the plan defers changes, which were not checked")
        changes = self._document.get("resource_changes")
        if isinstance(changes, list):
            found = tuple(self._changed(changes))
        elif changes is None:
            found = tuple(self._listed())
        else:
            raise DataError(f"{self._where} has no list of changes", _HINT)
        joined = tuple(
            with_cluster_settings(one, self._cluster_of(*self._members[one.address]), self._clusters)
            if one.address in self._members
            else one
            for one in found
        )
        return joined, tuple(notes)

    def _changed(self, changes: list[Any]) -> Iterator[DeclaredDatabase]:
        for place, change in enumerate(changes):
            if not isinstance(change, dict) or not isinstance(change.get("change"), dict):
                raise DataError(f"change {place + 1} of {self._where} is not an object", _HINT)
            values = change["change"]
            actions = values.get("actions")
            action = _ACTIONS.get(tuple(actions) if _is_texts(actions) else (), "")
            if change.get("mode") == "data" or action in ("read", "delete"):
                continue
            kind = _TYPES.get(_text(change.get("type")))
            after = values.get("after")
            if kind is None or not isinstance(after, dict):
                continue
            before = values.get("before")
            yield from self._database(change, kind, action, (before, after))

    def _database(
        self,
        change: Mapping[str, Any],
        kind: tuple[DatabaseKind, PropertyNames],
        action: str,
        states: tuple[Any, dict[str, Any]],
    ) -> Iterator[DeclaredDatabase]:
        before, after = states
        values = change["change"]
        now = self._known(change, after, values.get("after_unknown"), values.get("after_sensitive"))
        address, names = _text(change.get("address")), kind[1]
        found = _resource(kind, now)
        if found is None:
            state = declared_state(now, names, region=None, name=address)
            self._places[address] = (
                _text(change.get("module_address")),
                f"aws_rds_cluster.{_text(change.get('name'))}",
            )
            self._clusters[address] = ClusterSettings(name=now.get("cluster_identifier"), state=state)
            return
        if found is DatabaseKind.AURORA_INSTANCE:
            self._members[address] = (change, now.get("cluster_identifier"))
        was = None
        if isinstance(before, dict):
            was = self._known({}, before, None, values.get("before_sensitive"))
        # Where the plan leaves it open, the region is that of the present database.
        region = _region_of(now) or (_region_of(was) if was else None) or self._region
        yield DeclaredDatabase(
            kind=found,
            address=address,
            file=self._file,
            action=action,
            before=None if was is None else declared_state(was, names, region=region, name=address),
            has_before="before" in values,
            after=declared_state(now, names, region=region, name=address),
        )

    def _cluster_of(self, change: Mapping[str, Any], identifier: Any) -> Any:
        """Return the address of an instance's cluster where the plan shows it, else its identifier."""
        module = _text(change.get("module_address"))
        names = self._config.references(change, "cluster_identifier")
        found = [address for address, place in self._places.items() if place[0] == module and place[1] in names]
        return found[0] if len(found) == 1 else identifier

    def _known(self, change: Mapping[str, Any], values: dict[str, Any], unknown: Any, sensitive: Any) -> dict[str, Any]:
        """Return values with an `UnknownValue` for each that is unknown or sensitive."""
        known = dict(values)
        marks = unknown if isinstance(unknown, dict) else {}
        origins = [
            name
            for name in _ORIGINS
            if known.get(name) or (marks.get(name) is True and not self._config.is_unset(change, name))
        ]
        for name, mark in marks.items():
            if mark is not True:
                continue
            is_unset = name in _DEFAULTED and not origins and self._config.is_unset(change, name)
            known[name] = None if is_unset else UnknownValue(reason=f"{name} is known only after apply")
        if isinstance(sensitive, dict):
            for name, mark in sensitive.items():
                if mark is True:
                    known[name] = UnknownValue(reason=f"{name} is marked as sensitive")
        if known.get("storage_type", "") is None or known.get("storage_type") == "":
            known["storage_type"] = UnknownValue(reason="storage_type is not set")
        return known

    def _listed(self) -> Iterator[DeclaredDatabase]:
        """Yield the databases of a state, or of planned values without changes."""
        is_planned = "planned_values" in self._document
        values = self._document.get("planned_values" if is_planned else "values")
        root = values.get("root_module") if isinstance(values, dict) else None
        for resource in _resources(root):
            kind = _TYPES.get(_text(resource.get("type")))
            known = resource.get("values")
            if kind is None or not isinstance(known, dict) or resource.get("mode") == "data":
                continue
            # Planned values leave out what is not known yet.
            missing = {name: True for name in _names(kind[1]) if name not in known}
            change = {"address": resource.get("address"), "change": {"after_unknown": missing if is_planned else {}}}
            yield from self._database(change, kind, "", (None, known))


def _resources(module: Any) -> Iterator[dict[str, Any]]:
    """Yield the resources of a module and of the modules in it."""
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict):
            continue
        for resource in one.get("resources") or ():
            if isinstance(resource, dict):
                yield resource
        children = one.get("child_modules")
        waiting += reversed(children) if isinstance(children, list) else ()


def _resource(kind: tuple[DatabaseKind, PropertyNames], values: dict[str, Any]) -> DatabaseKind | None:
    """Return the kind of a database; None for an Aurora cluster, which has neither class nor EBS storage."""
    if kind[0] is not DatabaseKind.CLUSTER:
        return kind[0]
    engine, db_class = values.get("engine"), values.get("db_cluster_instance_class")
    is_aurora = isinstance(engine, str) and engine.lower().startswith("aurora")
    return None if is_aurora or db_class in (None, "") else DatabaseKind.CLUSTER


def _names(names: PropertyNames) -> Iterator[str]:
    for field in names.__struct_fields__:
        if value := getattr(names, field):
            yield value


def _region_of(values: Mapping[str, Any]) -> str | None:
    region = values.get("region")
    if isinstance(region, str) and region:
        return region
    arn, zone = values.get("arn"), values.get("availability_zone")
    if isinstance(arn, str) and (match := _ARN_REGION.match(arn)):
        return match[1]
    if isinstance(zone, str) and (match := _ZONE.fullmatch(zone)):
        return match[1]
    return None


def _is_state_file(document: Any) -> bool:
    return isinstance(document, dict) and "serial" in document and "lineage" in document


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
