"""The report for machines; its schema is checked by tests/contract/test_json_forms.py."""

import json

import pytest

from plimsoll.reports.diagnosis.json import render_json
from unit.reports.fixture_diagnosis import CASES, pressed


@pytest.mark.parametrize("case", ["pressed", "unknown"])
def test_golden(case, golden):
    """The JSON report is as it was last reviewed: with every part, and with hardly one."""
    golden(f"reports/{case}.json", render_json(CASES[case]()[0]).decode())


def test_every_interval_has_its_step():
    """Where no step is known it is the window's."""
    night, _, day = json.loads(render_json(pressed()[0]))["intervals"][:3]

    assert (60, 1) == (night["step_s"], day["step_s"])
