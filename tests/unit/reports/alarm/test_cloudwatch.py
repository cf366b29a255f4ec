"""Every form is accepted by what will read it, also for a hostile identifier."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import boto3
import hcl2
import pytest
import yaml
from moto import mock_aws
from typer.testing import CliRunner

from alarm_sets import alarms
from plimsoll.cli.commands import app
from plimsoll.errors import UsageError
from plimsoll.reports.alarm.cloudwatch import cloudformation, request_of, shell_commands, terraform
from plimsoll.reports.alarm.prometheus import prometheus_rules

ARN = "arn:aws:sns:us-east-1:123456789012:oncall"
HOSTILE = "db'$(touch pwned)\"${var.x}%{if}{{ .Value }}: #\n!Ref \\"
NAMES = ["orders", HOSTILE]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield


def arguments_of(words: list[str]) -> dict[str, Any]:
    """The API arguments of a command line, as the AWS CLI reads options."""
    found: dict[str, Any] = {}
    for option, value in zip(words[::2], words[1::2], strict=True):
        name = "".join(part.capitalize() for part in option.removeprefix("--").split("-"))
        if name in {"EvaluationPeriods", "DatapointsToAlarm"}:
            found[name] = int(value)
        elif name == "Threshold":
            found[name] = float(value)
        else:
            found[name] = json.loads(value) if name == "Metrics" else value
    found["AlarmActions"] = [found["AlarmActions"]]
    return found


def run_with_stub(text: str, folder: Path) -> list[list[str]]:
    """Run the commands in a real shell whose `aws` writes down its arguments."""
    stub = folder / "aws"
    stub.write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done\nprintf "\\036"\n')
    stub.chmod(0o755)
    path = {"PATH": f"{folder}:/usr/bin:/bin"}
    done = subprocess.run(["sh", "-eu"], input=text, env=path, cwd=folder, capture_output=True, text=True, check=True)
    return [call.split("\0")[:-1] for call in done.stdout.split("\036")[:-1]]


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_are_accepted_and_start_nothing_else(name: str, aws: None, tmp_path: Path):
    found = alarms(name)
    calls = run_with_stub(shell_commands(found, ARN), tmp_path)
    client = boto3.client("cloudwatch")
    for words in calls:
        assert ["cloudwatch", "put-metric-alarm"] == words[:2]
        client.put_metric_alarm(**arguments_of(words[2:]))
    made = client.describe_alarms()["MetricAlarms"]

    assert [a.key for a in found.alarms] == [m["AlarmName"].rsplit(" ", 1)[1] for m in made]
    assert all([ARN] == m["AlarmActions"] and m["TreatMissingData"] == "missing" for m in made)
    assert ["aws"] == [file.name for file in tmp_path.iterdir()]


def test_without_a_topic_the_commands_stop_at_once(tmp_path: Path):
    text = shell_commands(alarms("orders"), None)

    with pytest.raises(subprocess.CalledProcessError) as raised:
        run_with_stub(text, tmp_path)
    assert "ALARM_TOPIC_ARN: set it to the ARN" in raised.value.stderr
    assert shlex.split(text, comments=True)


@pytest.mark.parametrize("name", NAMES)
def test_the_properties_of_the_template_are_accepted(name: str, aws: None):
    """Without the stack: CloudFormation passes the properties to PutMetricAlarm under the same names."""
    found = alarms(name)
    template = yaml.safe_load(cloudformation(found, None))
    client = boto3.client("cloudwatch")
    for resource in template["Resources"].values():
        assert [{"Ref": "AlarmTopicArn"}] == resource["Properties"].pop("AlarmActions")
        client.put_metric_alarm(**resource["Properties"])

    assert len(found.alarms) == len(client.describe_alarms()["MetricAlarms"])
    assert "Default" not in template["Parameters"]["AlarmTopicArn"]


@pytest.mark.parametrize("name", NAMES)
def test_cfn_lint_has_no_error_and_no_warning(name: str):
    from cfnlint.api import lint_all

    found = lint_all(cloudformation(alarms(name), ARN))

    assert [] == [match for match in found if not match.rule.id.startswith("I")]


@pytest.mark.parametrize("name", NAMES)
def test_terraform_can_be_parsed(name: str):
    found = alarms(name)
    parsed = hcl2.loads(terraform(found, None))

    assert len(found.alarms) == len(parsed["resource"])
    assert "default" not in next(iter(parsed["variable"][0].values()))


def test_terraform_has_no_interpolation_of_a_name():
    # The heading is a comment.
    text = "".join(terraform(alarms(HOSTILE), ARN).splitlines(keepends=True)[1:])

    assert "$${var.x}%%{if}" in text
    assert text.count("${") == text.count("$${")


def test_a_sum_of_reads_and_writes_is_compared_in_the_units_of_cloudwatch():
    found = {a.key: a for a in alarms("orders").alarms}
    request = request_of(found["instance-ebs-throughput-baseline"], "orders")

    assert "IF(m3 <= 50 AND (m1 + m2) >= 51200000, 1, 0)" == request["Metrics"][-1]["Expression"]
    assert 1 == request["Threshold"]
    assert 0.5 == request_of(found["instance-throughput-credits-empty"], "orders")["Threshold"]


@pytest.mark.parametrize("exporter", ["yace", "cloudwatch"])
@pytest.mark.parametrize("name", NAMES)
def test_rules_of_prometheus_are_yaml(name: str, exporter: Any):
    rules = yaml.safe_load(prometheus_rules(alarms(name), exporter))["groups"][0]["rules"]

    assert len(alarms(name).alarms) == len(rules)
    assert all("{{ .Value" not in rule["annotations"]["summary"] for rule in rules)


def test_each_exporter_has_its_own_names():
    yace, cloudwatch = (prometheus_rules(alarms("orders"), e) for e in ("yace", "cloudwatch"))

    assert 'aws_rds_ebsbyte_balance_percent_average{dimension_DBInstanceIdentifier="orders"}' in yace
    assert 'aws_rds_ebsbyte_balance__average{dbinstance_identifier="orders"}' in cloudwatch


def test_without_target_and_class_there_is_a_hint():
    with pytest.raises(UsageError, match="no target and no class"):
        CliRunner().invoke(app, ["alarm"], catch_exceptions=False)
