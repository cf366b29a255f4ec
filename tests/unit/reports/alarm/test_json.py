"""The JSON form says what is not known, and keeps moments and conditions."""

from plimsoll.app.render import render
from unit.reports.alarm.test_grafana import alarms


def test_the_other_forms_name_the_command():
    assert "plimsoll alarm TARGET --format grafana" in render(alarms(), "markdown")
