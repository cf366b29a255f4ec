"""The report of failovers in every form."""

import json

import pytest

import failover_reports
from plimsoll.app.render import render
from plimsoll_lab.model.failover import Fault
from plimsoll_lab.reports.drawn import drawn


def test_the_json_form_has_all_numbers():
    found = json.loads(render(drawn(failover_reports.report(refused_there=1)), "json"))

    assert "plimsoll.failover/1" == found["schema"]
    assert (0, 1, False) == (found["lost"], found["refused_there"], found["is_kept"])
    assert [fault.value for fault in Fault] == [one["fault"] for one in found["rounds"]]
    assert found["is_healed"]
    assert 13.5 == found["rounds"][0]["pooler"]["primary_found_s"]
    assert {"connection": 4, "no_answer": 1} == found["rounds"][0]["services"]["failed"]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({}, (True, True, True, False)),
        ({"lost": 7}, (False, True, False, False)),
        ({"lost": 1, "refused_there": 1}, (False, True, False, False)),
        ({"rounds": (failover_reports.UNHEALED,), "round_count": 3}, (True, False, False, False)),
        ({"round_count": 9}, (True, True, True, True)),
    ],
)
def test_what_the_exit_status_rests_on(other, expected):
    """Whether every write was kept, the cluster healed, both, and whether the run was interrupted."""
    found = failover_reports.report(**other)

    assert expected == (found.is_kept, found.is_healed, found.is_right, found.is_interrupted)
