"""An Airflow of a version, started once for the tests of a class."""

from collections.abc import Iterator

import pytest
from dags.scheduler import Airflow
from servers import Servers


@pytest.fixture(scope="class")
def airflow(
    request: pytest.FixtureRequest, servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Airflow]:
    """
    Scheduler and DAG processor with the DAGs of `dags/`, which are paused; the class has the version.
    """
    version = request.cls.version
    home = tmp_path_factory.mktemp(f"airflow-{version}-", numbered=True)
    found = Airflow(version, home, servers.addresses["postgres"])
    try:
        found.start()
        yield found
    finally:
        found.stop()
