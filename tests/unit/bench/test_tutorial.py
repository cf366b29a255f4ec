"""The ways that the tutorial is timed in, without walking them."""

from pathlib import Path

import tutorial


def test_each_way_installs_the_wheel_and_runs_the_commands_of_the_page():
    """The lines are the page's, with the wheel for the package and the given interpreters for its own."""
    ways = tutorial.ways(Path("/built/our.whl"), "/old/python", "/new/python")

    assert [
        "/old/python -m pip install -q --user uv",
        "uv tool install --python /new/python /built/our.whl",
        "plimsoll diagnose 'rds:*' --last 24h",
    ] == ways["CloudShell"][:3]
    assert ["plimsoll plan rds:orders-primary"] == [line for line in ways["CloudShell"] if " plan " in line]
    assert tutorial.SERVICE not in ways["CloudShell"]
    assert ways["a file"][0].endswith(" -m venv plimsoll && plimsoll/bin/pip install /built/our.whl")
    assert {"diagnose", "plan"} == {line.split()[1] for line in ways["a file"][1:]}
    assert ways["a host over SSH"][1].endswith(" | plimsoll diagnose -")
