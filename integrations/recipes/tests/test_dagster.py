"""The recipe for Dagster, run by Dagster in this process; the bundled data are simulated."""

import dagster
import dagster_budget
import pytest

import plimsoll


def decide() -> object:
    with dagster.instance_for_test() as instance:
        return dagster_budget.io_budget(dagster.build_sensor_context(instance=instance))


def test_a_run_begins_only_if_there_is_budget(monkeypatch: pytest.MonkeyPatch):
    """Enough budget starts a run; too little, and what cannot be read, are reasons to skip."""
    enough = decide()
    monkeypatch.setattr(dagster_budget, "NEEDED_BYTES_PER_S", 1e12)
    little = decide()
    monkeypatch.setattr(dagster_budget, "TARGET", "nothing.json")
    unread = decide()

    assert isinstance(enough, dagster.RunRequest)
    assert "are left" in str(little.skip_message)
    assert "no reading: " in str(unread.skip_message)


def test_the_job_loads():
    assert dagster_budget.claims.execute_in_process().success
    assert plimsoll.allowance(plimsoll.read(dagster_budget.TARGET)).unstepped_bytes_per_s > 0
