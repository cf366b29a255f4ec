"""
Alarms as a rules file of Prometheus, on the series of a CloudWatch exporter.

Names as the exporters write them (docs/guides/read-from-prometheus.md): YACE and cloudwatch_exporter differ in
the balances and in the label of the instance.
"""

import json
from typing import Any, Literal

from plimsoll.model.alarm import Alarm, AlarmKind, AlarmSet
from plimsoll.model.metric import Metric

ExporterName = Literal["yace", "cloudwatch"]

_LABELS = {"yace": "dimension_DBInstanceIdentifier", "cloudwatch": "dbinstance_identifier"}
_NAMES = {
    Metric.READ_BYTES_PER_S: "read_throughput",
    Metric.WRITE_BYTES_PER_S: "write_throughput",
    Metric.READ_OPS_PER_S: "read_iops",
    Metric.WRITE_OPS_PER_S: "write_iops",
    Metric.BYTE_BALANCE_RATIO: "ebsbyte_balance_percent",
    Metric.IO_BALANCE_RATIO: "ebsiobalance_percent",
    Metric.VOLUME_BALANCE_RATIO: "burst_balance",
    Metric.CPU_CREDITS: "cpucredit_balance",
    Metric.CONNECTION_COUNT: "database_connections",
}


def prometheus_rules(alarms: AlarmSet, exporter: ExporterName) -> str:
    """Return a rules file with one group."""
    import yaml

    rules = [_rule(alarm, alarms, exporter) for alarm in alarms.alarms]
    group = {"name": _literal(f"plimsoll {alarms.identifier}"), "rules": rules}
    text: str = yaml.safe_dump({"groups": [group]}, sort_keys=False, allow_unicode=True, width=100)
    head = "# Chosen from SIMULATED DATA.\n" if alarms.is_simulated else ""
    return head + text


def _rule(alarm: Alarm, alarms: AlarmSet, exporter: ExporterName) -> dict[str, Any]:
    held_s = alarm.datapoints_to_alarm * alarm.period_s
    summary = f"{alarms.identifier}: {alarm.name}"
    if alarms.is_simulated:
        summary += " (simulated data)"
    return {
        "alert": "Plimsoll" + "".join(part.capitalize() for part in alarm.key.split("-")),
        "expr": _expression(alarm, alarms.identifier, exporter),
        "for": f"{held_s // 60}m",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": _literal(summary),
            "description": _literal(" ".join(p for p in (alarm.why, alarm.note) if p)),
        },
    }


def _expression(alarm: Alarm, identifier: str, exporter: ExporterName) -> str:
    used = " + ".join(selected_series(metric, identifier, exporter) for metric in alarm.metrics)
    sign = "<=" if alarm.is_below else ">="
    found = f"{used} {sign} {alarm.cloudwatch_trigger:.15g}"
    if alarm.kind is AlarmKind.BASELINE and alarm.balance is not None:
        left = selected_series(alarm.balance, identifier, exporter)
        found = f"({found}) and {left} <= {alarm.cloudwatch_balance:.15g}"
    return found


def selected_series(metric: Metric, identifier: str, exporter: ExporterName) -> str:
    """Return the PromQL selector of a metric of an instance, in CloudWatch's unit."""
    name = _NAMES[metric]
    if exporter == "cloudwatch":
        # cloudwatch_exporter writes an underscore for the percent sign.
        name = name.replace("_percent", "_")
    return f"aws_rds_{name}_average{{{_LABELS[exporter]}={json.dumps(identifier)}}}"


def _literal(text: str) -> str:
    """Return a text in which Prometheus finds no template."""
    return text.replace("{{", '{{"{{"}}')
