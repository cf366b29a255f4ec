"""The JSON form says what is not known, and keeps moments and conditions."""

import json

from msgspec.structs import replace

from plimsoll.app.render import render
from plimsoll.model.alarm import AlarmHistory
from plimsoll.model.ceiling import Family
from unit.reports.alarm.test_grafana import alarms


def test_without_measurements_there_is_no_history():
    made = json.loads(render(alarms(), "json"))

    assert (None, None, None) == (made["window"], made["held"], made["held_family"])
    assert all(alarm["history"] is None for alarm in made["alarms"])
    assert alarms().billed_metric_count == made["billed_metric_count"]


def test_a_history_has_moments_and_the_lead():
    found = alarms()
    history = AlarmHistory(is_measured=True, fired_s=(1_600_000_000,), reached_s=1_600_000_600)
    found = replace(
        found,
        window_s=(1_600_000_000, 1_600_003_600),
        histories=(history,) * len(found.alarms),
        held_s=1_600_000_600,
        held_family=Family.INSTANCE_EBS_THROUGHPUT,
    )
    made = json.loads(render(found, "json"))

    assert ("2020-09-13T12:36:40Z", "instance_ebs_throughput") == (made["held"], made["held_family"])
    assert {
        "is_measured": True,
        "fired": ["2020-09-13T12:26:40Z"],
        "reached": "2020-09-13T12:36:40Z",
        "lead_s": 600,
        "is_noisy": False,
    } == made["alarms"][0]["history"]


def test_only_a_baseline_has_a_condition_on_credits():
    made = {alarm["key"]: alarm for alarm in json.loads(render(alarms(), "json"))["alarms"]}
    baseline = made["instance-ebs-throughput-baseline"]
    credits_low = made["instance-throughput-credits-low"]

    assert ("byte_balance_ratio", 0.5) == (baseline["balance"], baseline["balance_at_most"])
    assert (None, None) == (credits_low["balance"], credits_low["balance_at_most"])
    assert (True, False) == (credits_low["is_below"], baseline["is_below"])


def test_the_other_forms_name_the_command():
    assert "plimsoll alarm TARGET --format grafana" in render(alarms(), "markdown")
