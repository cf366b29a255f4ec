"""The dashboard is one of Grafana's own types, and has a line for each limit and balance."""

import json
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from typer.testing import CliRunner

from alarm_sets import alarms
from plimsoll.cli.commands import app
from plimsoll.errors import UsageError
from plimsoll.reports.alarm.grafana import grafana_dashboard

BYTE_CREDITS = "EBSByteBalance%"
HOSTILE = "db'$(touch pwned)\"{{ .Value }}\n\\"
DESCRIBED = ["alarm", "--class", "db.t3.large", "--storage", "gp2", "--size-gib", "100"]


def panels(exporter: Any = None, identifier: str = "orders") -> dict[str, dict[str, Any]]:
    made = json.loads(grafana_dashboard(alarms(identifier), exporter))
    return {panel["title"]: panel for panel in made["panels"]}


def steps(panel: dict[str, Any]) -> list[tuple[float | None, str]]:
    found = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    return [(step["value"], step["color"]) for step in found]


def lost(given: Any, kept: Any, path: str = "") -> list[str]:
    """What a document has that is not in another one, by path; `null` is the same as absent."""
    if isinstance(given, dict):
        return [
            text
            for name, value in given.items()
            if value is not None
            for text in lost(value, kept.get(name) if kept else None, f"{path}.{name}")
        ]
    if isinstance(given, list):
        if not isinstance(kept, list) or len(given) != len(kept):
            return [path]
        return [
            text
            for at, (one, other) in enumerate(zip(given, kept, strict=True))
            for text in lost(one, other, f"{path}[{at}]")
        ]
    return [] if given == kept else [f"{path}: {given!r} is {kept!r}"]


@pytest.mark.parametrize("exporter", [None, "yace", "cloudwatch"])
@pytest.mark.parametrize("name", ["orders", HOSTILE])
def test_grafanas_types_know_every_field(name: str, exporter: Any):
    """A field that Grafana does not have, or has with another type, would not come back."""
    register_default_plugins()
    given = json.loads(grafana_dashboard(alarms(name), exporter))
    kept = json.loads(json.dumps(Dashboard.from_json(given), cls=JSONEncoder))

    assert [] == lost(given, kept)
    assert len(given["uid"]) <= 40


def test_a_field_that_grafana_lacks_is_found():
    """The check above can fail."""
    register_default_plugins()
    given = json.loads(grafana_dashboard(alarms(), None))
    given["panels"][0]["targets"][0]["metric"] = "ReadThroughput"
    kept = json.loads(json.dumps(Dashboard.from_json(given), cls=JSONEncoder))

    assert [".panels[0].targets[0].metric: 'ReadThroughput' is None"] == lost(given, kept)


@pytest.mark.parametrize("exporter", [None, "yace"])
def test_every_limit_and_balance_has_a_line(exporter: Any):
    found = alarms()
    lines = [value for panel in panels(exporter).values() for value, _ in steps(panel)[1:]]
    texts = "\n".join(panel["description"] for panel in panels(exporter).values())

    assert len(found.alarms) == len(lines)
    assert all(f"- {alarm.name}: " in texts for alarm in found.alarms)


def test_an_exporter_has_its_own_names():
    yace, cloudwatch = (panels(e)[BYTE_CREDITS]["targets"][0]["expr"] for e in ("yace", "cloudwatch"))

    assert 'aws_rds_ebsbyte_balance_percent_average{dimension_DBInstanceIdentifier="orders"}' == yace
    assert 'aws_rds_ebsbyte_balance__average{dbinstance_identifier="orders"}' == cloudwatch


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "grafana", "--action", "arn:aws:sns:x"], "--action has no place in --format grafana"),
        (["--format", "json", "--exporter", "yace"], "--exporter has no place in --format json"),
    ],
)
def test_an_option_without_a_place_is_refused(options: list[str], said: str):
    with pytest.raises(UsageError, match=said):
        CliRunner().invoke(app, [*DESCRIBED, *options], catch_exceptions=False)


def test_the_command_reads_cloudwatch_unless_an_exporter_is_named():
    def source(*options: str) -> str:
        result = CliRunner().invoke(app, [*DESCRIBED, "--format", "grafana", *options])
        return json.loads(result.stdout)["panels"][0]["datasource"]["type"]

    assert "cloudwatch" == source()
    assert "prometheus" == source("--exporter", "yace")
