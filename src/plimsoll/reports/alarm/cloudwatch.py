"""
Alarms as CloudWatch takes them: shell commands, Terraform and CloudFormation.

Rule: all three come from one request, `request_of`. Names of instances are quoted by each form.
"""

import json
from typing import Any

from plimsoll.model.alarm import Alarm, AlarmKind, AlarmSet
from plimsoll.model.metric import METRICS
from plimsoll.model.shell import command_line, shell_word

# PutMetricAlarm: AlarmName has at most 255 characters, and no control characters.
_NAME_LENGTH_MAX = 255
# A metric that stops leaves INSUFFICIENT_DATA, which people see. `notBreaching` would show a stopped instance,
# or a balance that does not exist, as healthy; `breaching` would wake people for every restart.
MISSING = "missing"
_TOPIC = "ALARM_TOPIC_ARN"


def request_of(alarm: Alarm, identifier: str) -> dict[str, Any]:
    """
    Return an alarm as the arguments of PutMetricAlarm, without its actions.

    Source:
        CloudWatch API reference, PutMetricAlarm; User Guide, "Using math expressions with CloudWatch metrics".
    """
    identifier = _printable(identifier)
    metrics = alarm.all_metrics
    ids = [f"m{at}" for at in range(1, len(metrics) + 1)]
    queries: list[dict[str, Any]] = [
        {
            "Id": name,
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/RDS",
                    "MetricName": METRICS[metric].cloudwatch,
                    "Dimensions": [{"Name": "DBInstanceIdentifier", "Value": identifier}],
                },
                "Period": alarm.period_s,
                "Stat": "Average",
            },
            "ReturnData": len(metrics) == 1,
        }
        for name, metric in zip(ids, metrics, strict=True)
    ]
    threshold = _number(alarm.cloudwatch_trigger)
    used = " + ".join(ids[: len(alarm.metrics)])
    if alarm.kind is AlarmKind.BASELINE:
        balance = _number(alarm.cloudwatch_balance)
        used = f"IF({ids[-1]} <= {balance} AND ({used}) >= {threshold}, 1, 0)"
        threshold = 1
    if len(metrics) > 1:
        queries.append({"Id": "used", "Expression": used, "Label": alarm.name, "ReturnData": True})
    below = "LessThanOrEqualToThreshold"
    return {
        "AlarmName": f"plimsoll {identifier} {alarm.key}"[:_NAME_LENGTH_MAX],
        "AlarmDescription": " ".join(part for part in (alarm.why, alarm.note) if part),
        "ComparisonOperator": below if alarm.is_below else "GreaterThanOrEqualToThreshold",
        "Threshold": threshold,
        "EvaluationPeriods": alarm.evaluation_periods,
        "DatapointsToAlarm": alarm.datapoints_to_alarm,
        "TreatMissingData": MISSING,
        "Metrics": queries,
    }


def shell_commands(alarms: AlarmSet, action: str | None) -> str:
    """Return one `aws cloudwatch put-metric-alarm` command for each alarm; `action` is an ARN."""
    lines = [f"# {_heading(alarms)}"]
    topic = shell_word(action) if action is not None else f'"${_TOPIC}"'
    if action is None:
        lines.append(f': "${{{_TOPIC}:?set it to the ARN of your SNS topic}}"')
    for alarm in alarms.alarms:
        request = request_of(alarm, alarms.identifier)
        options = [f"--{_dashed(name)} {_word(value)}" for name, value in request.items()]
        command = command_line(["aws", "cloudwatch", "put-metric-alarm"])
        lines.append(" \\\n  ".join([command, *options, f"--alarm-actions {topic}"]))
    return "\n".join(lines) + "\n"


def terraform(alarms: AlarmSet, action: str | None) -> str:
    """Return the alarms as Terraform resources; without an action, a variable has to be set."""
    default = f"\n  default     = [{_hcl(action)}]" if action is not None else ""
    variable = [
        'variable "alarm_actions" {',
        '  description = "ARNs to notify, for example of an SNS topic"',
        f"  type        = list(string){default}",
        "}",
    ]
    blocks = [f"# {_heading(alarms)}", "\n".join(variable)]
    blocks += [_resource(alarm, alarms.identifier) for alarm in alarms.alarms]
    return "\n\n".join(blocks) + "\n"


def cloudformation(alarms: AlarmSet, action: str | None) -> str:
    """Return the alarms as a CloudFormation template; without an action, a parameter has to be set."""
    import yaml

    topic: dict[str, Any] = {"Type": "String", "Description": "ARN to notify, for example of an SNS topic"}
    if action is not None:
        topic["Default"] = action
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": _heading(alarms)[:1024],
        "Parameters": {"AlarmTopicArn": topic},
        "Resources": {
            _camel(alarm.key): {
                "Type": "AWS::CloudWatch::Alarm",
                "Properties": {**request_of(alarm, alarms.identifier), "AlarmActions": [{"Ref": "AlarmTopicArn"}]},
            }
            for alarm in alarms.alarms
        },
    }
    text: str = yaml.safe_dump(template, sort_keys=False, allow_unicode=True, width=100)
    return text


def _resource(alarm: Alarm, identifier: str) -> str:
    request = request_of(alarm, identifier)
    lines = [
        f'resource "aws_cloudwatch_metric_alarm" "{alarm.key.replace("-", "_")}" {{',
        f"  alarm_name          = {_hcl(request['AlarmName'])}",
        f"  alarm_description   = {_hcl(request['AlarmDescription'])}",
        f"  comparison_operator = {_hcl(request['ComparisonOperator'])}",
        f"  threshold           = {request['Threshold']}",
        f"  evaluation_periods  = {request['EvaluationPeriods']}",
        f"  datapoints_to_alarm = {request['DatapointsToAlarm']}",
        f"  treat_missing_data  = {_hcl(MISSING)}",
        "  alarm_actions       = var.alarm_actions",
    ]
    for query in request["Metrics"]:
        lines += ["", *_query(query)]
    return "\n".join([*lines, "}"])


def _query(query: dict[str, Any]) -> list[str]:
    returned = "true" if query["ReturnData"] else "false"
    if "Expression" in query:
        return [
            "  metric_query {",
            f"    id          = {_hcl(query['Id'])}",
            f"    expression  = {_hcl(query['Expression'])}",
            f"    label       = {_hcl(query['Label'])}",
            f"    return_data = {returned}",
            "  }",
        ]
    measured = query["MetricStat"]
    return [
        "  metric_query {",
        f"    id          = {_hcl(query['Id'])}",
        f"    return_data = {returned}",
        "",
        "    metric {",
        f"      namespace   = {_hcl(measured['Metric']['Namespace'])}",
        f"      metric_name = {_hcl(measured['Metric']['MetricName'])}",
        f"      period      = {measured['Period']}",
        f"      stat        = {_hcl(measured['Stat'])}",
        "      dimensions = {",
        f"        DBInstanceIdentifier = {_hcl(measured['Metric']['Dimensions'][0]['Value'])}",
        "      }",
        "    }",
        "  }",
    ]


def _hcl(text: str) -> str:
    """Return a text as a quoted HCL template without interpolation."""
    quoted = json.dumps(_printable(text), ensure_ascii=False)
    return quoted.replace("${", "$${").replace("%{", "%%{")


def _heading(alarms: AlarmSet) -> str:
    simulated = ", chosen from SIMULATED DATA" if alarms.is_simulated else ""
    return f"CloudWatch alarms for {_printable(alarms.identifier)}, written by plimsoll{simulated}"


def _printable(text: str) -> str:
    """Return a text without control characters and line separators, which no form may contain."""
    return "".join(letter for letter in text if letter.isprintable())


def _word(value: Any) -> str:
    return shell_word(value if isinstance(value, str) else json.dumps(value))


def _dashed(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


def _camel(key: str) -> str:
    return "".join(part.capitalize() for part in key.split("-"))


def _number(value: float) -> int | float:
    """Return a number without noise of floating point, an integer where it is one."""
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded
