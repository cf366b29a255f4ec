"""The recipe for Prefect, run by Prefect in this process; the bundled data are simulated."""

import prefect_budget
import pytest
from prefect.testing.utilities import prefect_test_harness


@pytest.fixture(scope="module", autouse=True)
def server():
    """A database of its own for Prefect's server, which runs in this process."""
    with prefect_test_harness():
        yield


def test_a_flow_loads_when_there_is_budget():
    assert 4 * 65_536 == prefect_budget.claims()


def test_a_flow_waits_and_fails_in_the_end_without_budget():
    waiting = prefect_budget.wait_for_budget.with_options(retries=1, retry_delay_seconds=0)
    with pytest.raises(RuntimeError, match="are left"):
        waiting(1e12)
