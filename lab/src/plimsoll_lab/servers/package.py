"""
What a server's files are: version, where they come from, checksums, and how they are laid out.

Rule 1: a version is pinned, and every file has a checksum (`locks/`): an installation has what was locked,
        or fails.
Rule 2: files come from a package registry through its ordinary client.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

Progress = Callable[[int, int], None]
"""What is called with the bytes that came and those that will come."""


@dataclass(frozen=True, slots=True)
class LockedFile:
    """One file of a package: its name, its size in bytes, and its SHA-256 in hexadecimal digits."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ServerModule:
    """A plug-in that an archive lacks: its folder, its main class, and the jars that it alone needs."""

    name: str
    main_class: str
    jars: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ServerPackage:
    """The files of one server; a subclass says which registry client brings them."""

    name: str
    title: str
    client: ClassVar[str]
    """The registry client, as its command is called."""

    def version_in(self, home: Path) -> str:
        """Return the version of an unpacked package, which its folder is named after."""
        return home.name.removeprefix(f"{self.name}-")


@dataclass(frozen=True, kw_only=True)
class MavenPackage(ServerPackage):
    """The files of one server at one version, from Maven Central."""

    client: ClassVar[str] = "mvn"
    version: str
    artifacts: tuple[str, ...]
    """Maven coordinates `group:artifact:version[:type[:classifier]]`; what they depend on comes with them."""
    is_alone: bool = False
    """Whether what they depend on is in them already, and does not come."""
    archive: str = ""
    """The file among them that is unpacked; empty if the server runs from the jars as they are."""
    modules: tuple[ServerModule, ...] = ()
    """Plug-ins that the archive lacks."""

    @cached_property
    def files(self) -> tuple[LockedFile, ...]:
        """Return every file that is downloaded, from the lock file."""
        rows = csv.DictReader(_lock(f"{self.name}.csv").splitlines())
        return tuple(LockedFile(row["file"], int(row["bytes"]), row["sha256"]) for row in rows)

    @property
    def size_bytes(self) -> int:
        """Return how much is downloaded, in bytes; Maven's own plug-ins are not counted."""
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, kw_only=True)
class PipPackage(ServerPackage):
    """A virtual environment with one server at one version, from wheels of the Python Package Index."""

    client: ClassVar[str] = "pip"
    version: str
    size_bytes: int
    """How much is downloaded, in bytes, for Python 3.11 on x86-64; other wheels have about the same size."""

    @property
    def requirements(self) -> str:
        """Return the lock file: every package with its version and the SHA-256 of its wheels."""
        return _lock(f"{self.name}.txt")


@dataclass(frozen=True, kw_only=True)
class DebianPackage(ServerPackage):
    """
    The files of one server, from packages of this machine's Debian.

    Debian removes a version when it releases a newer one, so no version can be locked. apt checks what it downloads
    against the index that Debian signed; the store keeps the checksum of every file that it unpacked, and a server
    whose files have changed since is not started.
    """

    client: ClassVar[str] = "apt-get"
    packages: tuple[str, ...]
    """Debian's names of the packages; the first has the server, and its version is the package's."""
    fixed_folder: tuple[str, str] | None = None
    """
    A program, and a folder that is compiled into it: in the store's copy of the program, the folder's first slash is
    moved to its end, so that it is looked for below the folder where the server runs.
    """


def _lock(name: str) -> str:
    return files(__package__).joinpath(f"locks/{name}").read_text(encoding="ascii")


KAFKA = MavenPackage(
    name="kafka",
    title="Apache Kafka",
    version="4.3.1",
    artifacts=(
        "org.apache.kafka:kafka_2.13:4.3.1",
        # It formats the folder of the log.
        "org.apache.kafka:kafka-tools:4.3.1",
        "org.apache.logging.log4j:log4j-slf4j-impl:2.25.3",
    ),
)
# The distribution for integration tests is the server without its modules: reindexing and the language
# analyzers, which come as jars of their own, are put back.
OPENSEARCH = MavenPackage(
    name="opensearch",
    title="OpenSearch",
    version="2.19.6",
    artifacts=(
        "org.opensearch.distribution.integ-test-zip:opensearch:2.19.6:zip",
        "org.opensearch.plugin:reindex-client:2.19.6",
        "org.opensearch.plugin:analysis-common:2.19.6",
    ),
    archive="opensearch-2.19.6.zip",
    modules=(
        ServerModule(
            "reindex",
            "org.opensearch.index.reindex.ReindexPlugin",
            (
                "commons-codec-1.18.0.jar",
                "commons-logging-1.2.jar",
                "httpasyncclient-4.1.5.jar",
                "httpclient-4.5.14.jar",
                "httpcore-4.4.16.jar",
                "httpcore-nio-4.4.16.jar",
                "opensearch-rest-client-2.19.6.jar",
                "opensearch-ssl-config-2.19.6.jar",
                "reindex-client-2.19.6.jar",
            ),
        ),
        ServerModule(
            "analysis-common", "org.opensearch.analysis.common.CommonAnalysisPlugin", ("analysis-common-2.19.6.jar",)
        ),
    ),
)
ELASTICSEARCH = MavenPackage(
    name="elasticsearch",
    title="Elasticsearch",
    version="8.19.21",
    artifacts=("org.elasticsearch.distribution.integ-test-zip:elasticsearch:8.19.21:zip",),
    archive="elasticsearch-8.19.21.zip",
)
# The jar with everything in it: with the jars that it names instead, it does not start.
S3 = MavenPackage(
    name="s3",
    title="S3Proxy",
    version="4.1.0",
    artifacts=("org.gaul:s3proxy:4.1.0:jar:jar-with-dependencies",),
    is_alone=True,
)
SFTP = PipPackage(name="sftp", title="SFTP server (asyncssh)", version="2.24.1", size_bytes=5_461_068)
# The services that are read need no extra of moto; Flask serves it.
AWS = PipPackage(name="aws", title="AWS double (moto)", version="5.2.5", size_bytes=31_531_451)

PROMETHEUS = DebianPackage(name="prometheus", title="Prometheus", packages=("prometheus",))
ALERTMANAGER = DebianPackage(
    name="alertmanager",
    title="Alertmanager",
    packages=("prometheus-alertmanager",),
    # It does not start without the templates of its messages.
    fixed_folder=("usr/bin/prometheus-alertmanager", "/usr/share/prometheus/alertmanager"),
)
ETCD = DebianPackage(name="etcd", title="etcd", packages=("etcd-server",))
PGPOOL = DebianPackage(name="pgpool", title="Pgpool-II", packages=("pgpool2",))
PGBOUNCER = DebianPackage(name="pgbouncer", title="PgBouncer", packages=("pgbouncer",))
# From Debian too: on the Python Package Index its client of etcd is not a wheel.
PATRONI = DebianPackage(name="patroni", title="Patroni", packages=("patroni", "python3-etcd", "python3-psycopg2"))

Package = MavenPackage | PipPackage | DebianPackage

PACKAGES: Mapping[str, Package] = {
    package.name: package
    for package in (
        *(KAFKA, OPENSEARCH, ELASTICSEARCH, S3, SFTP),
        *(PROMETHEUS, ALERTMANAGER, ETCD, PATRONI, PGPOOL, PGBOUNCER, AWS),
    )
}
