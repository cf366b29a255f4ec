"""
Alarms as a dashboard for Grafana: a panel for each quantity, with a line at each limit of it.

Sources: the JSON model of a dashboard (Grafana documentation, "Dashboard JSON model") and of a CloudWatch query
(grafana-foundation-sdk, `CloudWatchMetricsQuery`).
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from plimsoll.model.alarm import Alarm, AlarmKind, AlarmSet
from plimsoll.model.metric import METRICS, Metric
from plimsoll.reports.alarm.prometheus import ExporterName, selected_series
from plimsoll.units import format_bytes_per_s, format_ops_per_s, format_ratio, number

_PANEL_WIDTH, _PANEL_HEIGHT, _PANELS_IN_ROW = 12, 8, 2
# Grafana's names of units. Exporters and CloudWatch give balances in percent, and bytes are decimal as in our texts.
_UNITS = {"bytes/s": "Bps", "ops/s": "iops", "ratio": "percent", "count": "short", "credits": "short"}
_GREEN, _ORANGE, _RED = "green", "orange", "red"
# An axis that ends at the highest line would hide it.
_ROOM_ABOVE = 1.1

_Line = tuple[float, str, str]
"""Value in CloudWatch's unit, colour, and what the line is."""


def grafana_dashboard(alarms: AlarmSet, exporter: ExporterName | None) -> str:
    """
    Return a dashboard to import.

    Args:
        alarms: for one instance.
        exporter: read the series that this exporter brings to Prometheus; None reads CloudWatch.
    """
    shown: dict[tuple[Metric, ...], list[Alarm]] = {}
    for alarm in alarms.alarms:
        shown.setdefault(alarm.metrics, []).append(alarm)
    kind = "cloudwatch" if exporter is None else "prometheus"
    panels = [_panel(place, same, alarms.identifier, exporter) for place, same in enumerate(shown.values())]
    simulated = " (SIMULATED DATA)" if alarms.is_simulated else ""
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": kind, "hide": 0}
    dashboard = {
        # The same address for the same instance: a second import replaces the first.
        "uid": f"plimsoll-alarms-{sha256(f'{kind} {alarms.identifier}'.encode()).hexdigest()[:12]}",
        "title": f"Limits of {alarms.identifier}{simulated}",
        "description": "A line for each limit and balance, written by plimsoll alarm.",
        "tags": ["plimsoll"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "time": {"from": "now-24h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [source]},
        "annotations": {"list": []},
        "panels": panels,
    }
    return json.dumps(dashboard, indent=2, ensure_ascii=False) + "\n"


def _panel(place: int, alarms: Sequence[Alarm], identifier: str, exporter: ExporterName | None) -> dict[str, Any]:
    first = alarms[0]
    source = {"type": "cloudwatch" if exporter is None else "prometheus", "uid": "${datasource}"}
    title = " + ".join(METRICS[metric].cloudwatch or metric.value for metric in first.metrics)
    if exporter is None:
        targets = _cloudwatch_targets(first.metrics, identifier, title)
    else:
        used = " + ".join(selected_series(m, identifier, exporter) for m in first.metrics)
        targets = [{"refId": "A", "expr": used, "legendFormat": title, "range": True}]
    lines = sorted(line for alarm in alarms for line in _lines(alarm))
    return {
        "id": place + 1,
        "type": "timeseries",
        "title": title,
        "description": "\n".join(f"- {text}" for _, _, text in lines),
        "gridPos": {
            "x": place % _PANELS_IN_ROW * _PANEL_WIDTH,
            "y": place // _PANELS_IN_ROW * _PANEL_HEIGHT,
            "w": _PANEL_WIDTH,
            "h": _PANEL_HEIGHT,
        },
        "datasource": source,
        "targets": [{"datasource": source, **target} for target in targets],
        "fieldConfig": {"defaults": _field(alarms, lines), "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi"},
        },
    }


def _field(alarms: Sequence[Alarm], lines: Sequence[_Line]) -> dict[str, Any]:
    first = alarms[0]
    top = max(value for value, _, _ in lines) * _ROOM_ABOVE
    if first.is_below:
        ceilings = [alarm.ceiling for alarm in alarms if alarm.ceiling is not None]
        top = max(ceilings, default=100.0)
    return {
        "unit": _UNITS[first.unit],
        "min": 0,
        "color": {"mode": "palette-classic"},
        "custom": {
            "axisSoftMax": _tidy(top),
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 0,
            "thresholdsStyle": {"mode": "dashed"},
        },
        "thresholds": {"mode": "absolute", "steps": _steps(lines, is_below=first.is_below)},
    }


def _steps(lines: Sequence[_Line], *, is_below: bool) -> list[dict[str, Any]]:
    """Return a step for each line. Grafana colours upwards from a step, so that a balance has its colours shifted."""
    values = [_tidy(value) for value, _, _ in lines]
    colors = [color for _, color, _ in lines]
    colors = [*colors, _GREEN] if is_below else [_GREEN, *colors]
    return [{"value": value, "color": color} for value, color in zip([None, *values], colors, strict=True)]


def _lines(alarm: Alarm) -> list[_Line]:
    """Return the lines of an alarm: that of its limit, or for a balance that of the alarm."""
    value = alarm.cloudwatch_trigger
    needed, of = (n * alarm.period_s // 60 for n in (alarm.datapoints_to_alarm, alarm.evaluation_periods))
    amount = _amount(alarm, alarm.threshold)
    note = f" {alarm.note}" if alarm.note else ""
    if alarm.is_below:
        color = _RED if alarm.key.endswith("-empty") else _ORANGE
        return [(value, color, f"{alarm.name}: at or below {amount} for {needed} of {of} min.{note}")]
    assert alarm.ceiling is not None
    # Use above a baseline is normal while credits last.
    color = _ORANGE if alarm.kind is AlarmKind.BASELINE else _RED
    also = f" while {format_ratio(alarm.balance_at_most)} of the credits or less are left"
    condition = also if alarm.balance is not None else ""
    text = (
        f"{alarm.name}: {_amount(alarm, alarm.ceiling)}. "
        f"The alarm goes off from {amount}{condition}, for {needed} of {of} min.{note}"
    )
    return [(alarm.ceiling / METRICS[alarm.metrics[0]].scale, color, text)]


def _amount(alarm: Alarm, value: float) -> str:
    if alarm.unit == "bytes/s":
        return format_bytes_per_s(value, 5)
    if alarm.unit == "ops/s":
        return format_ops_per_s(value)
    return format_ratio(value) if alarm.unit == "ratio" else number(value)


def _tidy(value: float) -> int | float:
    """Return a number without noise of floating point."""
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded


def _cloudwatch_targets(metrics: Sequence[Metric], identifier: str, label: str) -> list[dict[str, Any]]:
    """Return a query for each metric, and one for their sum; the summands are then hidden."""
    common = {"queryMode": "Metrics", "metricQueryType": 0, "region": "default", "period": ""}
    targets: list[dict[str, Any]] = [
        {
            "refId": chr(ord("A") + at),
            "id": f"m{at + 1}",
            **common,
            "metricEditorMode": 0,
            "namespace": "AWS/RDS",
            "metricName": METRICS[metric].cloudwatch,
            "dimensions": {"DBInstanceIdentifier": identifier},
            "matchExact": True,
            "statistic": "Average",
            "label": METRICS[metric].cloudwatch,
            "expression": "",
            "hide": len(metrics) > 1,
        }
        for at, metric in enumerate(metrics)
    ]
    if len(metrics) > 1:
        total = {
            "refId": "S",
            "id": "used",
            **common,
            "metricEditorMode": 1,
            "namespace": "",
            "expression": " + ".join(target["id"] for target in targets),
            "label": label,
            "hide": False,
        }
        targets.append(total)
    return targets
