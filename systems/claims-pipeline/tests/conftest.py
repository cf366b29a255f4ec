"""Real servers for the tests: started once for each worker, with a database and a bucket of its own for each test."""

import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest
from servers import Servers, done, query

from claims_pipeline.settings import settings_of
from claims_pipeline.storage import Storage

# A job that a script starts in the background has Ctrl-C ignored, and so has all that it starts: servers that tests
# end with it would stay.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class World:
    """A database, a bucket and a folder of the SFTP server, set up and empty."""

    servers: Servers
    settings: dict[str, str]
    folder: Path

    @property
    def url(self) -> str:
        return self.settings["CLAIMS_DATABASE_URL"]

    def ask(self, text: str, *values: object) -> list[tuple]:
        """Return what a query finds."""
        return query(self.url, text, *values)

    def prepare(self) -> None:
        """Create the bucket."""
        boto3.client(
            "s3",
            endpoint_url=self.settings["CLAIMS_S3_ENDPOINT"],
            aws_access_key_id=self.settings["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.settings["AWS_SECRET_ACCESS_KEY"],
            region_name="us-east-1",
        ).create_bucket(Bucket=self.settings["CLAIMS_S3_BUCKET"])

    def run(self, *words: str, status: int = 0) -> str:
        """Run a command with the world's settings."""
        return done(self.settings, *words, status=status)


def programs_for_servers() -> Iterator[Path]:
    """Copy claims-fetch to where the account of the database can run it."""
    with tempfile.TemporaryDirectory(prefix="claims-programs-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        shutil.copy2(Path(os.environ["CLAIMS_PROGRAMS"]) / "claims-fetch", folder)
        yield Path(folder) / "claims-fetch"


@pytest.fixture(scope="session")
def fetch_program() -> Iterator[Path]:
    yield from programs_for_servers()


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """PostgreSQL, S3 and SFTP; one that is killed comes back."""
    found = Servers.start("postgres", "s3", "sftp", restart=True)
    yield found
    found.stop()


@contextmanager
def world_of(servers: Servers, template: str) -> Iterator[World]:
    name = f"t{uuid.uuid4().hex[:12]}"
    admin = servers.addresses["postgres"]
    query(admin, f"CREATE DATABASE {name} TEMPLATE {template}")
    folder = servers.sftp_folder / name
    folder.mkdir()
    folder.chmod(0o755)
    settings = servers.environment(f"{admin.rpartition('/')[0]}/{name}", name)
    settings["CLAIMS_SFTP_URL"] += f"/{name}"
    yield World(servers, settings, folder)
    query(admin, f"DROP DATABASE {name} WITH (FORCE)")
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def ready(servers: Servers, fetch_program: Path) -> Iterator[str]:
    """Set up a database once, of which tests get copies; return its name."""
    with world_of(servers, "template0") as made:
        made.run("setup", "--send-keys", "--fetch", str(fetch_program))
        yield made.settings["CLAIMS_S3_BUCKET"]


@pytest.fixture
def bare(servers: Servers) -> Iterator[World]:
    """A world whose database is empty."""
    with world_of(servers, "template0") as found:
        yield found


@pytest.fixture
def world(servers: Servers, ready: str) -> Iterator[World]:
    """A world that is set up."""
    with world_of(servers, ready) as found:
        found.prepare()
        yield found


@pytest.fixture
def store(world: World, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """The bucket of the world; its settings are those of this process too."""
    for name, value in world.settings.items():
        monkeypatch.setenv(name, value)
    return Storage(settings_of())
