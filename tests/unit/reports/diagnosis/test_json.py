"""The report for machines; its schema is checked by tests/contract/test_json_forms.py."""

import json
import math

import msgspec
import numpy as np
import pytest

from plimsoll.model.diagnosis import Diagnosis, Interval
from plimsoll.model.instance import EbsLimits, Instance
from plimsoll.reports.diagnosis.json import render_json
from unit.reports.fixture_diagnosis import CASES, pressed, quiet


@pytest.mark.parametrize("case", ["pressed", "unknown"])
def test_golden(case, golden):
    """The JSON report is as it was last reviewed: with every part, and with hardly one."""
    golden(f"reports/{case}.json", render_json(CASES[case]()[0]).decode())


def test_equal_diagnoses_give_equal_bytes():
    """Two diagnoses made apart from each other are the same bytes."""
    assert render_json(pressed()[0]) == render_json(pressed()[0])


def test_keys_are_sorted_at_every_depth():
    """Keys come in one order, so that two reports can be compared line by line."""
    unsorted = []

    def check(pairs):
        keys = [key for key, _ in pairs]
        if keys != sorted(keys):
            unsorted.append(keys)
        return dict(pairs)

    json.loads(render_json(pressed()[0]), object_pairs_hook=check)

    assert [] == unsorted


def test_what_is_not_a_number_is_null():
    """NaN and infinity are not JSON; they mean unknown."""
    diagnosis, _ = quiet()
    resource = msgspec.structs.replace(diagnosis.resources[0], peak=math.nan, p99=math.inf)
    text = render_json(msgspec.structs.replace(diagnosis, resources=(resource,)))
    found = json.loads(text)["resources"][0]

    assert [None, None] == [found["peak"], found["p99"]]


def test_numbers_of_numpy_are_numbers():
    """A scalar that came out of an array is written like any other number."""
    diagnosis, _ = quiet()
    one = msgspec.structs.replace(
        diagnosis.resources[0], peak=np.float64(1.5), p99=np.int64(2), mean=np.float64("nan")
    )
    found = json.loads(render_json(msgspec.structs.replace(diagnosis, resources=(one,))))

    assert [1.5, 2, None] == [found["resources"][0][name] for name in ("peak", "p99", "mean")]


def test_moments_are_utc_with_z():
    """Window and intervals are ISO 8601 to the second."""
    report = json.loads(render_json(pressed()[0]))

    assert "2021-03-08T00:00:00Z" == report["window"]["start"]
    assert "2021-03-08T09:48:00Z" == report["intervals"][2]["start"]
    assert "2021-03-08T19:00:00Z" == report["intervals"][2]["end"]


def test_the_promised_fields_of_an_interval_are_there():
    """Start, end, dimension, level with error bars, family, phase and confidence, as numbers and words."""
    interval = json.loads(render_json(pressed()[0]))["intervals"][2]
    promised = {
        "start": "2021-03-08T09:48:00Z",
        "end": "2021-03-08T19:00:00Z",
        "dimension": "throughput",
        "level": 212.6e6,
        "level_low": 212.35e6,
        "level_high": 212.85e6,
        "family": "instance_ebs_throughput",
        "phase": "legacy",
        "former_phase": "baseline",
        "confidence": 0.99,
    }

    assert promised == {name: interval[name] for name in promised}
    assert 212.5e6 == interval["ceiling"]["value"]
    assert "2019-12-04" == interval["ceiling"]["valid_to"]


def test_no_field_of_a_diagnosis_is_lost():
    """Every field of `Diagnosis` has its place in the report."""
    report = json.loads(render_json(pressed()[0]))
    renamed = dict.fromkeys(("window_s", "step_s", "measured_s", "asked_s"), "window")

    assert {renamed.get(f, f) for f in Diagnosis.__struct_fields__} <= report.keys()


def test_no_field_of_an_instance_is_lost():
    """
    What was bought is in the report whole, what the provider's API says and what is pending too.

    Tags are not: they group a fleet, and a report of one instance is given to others.
    """
    found = json.loads(render_json(pressed()[0]))["instance"]
    fields = {f.replace("launched_s", "launched") for f in Instance.__struct_fields__}

    assert fields - {"tags"} == found.keys()
    assert ["class db.r5.4xlarge"] == found["pending"]
    assert set(EbsLimits.__struct_fields__) == found["ebs_limits"].keys()


def test_no_field_of_an_interval_is_lost():
    """Context and step are in every interval; where no step is known it is the window's."""
    report = json.loads(render_json(pressed()[0]))
    renamed = {"start_s": "start", "end_s": "end"}
    night, _, day = report["intervals"][:3]

    assert {renamed.get(f, f) for f in Interval.__struct_fields__} == night.keys()
    assert (60, "lazy loading after a restore") == (night["step_s"], night["context"])
    assert 1 == day["step_s"]


def test_events_are_in_order_of_time():
    """Every event is there, backups and what came before the window too, in order of time."""
    found = json.loads(render_json(pressed()[0]))["annotations"]

    assert ["restore", "backup", "backup", "other", "restart"] == [a["kind"] for a in found]
    assert "2021-03-07T22:00:00Z" == found[0]["time"]
    assert "Restored from snapshot rds:search-primary-2021-03-07" == found[0]["text"]
