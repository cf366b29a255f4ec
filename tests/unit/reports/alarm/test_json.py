"""The JSON form says what is not known, and keeps moments and conditions."""

import json

from plimsoll.app.render import render
from unit.reports.alarm.test_grafana import alarms


def test_only_a_baseline_has_a_condition_on_credits():
    made = {alarm["key"]: alarm for alarm in json.loads(render(alarms(), "json"))["alarms"]}
    baseline = made["instance-ebs-throughput-baseline"]
    credits_low = made["instance-throughput-credits-low"]

    assert ("byte_balance_ratio", 0.5) == (baseline["balance"], baseline["balance_at_most"])
    assert (None, None) == (credits_low["balance"], credits_low["balance_at_most"])
    assert (True, False) == (credits_low["is_below"], baseline["is_below"])


def test_the_other_forms_name_the_command():
    assert "plimsoll alarm TARGET --format grafana" in render(alarms(), "markdown")
