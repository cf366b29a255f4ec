"""
Rebuild the documents of Enhanced Monitoring from the metrics of Percona's rds_exporter.

Each scrape repeats the last document, with the document's own time as a metric. So the documents are
rebuilt and read by the same rules as those of the log group. The exporter also has counters of the same
data under names of node_exporter; they are amounts of one interval, not counters, and are not read.
Source: rds_exporter, enhanced/metrics.go and enhanced/testdata.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.sources.documents.enhanced_monitoring import read_documents
from plimsoll.sources.prometheus.exporters import OS_PREFIX
from plimsoll.sources.prometheus.node import Counted
from plimsoll.sources.reading.reading import Reading

_LISTS = {"diskIO": "device", "network": "interface", "fileSys": "mount_point"}
"""Parts of a document that are lists, and the label that identifies their members."""


def read_os_metrics(identifier: str, series: Sequence[Counted], reading: Reading, window_s: tuple[int, int]) -> None:
    """
    Add the scrapes of Enhanced Monitoring of one instance to a reading.

    Args:
        series: series of one instance, named `rdsosmetrics_…`.
        window_s: documents of other times are dropped.
    """
    scrapes: dict[int, dict[str, Any]] = {}
    for one in series:
        group, _, field = one.name.removeprefix(OS_PREFIX).partition("_")
        for time_ms, value in zip(one.time_ms.tolist(), one.value.tolist(), strict=True):
            if value == value:  # noqa: PLR0124  NaN alone differs from itself
                _put(scrapes.setdefault(time_ms, {}), group, field, one.labels, value)
    documents: dict[int, dict[str, Any]] = {}
    for time_ms in sorted(scrapes):
        scrape = scrapes[time_ms]
        at_s = scrape.get("timestamp")
        # A document describes the interval that ends at its time.
        if at_s is not None and window_s[0] < at_s <= window_s[1]:
            whole = {k: [*v.values()] if k in _LISTS else v for k, v in scrape.items()}
            documents[int(at_s)] = {**whole, "instanceID": identifier}
    if documents:
        read_documents(list(documents.values()), reading, where="Enhanced Monitoring")


def _put(scrape: dict[str, Any], group: str, field: str, labels: Mapping[str, str], value: float) -> None:
    if group == "timestamp":
        scrape[group] = value
    elif group == "General":
        scrape[field] = int(value)
    elif group in _LISTS:
        key = labels.get(_LISTS[group], "")
        entry = scrape.setdefault(group, {}).setdefault(key, _named(group, labels))
        entry[field] = value
    else:
        scrape.setdefault(group, {})[field] = value


def _named(group: str, labels: Mapping[str, str]) -> dict[str, Any]:
    if group == "diskIO":
        # Aurora's storage entry has no device; in Prometheus an empty label equals a missing one.
        return {"device": labels["device"]} if labels.get("device") else {}
    if group == "network":
        return {"interface": labels.get("interface")}
    return {"name": labels.get("name"), "mountPoint": labels.get("mount_point")}
