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
    one = msgspec.structs.replace(diagnosis.resources[0], peak=np.float64(1.5), p99=np.int64(2), mean=np.float64("nan"))
    found = json.loads(render_json(msgspec.structs.replace(diagnosis, resources=(one,))))

    assert [1.5, 2, None] == [found["resources"][0][name] for name in ("peak", "p99", "mean")]


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
